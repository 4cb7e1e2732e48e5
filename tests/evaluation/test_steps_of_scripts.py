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


@pytest.mark.parametrize(
    "name", ["open_encoder", "open_encoder_multilingual", "bergamot_open", "italian_open", "hiprbert_open"]
)
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
        ("shuffled_terminology", ("nonsense", "--output", "{new}")),
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
    found = sourced('if trained "$1" "$1/terms"; then exit 0; fi; exit 1', tmp_path)
    assert found.returncode == status, found.stderr
    assert message in found.stderr and bool(message) == bool(found.stderr)


def sourced(words: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Commands after the functions of ``trained.sh``."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", f"set -e; . {FOLDER / 'trained.sh'}; {words}", "-", *map(str, arguments)],
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("steps", "base", "same"), [(4, "a/b", True), (4, "", True), (5, "a/b", False), (4, "a/c", False)]
)
def test_a_run_with_other_steps_or_another_base_is_not_taken(steps: int, base: str, same: bool, tmp_path: Path):
    """Catches cells that are compared as if they had the same steps."""
    (tmp_path / "run.json").write_text(json.dumps({"base_model": "./b", "training_arguments": {"max_steps": 4}}))
    found = sourced('same "$@"; echo same', tmp_path, steps, base)
    assert (found.returncode, found.stdout) == ((0, "same\n") if same else (2, ""))
    assert same or "was trained with 4 steps from b, not with" in found.stderr


def test_a_base_model_that_is_not_there_is_one_line_before_hours_of_work(tmp_path: Path):
    """Catches a script that trains for hours and then cannot find the model of its second half."""
    found = sourced('found "$1"; echo found', tmp_path / "none", HF_HUB_OFFLINE="1")
    assert (found.returncode, found.stdout) == (2, "") and re.fullmatch(r"BASE: .*none.*\n", found.stderr)
    for name in ("bergamot_open", "italian_open", "open_encoder_multilingual"):
        steps = (FOLDER / f"{name}.sh").read_text("utf-8").rpartition("\ncase ")[2]
        assert re.search(r'\nall\).*\n    found "\$base"\n', steps), name


def test_no_script_takes_a_run_for_its_own_by_its_folder_alone():
    """Catches a cell of a former terminology, on whose names the present benchmarks may rest."""
    for name in ("open_encoder_multilingual", "bergamot_open", "italian_open", "hiprbert_open", "sapbert_open"):
        assert re.search(r"(if|elif) trained \"?\$", (FOLDER / f"{name}.sh").read_text("utf-8")), name


def test_cells_are_chosen_and_mistyped_ones_refused():
    """Catches a script that trains nothing, or everything, for a mistyped cell."""
    words = "check_cells one two; for cell in one two; do if wanted $cell; then echo $cell; fi; done"
    assert sourced(words, CELLS="two").stdout == "two\n" and sourced(words, CELLS="").stdout == "one\ntwo\n"
    found = sourced(words, CELLS="one tow")
    assert (found.returncode, found.stdout, found.stderr) == (2, "", "no cell tow: one two\n")


def test_one_seed_is_refused_before_runs_are_trained_for_an_average():
    """Catches an hour of training before an average of one model is refused."""
    assert sourced('several_seeds "0 1"; echo trained').stdout == "trained\n"
    found = sourced('several_seeds "0"; echo trained')
    assert (found.returncode, found.stdout) == (
        2,
        "",
    ) and "SEEDS=0: an average of runs needs two seeds" in found.stderr
    for name in ("open_encoder", "open_encoder_multilingual"):
        steps = (FOLDER / f"{name}.sh").read_text("utf-8").partition("\ncase ")[2]
        before, _, after = steps.partition("\ntrain)")[2].partition("several_seeds")
        assert "train " not in before and "train " in after


def test_the_configuration_of_bergamot_is_the_measured_cell():
    """Catches a configuration whose linking of English mentions nobody measured: retention and steps are those of the page."""
    configuration = extended_yaml(FOLDER.parent / "recipes" / "configs" / "bergamot_multilingual_open.yaml")
    script = (FOLDER / "bergamot_open.sh").read_text("utf-8")
    retention = re.findall(r"--(\w+) (\S+)", re.search(r' retention="(.+?)"', script)[1])
    assert {name: str(configuration[name]) for name, _ in retention} == dict(retention)
    page = (FOLDER / "results" / "bergamot_open.md").read_text("utf-8")
    assert f"STEPS={configuration['max_steps']} CELLS=" in page and "retained_graph" in page
