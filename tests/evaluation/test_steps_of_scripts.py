"""The shell scripts of experiments: what a mistyped step says."""

from __future__ import annotations

import re
import subprocess
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
