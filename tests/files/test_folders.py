"""Folders that are replaced whole or not at all, and locks that outlive no process."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from st_biomed.errors import InputError, disk_error
from st_biomed.files import (
    FolderInUse,
    begin_anew,
    begun_in,
    check_output,
    check_writable,
    lock,
    read_whole,
    remove,
    replace_text,
    replacing,
    settle,
    writing,
)
from tests.forks import Forked
from tests.kills import every_kill

HOLD = """
import sys, time
from st_biomed.files import lock
sys.argv[0] = "st-biomed index"
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


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


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds ``tmp_path / "hp"``."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "hp", "60"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


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


def test_one_whole_version_stands_after_a_kill_at_every_step(tmp_path: Path):
    folder, steps, versions = tmp_path / "hp", 0, []

    def prepare() -> None:
        replace(folder, "old")

    for _ in every_kill(lambda: replace(folder, "new"), prepare):
        steps += 1
        settle(folder)
        versions.append(version(folder))
        replace(folder, "next")  # and the next run sweeps what the killed one left
        assert version(folder) == "next"
        assert leftovers(folder) == []
    assert steps > 10
    assert sorted(set(versions)) == ["new", "old"]
    assert versions == sorted(versions, reverse=True), "once the new one stands, the old one never comes back"


def test_a_new_folder_is_whole_or_absent_after_a_kill_at_every_step(tmp_path: Path):
    folder = tmp_path / "hp"

    def prepare() -> None:
        if folder.exists():
            replace(folder, "gone")
            os.rename(folder, tmp_path / f"away{time.monotonic_ns()}")

    for _ in every_kill(lambda: replace(folder, "new"), prepare):
        settle(folder)
        assert not folder.exists() or version(folder) == "new"


def test_a_folder_is_removed_whole_or_not_at_all(tmp_path: Path):
    folder, steps = tmp_path / "hp", 0
    for _ in every_kill(lambda: remove(folder), lambda: replace(folder, "old")):
        steps += 1
        settle(folder)
        assert not folder.exists() or version(folder) == "old"
    assert steps > 5
    assert leftovers(folder) == [] and not folder.exists()
    remove(folder)


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


def test_the_second_writer_is_told_who_holds_the_folder(tmp_path: Path, holder: subprocess.Popen[str]):
    found = rf"hp: st-biomed index .*\(process {holder.pid} on .*\) has been writing to it since 20\d\d-"
    with pytest.raises(FolderInUse, match=found), lock(tmp_path / "hp"):
        pass
    (tmp_path / "link").symlink_to(tmp_path / "hp")
    with pytest.raises(FolderInUse), lock(tmp_path / "link"):
        pass
    with lock(tmp_path / "hp.it"):
        pass


def test_the_lock_of_a_dead_process_holds_nobody_up(tmp_path: Path, holder: subprocess.Popen[str]):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with lock(tmp_path / "hp"), lock(tmp_path / "hp"):  # and a process takes it twice
        assert str(os.getpid()) in (tmp_path / ".hp.lock.json").read_text()
    assert not (tmp_path / ".hp.lock.json").exists()


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_waiting_says_for_whom_unless_it_is_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seconds: float
):
    monkeypatch.setattr("st_biomed.files.locks._SILENT", seconds)
    command = [sys.executable, "-c", HOLD, tmp_path / "hp", "0.3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with lock(tmp_path / "hp", wait=True):
            assert (f"process {process.pid}" in capsys.readouterr().err) == (not seconds)


COUNT = """
import sys
from pathlib import Path
from st_biomed.files import lock
folder = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(40):
    with lock(folder, wait=True):
        folder.write_text(str(int(folder.read_text()) + 1))
"""


def test_a_lock_that_leaves_no_file_still_holds(tmp_path: Path):
    """Would catch two holders: one of the file that was removed, and one of the file that was made anew."""
    (tmp_path / "n").write_text("0")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT, tmp_path / "n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=60)
    assert (tmp_path / "n").read_text() == "120"
    assert [path.name for path in tmp_path.iterdir()] == ["n"]


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


def test_the_present_folder_stands_until_what_was_begun_is_whole(tmp_path: Path):
    folder = tmp_path / "hp"

    def prepare() -> None:
        begin_anew(folder)
        replace(folder, "old")

    for _ in every_kill(lambda: begin(folder, 3), prepare):
        settle(folder)
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

    writer = Forked(write)
    found = {("0", "0")}
    while ("59", "59") not in found:
        found.add(read_whole(folder, load))
    writer.result()
    assert len(found) > 2 and all(first == second for first, second in found)
    (folder / "first").unlink()
    with pytest.raises(InputError, match="damaged"):
        read_whole(folder, load)


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


def test_an_output_folder_is_checked_before_anything_is_made(tmp_path: Path):
    def check(folder: Path, overwrite: bool = False) -> Path:
        return check_output(
            folder,
            what="an index",
            is_own={"index.json", "a/b"}.__contains__,
            marker="index.json",
            overwrite=overwrite,
        )

    folder = tmp_path / "hp"
    assert check(folder) == folder
    folder.mkdir()
    assert check(folder) == folder
    (folder / "other").write_text("")
    with pytest.raises(InputError, match=r"has no index.json \(it has other\)"):
        check(folder, overwrite=True)
    (folder / "index.json").write_text("")
    with pytest.raises(InputError, match="already contains an index; .*--overwrite"):
        check(folder)
    with pytest.raises(InputError, match="contains other in addition to an index"):
        check(folder, overwrite=True)
    (folder / "other").unlink()
    assert check(folder, overwrite=True) == folder
    for below in (folder / "index.json", folder / "index.json" / "deeper" / "still"):
        with pytest.raises(InputError, match="index.json: is a file, expected a folder"):
            check(below)
    with pytest.raises(InputError, match="hp: is a folder, expected a file"):
        check_writable(folder, file=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="no permission"):
        check_writable(tmp_path / "a" / "b")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, "No space left", "out/hp"), "out/hp: no space is left on the disk"),
        (RuntimeError("Error while serializing: I/O error: File too large (os error 27)"), "may write"),
        (OSError("[Errno 27] Error writing bytes to file. Detail: [errno 27] File too large"), "may write"),
        (RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 576 vs 534\nframe #0"), "its end"),
        (RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"), "not written to its end"),
        (OSError("10000 requested and 2484 written"), "not written to its end"),
        (RuntimeError("unexpected pos in a bug"), None),
        (KeyError("a bug"), None),
    ],
)
def test_errors_of_the_disk_are_one_line(error: BaseException, line: str | None):
    message = disk_error(error)
    assert (message is None) == (line is None)
    assert line is None or (line in str(message) and "\n" not in str(message))


def test_a_full_disk_is_told_with_the_folder_that_was_written(tmp_path):
    """Catches a line that names no place: libraries raise the error of the system without its file."""
    with pytest.raises(OSError) as found, replacing(tmp_path / "out"):
        raise OSError(errno.EFBIG, "Error writing bytes to file")
    line = str(disk_error(found.value))
    assert line.startswith(f"{tmp_path / 'out'}: the file would be larger than this process may write")
