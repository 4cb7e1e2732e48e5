"""Locks of folders: who holds one is told, and none outlives its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from st_biomed.files import (
    FolderInUse,
    lock,
)

HOLD = """
import sys, time
from st_biomed.files import lock
sys.argv[0] = "st-biomed index"
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that holds ``tmp_path / "hp"``."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "hp", "60"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


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


@pytest.mark.parametrize("exists", [True, False])
def test_the_note_is_not_written_through_a_link(tmp_path: Path, exists: bool):
    """Would catch a file of the user that is overwritten, or made, because a link has the name of the note."""
    victim = tmp_path / "thesis.tex"
    if exists:
        victim.write_text("years of work")
    (tmp_path / ".hp.lock.json").symlink_to(victim)
    with lock(tmp_path / "hp"):
        assert str(os.getpid()) in (tmp_path / ".hp.lock.json").read_text()
        assert not (tmp_path / ".hp.lock.json").is_symlink()
    assert victim.read_text() == "years of work" if exists else not victim.exists()


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
