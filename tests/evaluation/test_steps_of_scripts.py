"""The scripts of experiments: what a mistyped step or name says."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "evaluation"


@pytest.mark.parametrize("name", ["open_encoder", "bergamot_open", "italian_open"])
def test_an_unknown_step_is_refused_with_the_list(name: str):
    """Would catch data that are read for hours before nothing happens, and a step that the list lacks."""
    script = FOLDER / f"{name}.sh"
    found = subprocess.run(["bash", script, "tarin"], capture_output=True, text=True)
    steps = re.findall(r"^(\w+)\)", script.read_text("utf-8").rpartition("\ncase ")[2], re.MULTILINE)
    assert found.returncode == 2 and found.stderr.startswith("no step tarin: all data ")
    assert sorted(found.stderr.split()[3:]) == sorted(steps)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lost_mentions", ("nonsense", "a", "b", "--data", ".")),
        ("thresholds", ("nonsense", "a", "--data", ".")),
        ("open_encoder_controls", ("shuffled", "nonsense", "--output", "{new}")),
    ],
)
def test_a_mistyped_name_is_one_line(
    name: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    """Catches a stack trace."""
    monkeypatch.setenv("ST_BIOMED_DATA", ".")
    monkeypatch.setattr(sys, "argv", [name, *(word.format(new=tmp_path / "new") for word in arguments)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    line = capsys.readouterr().err.splitlines()[-1]
    assert end.value.code == 2 and line.startswith("error: ") and "nonsense" in line
