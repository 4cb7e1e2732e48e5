"""The verdicts of evaluation/results/fewshot_open.md follow from the figures of its tables."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import t as student

from st_biomed.metrics import holm

PAGE = (Path(__file__).parents[2] / "evaluation" / "results" / "fewshot_open.md").read_text("utf-8")
RELATEDNESS = ("mayosrs", "minimayosrs", "pedersen2007", "hliaoutakis2005")
SINGLE, CHAINS = ("NCIt", "ICD-10-CM"), ("NCIt → ICD-10-CM", "ICD-10-CM → NCIt")
Table = dict[str, dict[str, tuple[float, float]]]


def rows_of(section: str, shots: int) -> Table:
    """Training set to benchmark to mean and deviation of an input's table."""
    text = re.search(
        rf"^{shots} names? of every concept:\n\n(.+?)\n\n", PAGE.split(f"\n## {section}\n")[1], re.M | re.S
    )
    assert text is not None
    head, _, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text[1].splitlines()]
    benchmarks = [label.split(",")[0] for label in head[1:]]
    table: Table = {}
    for row, *cells in lines:
        numbers = [[float(number) for number in cell.split(" ± ")] for cell in cells]
        table[row] = {name: (found[0], found[-1]) for name, found in zip(benchmarks, numbers)}
    return table


def signs(section: str, shots: int, sets: tuple[str, ...], benchmarks: tuple[str, ...]) -> list[int]:
    """1, -1 or 0: a mean over five draws is higher or lower than the input, or cannot be told."""
    table, width = rows_of(section, shots), student.ppf(0.975, 4) / 5**0.5
    differences = [
        (table[row][name][0] - table["input"][name][0], width * table[row][name][1])
        for row in sets
        for name in benchmarks
    ]
    return [0 if abs(difference) <= half else 1 if difference > 0 else -1 for difference, half in differences]


def verdict(start: str) -> tuple[str, str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    minilm, words = line.strip("| ").split(" | ")[1:]
    return minilm, words


def test_few_names_are_enough():
    minilm, words = verdict("5 names per concept")
    assert minilm.startswith("*holds*") and signs("all-MiniLM-L6-v2", 5, SINGLE + CHAINS, ("mayosrs",)) == [1, 1, 1, 1]
    assert words.startswith("*does not*") and signs("Word vectors", 5, SINGLE + CHAINS, ("mayosrs",)) == [
        -1,
        -1,
        0,
        -1,
    ]


def test_the_improvement_lasts():
    minilm, words = verdict("the improvement on MayoSRS lasts")
    assert "single sets: *holds*" in minilm and "chains: *cannot be told*" in minilm
    for shots in (5, 10, 15):
        assert signs("all-MiniLM-L6-v2", shots, SINGLE, ("mayosrs",)) == [1, 1]
        found = signs("Word vectors", shots, SINGLE + CHAINS, ("mayosrs",))
        assert 1 not in found and found[1] == -1
    assert signs("all-MiniLM-L6-v2", 15, CHAINS, ("mayosrs",)) == [0, 0] and words.startswith("*does not*")


@pytest.mark.parametrize("section, column", [("all-MiniLM-L6-v2", 0), ("Word vectors", 1)])
def test_almost_all_encoders_are_better(section: str, column: int):
    counts = Counter(signs(section, 15, SINGLE + CHAINS, RELATEDNESS))
    found = [f"{counts[1]} higher", *([f"{counts[-1]} lower"] * bool(counts[-1])), f"{counts[0]} cannot be told"]
    assert verdict("almost all encoders")[column] == f"*does not*: {', '.join(found)}"


def test_either_hierarchy():
    assert signs("all-MiniLM-L6-v2", 15, SINGLE, ("mayosrs",)) == [1, 1]
    assert signs("all-MiniLM-L6-v2", 15, SINGLE, RELATEDNESS[1:]) == [0, 0, 1, 0, 0, 0]
    lower = [signs("Word vectors", 15, (row,), RELATEDNESS).count(-1) for row in SINGLE]
    assert lower == [2, 1] and verdict("the increase is there")[1].startswith("*does not*: two of four sets are lower")


def test_a_second_hierarchy():
    def above(section: str, name: str) -> list[bool]:
        table = rows_of(section, 15)
        return [table[row][name][0] > max(table[single][name][0] for single in SINGLE) for row in CHAINS]

    assert not any(any(above("all-MiniLM-L6-v2", name)) for name in RELATEDNESS)
    assert above("Word vectors", "mayosrs") == [True, True]
    assert above("Word vectors", "minimayosrs") == above("Word vectors", "pedersen2007") == [False, False]


def test_the_released_encoder():
    """Catches a p value that is not corrected for the rows of its table."""
    table = PAGE.split("## The released encoder")[1].split("## Settings")[0]
    rows = re.findall(r"^\| ([\w@-]+) \| .+ \| ([+-][.\d]+) .+ p (< )?([.\d]+) \|$", table, re.M)
    assert len(rows) == 9
    p_values = {name: float(p) for name, _, _, p in rows}
    corrected = dict(zip(p_values, holm(list(p_values.values()))))
    assert min(p for name, p in p_values.items() if name.endswith("spearman")) == 0.366
    told = {name for name, p in corrected.items() if p < 0.05}
    assert told == {"ncbi-disease_raw_acc@1", "ncbi-disease_acc@1", "hpo_tree_test_mean_auc"}
    assert all(difference.startswith("-") for name, difference, _, _ in rows if name in told)
    assert corrected["icd10cm_tree_test_mean_auc"] == pytest.approx(0.222) and "(.222)" in table
