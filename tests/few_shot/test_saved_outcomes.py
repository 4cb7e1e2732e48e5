"""Cells of an experiment that ran as separate commands become one experiment."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import fewshot_tables
from st_biomed.errors import InputError
from st_biomed.few_shot.outcomes import FewShotRun, Outcomes
from st_biomed.few_shot.paired_tests import DrawTest
from st_biomed.few_shot.saved_outcomes import merged_outcomes


def run_of(shots: int, seed: int, value: float, p: float) -> FewShotRun:
    tests = {"pairs": DrawTest(value - 0.5, -0.1, 0.4, p, 6, "pair")}
    return FewShotRun(
        ("A", "B"), shots, seed, 8, 2, 1, 0.1, 0.1, {"pairs": {"pairs_spearman": value}}, (0.5, 0.75), tests
    )


def saved(path: Path, runs: list[FewShotRun], **settings: object) -> Path:
    outcomes = Outcomes({"pairs": {"pairs_spearman": 0.5}}, {"pairs": "pairs_spearman"}, {"pairs": "pairs, Spearman"})
    outcomes.runs += runs
    outcomes.save(path, configuration={"seeds": [run.seed for run in runs], "margin": 0.1, **settings}, tuning={})
    return path


@pytest.fixture
def cells(tmp_path: Path) -> list[Path]:
    return [
        saved(tmp_path / "0.json", [run_of(1, 0, 0.6, 0.03), run_of(2, 0, 0.7, 0.01)]),
        saved(tmp_path / "1.json", [run_of(1, 1, 0.8, 0.5), run_of(2, 1, 0.4, 0.2)]),
    ]


def test_merged_cells_are_the_results_of_one_command(cells: list[Path]):
    """Catches p values that are adjusted within a cell, and a value that is lost on the way through the file."""
    merged = merged_outcomes(cells)
    assert merged.runs == [
        run_of(1, 0, 0.6, 0.03),
        run_of(1, 1, 0.8, 0.5),
        run_of(2, 0, 0.7, 0.01),
        run_of(2, 1, 0.4, 0.2),
    ]
    assert merged.adjusted_p("pairs", "A → B") == pytest.approx({(2, 0): 0.04, (1, 0): 0.09, (2, 1): 0.4, (1, 1): 0.5})
    assert str(merged.spreads("pairs", 1)["A → B"]) == "0.700 ± 0.141"


def test_the_tables_of_cells(cells: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["fewshot_tables.py", str(tmp_path / "tables"), *map(str, cells)])
    fewshot_tables.main()
    tables = (tmp_path / "tables" / "tables.md").read_text("utf-8")
    assert (
        "| A → B | 0.700 ± 0.141 |" in tables and "| A → B | 2 | +0.200 (.010; .040) | -0.100 (.200; .400) |" in tables
    )
    runs = json.loads((tmp_path / "tables" / "results.json").read_text("utf-8"))["runs"]
    assert [run["tests"]["pairs"]["p_holm"] for run in runs] == pytest.approx([0.09, 0.5, 0.04, 0.4])


def test_cells_of_other_settings_or_the_same_draw_are_refused(cells: list[Path], tmp_path: Path):
    other = saved(tmp_path / "2.json", [run_of(1, 2, 0.6, 0.1)], margin=0.2)
    with pytest.raises(InputError, match=r"2.json: differs from .*0.json in margin"):
        merged_outcomes([cells[0], other])
    rate = saved(tmp_path / "4.json", [run_of(1, 2, 0.6, 0.1)], learning_rate=0.1)
    with pytest.raises(InputError, match=r"4.json: differs from .*0.json in learning_rate"):
        merged_outcomes([cells[0], rate])
    base = saved(tmp_path / "5.json", [run_of(1, 2, 0.6, 0.1)])
    base.write_text(base.read_text("utf-8").replace('{"pairs_spearman": 0.5}', '{"pairs_spearman": 0.9}'), "utf-8")
    content = json.loads(base.read_text("utf-8"))
    content["base"]["pairs"]["pairs_spearman"] = 0.9
    base.write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError, match=r"5.json: differs from .*0.json in the base figure of pairs_pairs_spearman"):
        merged_outcomes([cells[0], base])
    with pytest.raises(InputError, match=r"A → B, 1 names, seed 0 is in two files"):
        merged_outcomes([cells[0], saved(tmp_path / "3.json", [replace(run_of(1, 0, 0.6, 0.03))])])
    with pytest.raises(InputError, match="expected at least one results.json"):
        merged_outcomes([])


@pytest.mark.parametrize("content", [None, "", "{}", "[]", '{"configuration": {}, "metrics": {}}'])
def test_a_file_of_another_kind_is_one_line(content: str | None, tmp_path: Path):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(
        InputError, match="results.json: cannot be read as the results of a few-shot experiment"
    ) as error:
        merged_outcomes([path])
    assert "\n" not in str(error.value)


DAMAGES = {
    "another shape": lambda content: content.update(configuration=[]),
    "runs by name": lambda content: content.update(runs={"A": 1}),
    "a run without results": lambda content: content["runs"][0].pop("results"),
    "a run of another version": lambda content: content["runs"][0].update(temperature=1),
    "a run that is a name": lambda content: content["runs"].append("A"),
    "no accuracy after training": lambda content: content["runs"][0].update(prototype_accuracies=[0.5]),
    "a test without p": lambda content: content["runs"][0]["tests"]["pairs"].pop("p"),
    "a seed in words": lambda content: content["runs"][0].update(seed="zero"),
    "a result in words": lambda content: content["runs"][0]["results"]["pairs"].update(pairs_spearman="good"),
    "no figure of the input": lambda content: content["base"].clear(),
    "no run": lambda content: content["runs"].clear(),
    "a difference in words": lambda content: content["runs"][0]["tests"]["pairs"].update(difference="large"),
    "half a unit": lambda content: content["runs"][0]["tests"]["pairs"].update(n=1.5),
    "no label": lambda content: content["labels"].clear(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_results_are_one_line(damage: str, cells: list[Path]):
    """Catches an error of Python, at once or when the tables are written."""
    content = json.loads(cells[1].read_text("utf-8"))
    DAMAGES[damage](content)
    cells[1].write_text(json.dumps(content), "utf-8")
    with pytest.raises(
        InputError, match=r"1.json: cannot be read as the results of a few-shot experiment \("
    ) as error:
        merged_outcomes(cells)
    assert "\n" not in str(error.value)
