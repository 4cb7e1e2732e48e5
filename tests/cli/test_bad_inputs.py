"""A hundred mistakes that people make, over every command: each ends in one line and exit code 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from st_biomed.cli import app
from tests.cli.mistakes import CASES, Case, World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny_bert_folder: Path) -> World:
    return World(tmp_path_factory.mktemp("world"), tiny_bert_folder)


def state(root: Path) -> dict[str, int]:
    """Every file and its size, but for locks and for what a recipe keeps beside its checkpoints before it trains."""
    return {
        path.relative_to(root).as_posix(): path.stat().st_size
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".lock" not in path.name and "out-training" not in path.parts
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_one_line_and_writes_nothing(case: Case, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(word) for word in case(world)]
    monkeypatch.chdir(world.root)
    before = state(world.root)
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    lines = [line for line in result.stderr.splitlines() if line.startswith(("error: ", "not measured: "))]
    assert (result.exit_code, len(lines)) == (2, 1), result.output
    assert 15 < len(lines[0]) < 600
    assert state(world.root) == before


def test_there_are_a_hundred_of_them() -> None:
    assert len(CASES) >= 100
