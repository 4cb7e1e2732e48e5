"""The scripts of experiments: what a mistyped step or name says."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from st_biomed.settings.extended_yaml import extended_yaml

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


@pytest.mark.parametrize(
    ("digest", "status", "message"), [(None, 1, ""), ("abc", 0, ""), ("xyz", 2, "move the run elsewhere")]
)
def test_a_run_on_another_terminology_is_not_skipped_as_if_it_were_trained(
    tmp_path: Path, digest: str | None, status: int, message: str
):
    """Catches figures of a former terminology in the tables of the present one."""
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "terminology.json").write_text(json.dumps({"digest": "abc"}))
    if digest is not None:
        (tmp_path / "run.json").write_text(json.dumps({"terminologies": [{"digest": digest}]}))
    words = f'set -e; . {FOLDER / "trained.sh"}; if trained "$1" "$1/terms"; then exit 0; fi; exit 1'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", words, "-", tmp_path], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert found.returncode == status, found.stderr
    assert message in found.stderr and bool(message) == bool(found.stderr)


def test_the_configuration_of_bergamot_is_the_measured_cell():
    """Catches a configuration whose linking of English mentions nobody measured: retention and steps are those of the page."""
    configuration = extended_yaml(FOLDER.parent / "recipes" / "configs" / "bergamot_multilingual_open.yaml")
    script = (FOLDER / "bergamot_open.sh").read_text("utf-8")
    retention = re.findall(r"--(\w+) (\S+)", re.search(r' retention="(.+?)"', script)[1])
    assert {name: str(configuration[name]) for name, _ in retention} == dict(retention)
    page = (FOLDER / "results" / "bergamot_open.md").read_text("utf-8")
    assert f"STEPS={configuration['max_steps']} CELLS=" in page and "retained_graph" in page
