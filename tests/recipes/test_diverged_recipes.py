"""Recipes whose training diverges: one line, nothing is released, and what was released before stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from st_biomed.settings.recipe import run_recipe
from tests.recipes.endings import ENDINGS, release_of, run_ending, sources_of

DIVERGED = ("--overwrite", "true", "--learning_rate", "1e30", "--max_grad_norm", 0, "--save_strategy", "steps")

MEASURED_IN_TRAINING = {name for name in ENDINGS if name.startswith(("sapbert", "hiprbert", "fewshot"))}
"""Whose evaluation ends the run before its ending begins."""


@pytest.fixture(scope="module")
def sources(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        yield sources_of(tmp_path_factory.mktemp("sources"), tiny_bert_folder, patch)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name",
    [
        "extend_bert",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ENDINGS if name != "extend_bert"),
    ],
)
def test_weights_that_are_no_numbers_are_not_released(name: str, sources, tmp_path: Path, capsys) -> None:
    """Catches a release lost to a training that destroyed its model, and one of a model that gives NaN."""
    run_ending(name, sources, tmp_path / "out")
    release = release_of(name, tmp_path / "out")
    trained = release.with_name(f"{release.name}-training") / "trained"
    before = content(release), content(trained)
    with pytest.raises(SystemExit) as end:
        run_recipe(lambda: run_ending(name, sources, tmp_path / "out", *DIVERGED, "--save_steps", 1))
    assert end.value.code == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    print(line)
    at_the_end = (
        rf"training diverged: .* hold NaN or infinity, .* nothing was released, {release} stays as it was; lower"
    )
    in_training = "vectors hold NaN or infinity|validation loss after epoch 1 is (nan|inf): lower"
    assert re.search(in_training if name in MEASURED_IN_TRAINING else at_the_end, line)
    assert (content(release), content(trained)) == before
