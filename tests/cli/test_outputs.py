"""Where every verb writes: one process at a time, nothing in the way, and a disk that takes it all."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.cli.verbs import VERBS, Verb, command, make_inputs
from tests.forks import Forked

HOLD = """
import sys, time
from st_biomed.files import lock
with lock(sys.argv[1]):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, tiny_bert_folder: Path) -> dict[str, Path]:
    return make_inputs(tmp_path_factory.mktemp("inputs"), tiny_bert_folder)


def verbs(among: object = VERBS, *, always: tuple[str, ...]) -> list[object]:
    """Verbs by name; those that are not always tried are tried by ``make release-check``."""
    return [pytest.param(name, marks=() if name in always else pytest.mark.slow) for name in VERBS if name in among]


QUICK = tuple(name for name in VERBS if not name.startswith("picture"))


def output_of(verb: Verb, folder: Path) -> Path:
    return folder / (verb.file or "out")


def left_beside(output: Path) -> list[str]:
    """What is beside an output and belongs to it, but for what was begun."""
    if not output.parent.is_dir():
        return []
    names = (path.name for path in output.parent.iterdir() if path != output)
    return sorted(name for name in names if output.name in name and not name.endswith(".begun"))


# ---------------------------------------------------------------------- one process at a time


@pytest.mark.long
@pytest.mark.parametrize("name", verbs({*VERBS} - {"evaluate"}, always=QUICK))
def test_the_second_one_is_told_at_once_who_writes_there(name: str, inputs: dict[str, Path], tmp_path: Path):
    """At once: before what it reads, which is not even there."""
    verb, output = VERBS[name], output_of(VERBS[name], tmp_path)
    late = ("merge --conflicts", "kge evaluate", "picture results", "picture concepts", "train kge")
    early = name not in (*late, "mentions", "mentions as a table")
    nowhere = {key: tmp_path / "nowhere" if early else path for key, path in inputs.items()}
    words = [sys.executable, "-c", HOLD, output]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "\n"
        ended = command(*verb.filled(nowhere, output))
        assert holder.stdin is not None
        holder.stdin.close()
    assert ended.code == 2 and ended.line.startswith(f"error: {output}: "), ended
    assert f"(process {holder.pid} on " in ended.line and "has been writing to it since 20" in ended.line
    assert not output.exists() and left_beside(output) == []


@pytest.mark.long
@pytest.mark.parametrize("name", verbs({"read", "index", "train kge", "mentions"}, always=("index",)))
def test_two_at_a_time_leave_what_one_leaves(name: str, inputs: dict[str, Path], tmp_path: Path):
    """Catches rows of two processes in one matrix, of which the checksum is then taken."""
    verb = VERBS[name]
    command(*verb.filled(inputs, tmp_path / "alone"))
    expected = verb.read(tmp_path / "alone")
    for n in range(2):
        output = tmp_path / f"out{n}"
        both = [Forked(partial(command, *verb.filled(inputs, output))) for _ in range(2)]
        ended = sorted((fork.result() for fork in both), key=lambda fork: fork.code)
        assert [fork.code for fork in ended] == [0, 2], ended
        assert "has been writing to it since" in ended[1].line or "holds a" in ended[1].line
        assert verb.read(output) == expected and left_beside(output) == []


def test_two_may_measure_into_one_folder(inputs: dict[str, Path], tmp_path: Path):
    """The same model, so that one waits for the other's vectors."""
    verb, output = VERBS["evaluate"], tmp_path / "out"
    command(*verb.filled(inputs, tmp_path / "alone"))
    both = [Forked(partial(command, *verb.filled(inputs, output))) for _ in range(2)]
    assert [fork.result().code for fork in both] == [0, 0]
    assert verb.read(output) == verb.read(tmp_path / "alone") and left_beside(output) == []
    assert not [path for path in output.rglob("*") if "lock" in path.name or "draft" in path.name]


# ---------------------------------------------------------------------- in the way


@pytest.mark.parametrize("name", VERBS)
def test_a_file_in_the_way_is_one_line(name: str, inputs: dict[str, Path], tmp_path: Path):
    verb = VERBS[name]
    (tmp_path / "file").write_text("mine")
    suffix = Path(verb.file).suffix
    for output in (tmp_path / "file", tmp_path / "file" / f"deep{suffix}", tmp_path / "file" / "a" / f"b{suffix}"):
        if verb.file and output == tmp_path / "file":
            output = (tmp_path / f"folder{suffix}").resolve()
            output.mkdir()
        ended = command(*verb.filled(inputs, output, *verb.overwrite))
        assert ended.code == 2 and ended.line.startswith("error: "), ended
        assert "is a file, expected a folder" in ended.line or "is a folder, expected a file" in ended.line, ended.line
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if not verb.file and name != "evaluate"])
def test_somebody_s_files_are_never_replaced(name: str, inputs: dict[str, Path], tmp_path: Path):
    verb, output = VERBS[name], tmp_path / "out"
    thesis = output / "thesis.tex"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("mine")
    for beside_output in (False, True):
        if beside_output:  # and beside what the verb itself wrote
            thesis.rename(tmp_path / "thesis.tex")
            assert command(*verb.filled(inputs, output)).code == 0
            (tmp_path / "thesis.tex").rename(thesis)
        ended = command(*verb.filled(inputs, output, *verb.overwrite))
        assert ended.code == 2 and "thesis.tex" in ended.line, ended
        assert thesis.read_text() == "mine"


@pytest.mark.parametrize("name", [name for name in VERBS if name not in ("merge --conflicts", "kge evaluate")])
def test_a_folder_without_permission_is_one_line(
    name: str, inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As the system says it of a read-only disk, too; who runs the tests may be root, who may write everywhere."""
    verb, output = VERBS[name], output_of(VERBS[name], tmp_path / "locked" / "new")
    (tmp_path / "locked").mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "locked" and access(path, mode))
    ended = command(*verb.filled(inputs, output))
    assert ended.code == 2 and ended.line.startswith("error: "), ended
    assert f"{tmp_path / 'locked'}: no permission to write there" in ended.line
    assert not list((tmp_path / "locked").iterdir())


# ---------------------------------------------------------------------- a full disk


def limited(n: int) -> None:
    """No file larger than so many bytes, as with ``ulimit -f``."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))


def fits(name: str, inputs: dict[str, Path], output: Path, limit: int) -> bool:
    """Whether a verb ends well where no file may be larger; otherwise it ends in one line and leaves no output."""
    verb = VERBS[name]
    ended = Forked(partial(command, *verb.filled(inputs, output)), partial(limited, limit)).result()
    if ended.code == 0:
        return True
    assert ended.code == 2 and ended.line.startswith("error: "), (limit, ended)
    assert "may write" in ended.line or "not written to its end" in ended.line, (limit, ended)
    assert name == "evaluate" or not output.exists()  # a folder of results keeps what is whole
    assert left_beside(output) == [], limit
    return False


@pytest.mark.long
@pytest.mark.parametrize("name", verbs(always=QUICK))
def test_a_full_disk_is_one_line(name: str, inputs: dict[str, Path], tmp_path: Path):
    assert not fits(name, inputs, output_of(VERBS[name], tmp_path), 300)


@pytest.mark.long
@pytest.mark.parametrize("name", verbs(always=("index",)))
def test_nothing_that_a_full_disk_left_is_taken_for_whole(name: str, inputs: dict[str, Path], tmp_path: Path):
    verb, output = VERBS[name], output_of(VERBS[name], tmp_path)
    refused = 0
    for limit in (0, 1200, 4000, 12000, 50000):
        if fits(name, inputs, output, limit):
            break
        refused += 1
    assert refused >= 1
    ended = command(*verb.filled(inputs, output, *(verb.overwrite if output.exists() else ())))
    assert ended.code == 0, ended
    again = output_of(verb, tmp_path / "again")
    assert command(*verb.filled(inputs, again)).code == 0
    assert verb.read(output) == verb.read(again)


@pytest.mark.parametrize(
    "name", verbs({name for name in VERBS if VERBS[name].other}, always=("read", "index", "pairs"))
)
def test_what_is_overwritten_stands_where_the_disk_is_full(name: str, inputs: dict[str, Path], tmp_path: Path):
    verb, output = VERBS[name], output_of(VERBS[name], tmp_path)
    assert command(*verb.filled(inputs, output)).code == 0
    old = verb.read(output)
    ended = Forked(partial(command, *verb.filled(inputs, output, *verb.other, *verb.overwrite)), partial(limited, 700))
    assert ended.result().code == 2
    assert verb.read(output) == old and left_beside(output) == []
    assert command(*verb.filled(inputs, output, *verb.other, *verb.overwrite)).code == 0
    assert verb.read(output) != old
