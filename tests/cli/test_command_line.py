"""The command itself, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import st_biomed.cli
from st_biomed.errors import InputError

_MAIN = "from st_biomed.cli import main; main()"


@pytest.mark.long
def test_a_person_s_mistake_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", _MAIN, "stats", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.startswith(f"error: {tmp_path}: no terminology.json in it")
    assert process.stderr.count("\n") == 1


def test_help_needs_neither_torch_nor_the_tables() -> None:
    """Catches an import that makes ``st-biomed --help`` take seconds."""
    heavy = ("torch", "transformers", "sentence_transformers", "pyarrow", "numpy")
    code = f"import sys, st_biomed.cli; print([m for m in {heavy} if m in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_a_bug_is_not_taken_for_a_person_s_mistake(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a handler so wide that it hides tracebacks."""

    def broken(name: str) -> None:
        raise ValueError("a bug") if name == "bug" else InputError("a mistake")

    monkeypatch.setattr("st_biomed.terminology.Terminology.open", broken)
    assert isinstance(run("stats", "bug").exception, ValueError)
    assert run("stats", "mistake").exit_code == 2


def test_every_verb_has_a_file_and_a_line_of_help(run) -> None:
    folder = Path(st_biomed.cli.__file__).parent
    verbs = {file.stem for file in folder.glob("[!_]*.py")}
    listed = run("--help").stdout
    groups = {group.name for group in st_biomed.cli.app.registered_groups}
    assert {command.name for command in st_biomed.cli.app.registered_commands} | groups == verbs
    for verb in verbs:
        assert f"  {verb} " in listed
