"""Where output may go is checked before anything is made, and errors of the disk are one line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from st_biomed.errors import InputError, disk_error
from st_biomed.files import (
    check_new_file,
    check_output,
    check_writable,
    replacing,
)
from st_biomed.terminology import Terminology


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
    (tmp_path / "notes").mkdir()
    (folder / "other").symlink_to(tmp_path / "notes")  # removed with the folder if it passed as one
    with pytest.raises(InputError, match="contains other in addition to an index"):
        check(folder, overwrite=True)
    (folder / "other").unlink()
    assert check(folder, overwrite=True) == folder
    for below in (folder / "index.json", folder / "index.json" / "deeper" / "still"):
        with pytest.raises(InputError, match="index.json: is a file, expected a folder"):
            check(below)
    with pytest.raises(InputError, match="hp: is a folder, expected a file"):
        check_writable(folder, file=True)


@pytest.mark.parametrize("output", [".", "..", "../here"])
def test_the_working_directory_is_not_replaced(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches a process whose working directory is deleted, so that no later relative path exists."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="is the working directory, so it cannot be replaced; choose a folder below"):
        Terminology.read("toy").save(output)
    Terminology.read("toy").save("below")
    assert Terminology.load("below").n_concepts
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    Terminology.read("toy").save(tmp_path / "here" / "below")


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


def test_an_output_file_that_is_there_is_replaced_only_if_asked(tmp_path: Path):
    file = tmp_path / "pairs.tsv"
    check_new_file(file)
    file.touch()
    with pytest.raises(InputError, match=r"pairs\.tsv: already exists; --overwrite replaces it"):
        check_new_file(file)
    check_new_file(file, overwrite=True)
    with pytest.raises(InputError, match="is a folder, expected a file to write"):
        check_new_file(tmp_path, overwrite=True)
