"""The command line run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from st_biomed.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run ``st-biomed`` with these words."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run ``st-biomed`` with these words, check that it ends as a person's mistake does, and return its one line."""

    def check(*words: object) -> str:
        result = run(*words)
        lines = result.stderr.splitlines()
        assert (result.exit_code, result.stdout, len(lines)) == (2, "", 1), result.output
        assert lines[0].startswith("error: ")
        return lines[0]

    return check


@pytest.fixture
def toy_folder(run: Run, tmp_path: Path) -> Path:
    """A small saved terminology."""
    folder = tmp_path / "toy"
    assert run("read", "toy", "-o", folder, "--option", "trees=2", "--option", "branching=3").exit_code == 0
    return folder
