"""Folders that are replaced whole or not at all, also after a kill at every step."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.errors import InputError, disk_error
from st_biomed.files import (
    begin_anew,
    begun_in,
    finish_replacement,
    read_one_version,
    remove,
    replace_text,
    replacing,
    writing,
)
from tests.forks import Forked
from tests.kills import every_kill


def replace(folder: Path, content: str) -> None:
    with replacing(folder) as draft:
        (draft / "first").write_text(content)
        (draft / "sub").mkdir()
        (draft / "sub" / "second").write_text(content)


def version(folder: Path) -> str:
    """The content of a whole folder."""
    first, second = (folder / "first").read_text(), (folder / "sub" / "second").read_text()
    assert first == second
    return first


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if path != folder)


def test_a_folder_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path):
    folder = tmp_path / "hp"
    replace(folder, "old")
    replace(folder, "new")
    assert version(folder) == "new"
    assert leftovers(folder) == []


def test_an_error_leaves_the_present_folder_as_it_is(tmp_path: Path):
    folder = tmp_path / "hp"
    replace(folder, "old")
    with pytest.raises(InputError, match="checked"), replacing(folder) as draft:
        (draft / "first").write_text("new")
        raise InputError("checked")
    assert version(folder) == "old"
    assert leftovers(folder) == []


@pytest.mark.long
def test_one_whole_version_stands_after_a_kill_at_every_step(tmp_path: Path):
    folder, steps, versions = tmp_path / "hp", 0, []

    def prepare() -> None:
        replace(folder, "old")

    for _ in every_kill(lambda: replace(folder, "new"), prepare):
        steps += 1
        finish_replacement(folder)
        versions.append(version(folder))
        replace(folder, "next")  # and the next run sweeps what the killed one left
        assert version(folder) == "next"
        assert leftovers(folder) == []
    assert steps > 10
    assert sorted(set(versions)) == ["new", "old"]
    assert versions == sorted(versions, reverse=True), "once the new one stands, the old one never comes back"


@pytest.mark.long
def test_a_new_folder_is_whole_or_absent_after_a_kill_at_every_step(tmp_path: Path):
    folder = tmp_path / "hp"

    def prepare() -> None:
        if folder.exists():
            replace(folder, "gone")
            os.rename(folder, tmp_path / f"away{time.monotonic_ns()}")

    for _ in every_kill(lambda: replace(folder, "new"), prepare):
        finish_replacement(folder)
        assert not folder.exists() or version(folder) == "new"


def test_a_folder_is_removed_whole_or_not_at_all(tmp_path: Path):
    folder, steps = tmp_path / "hp", 0
    for _ in every_kill(lambda: remove(folder), lambda: replace(folder, "old")):
        steps += 1
        finish_replacement(folder)
        assert not folder.exists() or version(folder) == "old"
    assert steps > 5
    assert leftovers(folder) == [] and not folder.exists()
    remove(folder)


@pytest.mark.parametrize("removed", [remove, shutil.rmtree])
def test_a_removed_folder_does_not_come_back(tmp_path: Path, removed: Callable[[Path], None]):
    """Catches what a killed replacement left of the version before, put in the place of the one that was removed."""
    folder = tmp_path / "hp"
    replace(tmp_path / "hp", "new")
    replace(tmp_path / ".hp.old-0123abcd", "old")
    removed(folder)
    finish_replacement(folder)
    assert not folder.exists()
    assert removed is not remove or leftovers(folder) == []


@pytest.mark.parametrize("removal", ["next", "error", "remove"])
def test_a_read_only_draft_is_removed(tmp_path: Path, removal: str):
    """Catches a copy of a read-only folder that blocks its output for good; root removes it anyway."""

    def read_only(folder: Path) -> None:
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "file").write_text("")
        for path in (folder / "sub" / "file", folder / "sub", folder):
            path.chmod(path.stat().st_mode & ~0o222)

    folder = tmp_path / "hp"
    if removal == "error":
        with pytest.raises(InputError, match="checked"), replacing(folder) as draft:
            draft.rmdir()
            read_only(draft)
            raise InputError("checked")
        assert leftovers(folder) == []
    elif removal == "next":
        read_only(tmp_path / ".hp.draft-0123abcd")
        replace(folder, "new")
        assert leftovers(folder) == []
    else:
        read_only(folder)
        remove(folder)
        assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_removal_has_the_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches ``config.json: permission is missing``, which does not say where."""

    def refused(path: Path, **options: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "config.json")

    monkeypatch.setattr(shutil, "rmtree", refused)
    (tmp_path / ".hp.draft-0123abcd").mkdir()
    with pytest.raises(PermissionError) as error:
        replace(tmp_path / "hp", "new")
    assert str(disk_error(error.value)) == f"{tmp_path / '.hp.draft-0123abcd'}: permission is missing"


def test_drafts_of_another_folder_are_never_swept(tmp_path: Path):
    """``hp`` must not sweep what belongs to ``hp.it``, nor what a person named in a like way."""
    others = [".hp.it.draft-0123abcd", ".hp.draft-mine", ".hpx.draft-0123abcd", "hp.draft-0123abcd"]
    for name in [*others, ".hp.draft-0123abcd"]:
        (tmp_path / name).mkdir()
    replace(tmp_path / "hp", "new")
    assert leftovers(tmp_path / "hp") == sorted(others)


def test_a_link_stays_a_link_and_its_folder_is_replaced(tmp_path: Path):
    replace(tmp_path / "there", "old")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    replace(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert version(tmp_path / "there") == "new"


def begin(folder: Path, until: int) -> None:
    """Three pieces, the first of them perhaps there already."""
    with replacing(folder, resumable=True) as draft:
        for piece in range(until):
            if not (draft / str(piece)).exists():
                replace_text(draft / str(piece), "new")
        if until < 3:
            raise KeyboardInterrupt


def test_what_was_begun_stays_and_goes_on(tmp_path: Path):
    folder = tmp_path / "hp"
    replace(folder, "old")
    for until in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            begin(folder, until)
        assert version(folder) == "old"
        assert sorted(path.name for path in begun_in(folder).iterdir()) == ["0", "1"][:until]
    begin_anew(folder)
    assert not begun_in(folder).exists()
    begin(folder, 3)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1", "2"]
    assert leftovers(folder) == []


@pytest.mark.long
def test_the_present_folder_stands_until_what_was_begun_is_whole(tmp_path: Path):
    folder = tmp_path / "hp"

    def prepare() -> None:
        begin_anew(folder)
        replace(folder, "old")

    for _ in every_kill(lambda: begin(folder, 3), prepare):
        finish_replacement(folder)
        assert (folder / "2").exists() or version(folder) == "old"
        begin(folder, 3)
        assert (folder / "2").exists() and leftovers(folder) == []


def test_what_is_read_is_of_one_version(tmp_path: Path):
    """Catches the first file of one version beside the second one of the next."""
    folder = tmp_path / "hp"
    replace(folder, "0")

    def load(folder: Path) -> tuple[str, str]:
        try:
            first = (folder / "first").read_text()
            time.sleep(0.001)
            return first, (folder / "sub" / "second").read_text()
        except OSError as error:
            raise InputError("damaged") from error

    def write() -> None:
        for n in range(60):
            replace(folder, str(n))
            time.sleep(0.01)  # or a slow reader sees the first version and the last alone

    writer = Forked(write)
    found = {("0", "0")}
    while ("59", "59") not in found:
        found.add(read_one_version(folder, load))
    writer.result()
    assert len(found) > 2 and all(first == second for first, second in found)
    (folder / "first").unlink()
    with pytest.raises(InputError, match="damaged"):
        read_one_version(folder, load)


def test_a_file_that_went_with_its_version_is_read_in_the_next_one(tmp_path: Path):
    """Catches a traceback where a folder is replaced between two of its files."""
    folder = tmp_path / "hp"
    replace(folder, "old")

    def load(folder: Path) -> str:
        if version(folder) == "old":
            replace(folder, "new")
            raise FileNotFoundError
        return version(folder)

    assert read_one_version(folder, load) == "new"
    with pytest.raises(FileNotFoundError):
        read_one_version(folder, lambda folder: (folder / "third").read_text())


def test_weights_may_be_read_by_those_who_may_read_the_folder(tmp_path: Path):
    import torch
    from safetensors.torch import save_file

    kept = tmp_path / "kept.safetensors"
    kept.touch(0o600)
    umask = os.umask(0o027)
    try:
        with replacing(tmp_path / "model") as draft:
            save_file({"weight": torch.zeros(2)}, draft / "model.safetensors")
            os.link(kept, draft / "linked.safetensors")  # of another folder, too
            (draft / "private.json").touch(0o600)
    finally:
        os.umask(umask)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    assert modes == {"model.safetensors": 0o640, "linked.safetensors": 0o600, "private.json": 0o600}


def test_a_file_is_replaced_at_once(tmp_path: Path):
    file = tmp_path / "linked.tsv"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt), writing(file) as draft:
        draft.write_text("half")
        raise KeyboardInterrupt
    assert file.read_text() == "old"
    (tmp_path / ".linked.tsv.draft-0123abcd").write_text("of a process that was killed")
    with writing(file) as draft:
        draft.write_text("new")
    assert file.read_text() == "new"
    replace_text(file, "newer")
    assert file.read_text() == "newer"
    assert leftovers(file) == []
