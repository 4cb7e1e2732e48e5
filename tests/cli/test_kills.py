"""Every verb that writes a folder, killed with SIGKILL at its steps: one whole version is there, and the command runs again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.files import begun_in, finish_replacement
from tests.cli.verbs import VERBS, command, make_inputs
from tests.forks import one_thread
from tests.kills import every_kill

RESUME = {"train kge": ("--resume", "true")}
"""What goes on with a run that was interrupted, where repeating the command does not."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, tiny_bert_folder: Path) -> dict[str, Path]:
    return make_inputs(tmp_path_factory.mktemp("inputs"), tiny_bert_folder)


def killed(name: str, inputs: dict[str, Path], folder: Path, *, overwrite: bool, stride: int) -> int:
    """Kill a verb at one of so many steps, look at what is left, and run it again; how many kills there were."""
    verb, output, versions = VERBS[name], folder / "out", {}
    for version, other in (("old", ()), ("new", verb.other if overwrite else ())):
        assert command(*verb.filled(inputs, folder / version, *other)).code == 0
        versions[version] = verb.read(folder / version)
    words = verb.filled(inputs, output, *(verb.other + verb.overwrite if overwrite else ()))
    results = name == "evaluate"  # a folder that is added to, and not replaced

    def prepare() -> None:
        for path in (output, begun_in(output)):
            shutil.rmtree(path, ignore_errors=True)
        if overwrite:
            shutil.copytree(folder / "old", output)

    def act() -> None:
        one_thread()
        assert command(*words).code == 0

    n = 0
    for _ in every_kill(act, prepare, stride=stride):
        n += 1
        finish_replacement(output)
        if output.exists() and not (results and not (output / "results.jsonl").exists()):
            assert verb.read(output) in versions.values()
        else:
            assert not overwrite
        went_far = begun_in(output).exists() and (name != "train kge" or (begun_in(output) / "graph").exists())
        resume = RESUME.get(name, ()) if went_far else ()
        again = verb.overwrite if output.exists() and not overwrite and not resume else ()
        ended = command(*words, *resume, *again)
        assert ended.code == 0, ended
        assert verb.read(output) == versions["new"]
        assert sorted(path.name for path in folder.iterdir()) == ["new", "old", "out"]
    print(f"{name}{' --overwrite' if overwrite else ''}: {n} kills")
    return n


CASES = [
    (name, overwrite)
    for name, verb in VERBS.items()
    if not verb.file
    for overwrite in (False, True)
    if not overwrite or verb.overwrite
]
FAST = {("read", True): 15, ("index", True): 19, ("train kge", True): 60}
"""The steps between two kills, in the tests that run always."""


@pytest.mark.long
@pytest.mark.parametrize(("name", "overwrite"), FAST)
def test_a_kill_leaves_one_whole_version(name: str, overwrite: bool, inputs: dict[str, Path], tmp_path: Path):
    assert killed(name, inputs, tmp_path, overwrite=overwrite, stride=FAST[name, overwrite]) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("name", "overwrite"), CASES)
def test_a_kill_at_every_step_leaves_one_whole_version(
    name: str, overwrite: bool, inputs: dict[str, Path], tmp_path: Path
):
    assert killed(name, inputs, tmp_path, overwrite=overwrite, stride=1) > 15
