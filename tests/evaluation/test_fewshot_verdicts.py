"""The verdicts of evaluation/results/fewshot_open.md follow from the figures of its tables."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from scipy.stats import t as student

from st_biomed.metrics import holm

PAGE = (Path(__file__).parents[2] / "evaluation" / "results" / "fewshot_open.md").read_text("utf-8")
SECTIONS = ("all-MiniLM-L6-v2", "Word vectors")
PAPER = ("MayoSRS", "UMNSRS relatedness", "UMNSRS similarity")
RELATEDNESS = (
    *PAPER,
    *("relatedness, modified", "similarity, modified", "MiniMayoSRS", "Pedersen", "Hliaoutakis"),
)
SINGLE, CHAINS = ("NCIt", "ICD-10-CM"), ("NCIt → ICD-10-CM", "ICD-10-CM → NCIt")
Table = dict[str, dict[str, tuple[float, float]]]


def rows_of(section: str, shots: int, title: str = "") -> Table:
    """Training set to benchmark to mean and deviation of an input's table; by default that of relatedness."""
    start = title or f"{shots} names? of every concept"
    text = re.search(rf"^{start}:\n\n(.+?)\n\n", PAGE.split(f"\n## {section}\n")[1], re.M | re.S)
    assert text is not None
    head, _, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text[1].splitlines()]
    benchmarks = [label.removesuffix(", acc@1") for label in head[1:]]
    table: Table = {}
    for row, *cells in lines:
        numbers = [[float(number) for number in cell.split(" ± ")] for cell in cells]
        table[row] = {name: (found[0], found[-1]) for name, found in zip(benchmarks, numbers)}
    return table


def signs(section: str, shots: int, sets: tuple[str, ...], benchmarks: tuple[str, ...], title: str = "") -> list[int]:
    """1, -1 or 0: a mean over five draws is higher or lower than the input, or cannot be told."""
    table, width = rows_of(section, shots, title), student.ppf(0.975, 4) / 5**0.5
    differences = [
        (table[row][name][0] - table["input"][name][0], width * table[row][name][1])
        for row in sets
        for name in benchmarks
    ]
    return [0 if abs(difference) <= half else 1 if difference > 0 else -1 for difference, half in differences]


def draws_that_differ(section: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """Training set to benchmark to the number of draws that are higher and lower after Holm's procedure."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\nDraws that differ")[1].split("\n\n")[1]
    head, _, *lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()]
    return {row: dict(zip(head[1:], [tuple(map(int, cell.split(" / "))) for cell in cells])) for row, *cells in lines}


def verdict(start: str) -> tuple[str, str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    minilm, words = line.strip("| ").split(" | ")[1:]
    return minilm, words


def test_few_names_are_enough():
    for column, section in enumerate(SECTIONS):
        words = verdict("5 names per concept")[column]
        assert words.startswith("single sets: *holds* over draws, *cannot be told* over pairs")
        assert "; chains: *cannot be told*" in words
        assert signs(section, 5, SINGLE + CHAINS, ("MayoSRS",)) == [1, 1, 0, 0]


def test_the_improvement_lasts():
    minilm, words = verdict("the improvement on MayoSRS lasts")
    assert "single sets: *holds* over draws" in minilm and "chains: *cannot be told*" in minilm
    assert signs("all-MiniLM-L6-v2", 15, SINGLE + CHAINS, ("MayoSRS",)) == [1, 1, 0, 0]
    assert words.startswith("*holds* over draws for NCIt and the chains") and "for ICD-10-CM" in words
    assert signs("Word vectors", 15, SINGLE + CHAINS, ("MayoSRS",)) == [1, 0, 1, 1]


@pytest.mark.parametrize(("section", "column"), [(section, column) for column, section in enumerate(SECTIONS)])
def test_almost_all_encoders_are_better(section: str, column: int):
    counts = Counter(signs(section, 15, SINGLE + CHAINS, PAPER))
    found = f"{counts[1]} higher, {counts[-1]} lower, {counts[0]} cannot be told"
    assert verdict("almost all encoders")[column] == f"*does not* over draws: {found}; *cannot be told* over pairs"


RELATED_ROWS = (
    "5 names per concept",
    "the improvement on MayoSRS lasts",
    "almost all encoders",
    "the increase is there",
    "a second hierarchy",
)


@pytest.mark.parametrize(("section", "column"), [(section, column) for column, section in enumerate(SECTIONS)])
def test_no_verdict_on_relatedness_leaves_the_pairs_out(section: str, column: int):
    """Catches *holds* over draws alone, though no draw of any set differs from the input over its pairs after Holm."""
    for row, found in draws_that_differ(section).items():
        assert {name: found[name] for name in RELATEDNESS} == dict.fromkeys(RELATEDNESS, (0, 0)), row
    assert all("*cannot be told* over pairs" in verdict(row)[column] for row in RELATED_ROWS)


def test_either_hierarchy():
    """Rows are the sets, columns MayoSRS, relatedness and similarity."""
    assert signs("all-MiniLM-L6-v2", 15, SINGLE, PAPER) == [1, -1, -1, 1, 0, 1]
    assert "NCIt lowers both sets, ICD-10-CM raises similarity alone" in verdict("the increase is there")[0]
    assert signs("Word vectors", 15, SINGLE, PAPER) == [1, 1, 1, 0, 1, 0]
    assert "which rise with NCIt alone" in verdict("the increase is there")[1]


def test_a_second_hierarchy():
    def above(section: str) -> dict[str, list[bool]]:
        table = rows_of(section, 15)
        return {
            name: [table[row][name][0] > max(table[single][name][0] for single in SINGLE) for row in CHAINS]
            for name in RELATEDNESS
        }

    minilm, words = verdict("a second hierarchy")
    assert "below that of the better single set on all eight" in minilm
    assert not any(map(any, above("all-MiniLM-L6-v2").values()))
    assert "both are above it on MayoSRS alone" in words
    assert [name for name, both in above("Word vectors").items() if all(both)] == ["MayoSRS"]


def test_linking():
    """Catches a loss that is told and not said; the verdict names the means."""
    for section, told in (("all-MiniLM-L6-v2", [0, 0, -1, -1]), ("Word vectors", [0, -1, -1, -1])):
        assert signs(section, 15, SINGLE + CHAINS, ("prepared",), "Linking and trees, 15 names") == told
        table = rows_of(section, 15, "Linking and trees, 15 names")
        words = verdict("the representations stay")[SECTIONS.index(section)]
        assert all(f"{table[row]['prepared'][0]:.3f}"[1:] in words for row in SINGLE + CHAINS)
        lower = [draws_that_differ(section)[row]["prepared, acc@1"][1] for row in SINGLE + CHAINS]
        *first, last = [number for number, sign in zip(lower, told) if sign]
        assert f"over mentions {', '.join(map(str, first))} and {last} of five draws are lower" in words


def test_the_released_encoder():
    """Catches a p value that is not corrected for the rows of its table."""
    parts = PAGE.split("## A chain without the average")[1].split("## Settings")[0].split("From word vectors:")
    for part, expected in zip(parts, (set(), {"trees of ICD-10-CM, mean AUC"})):
        rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \| [^|]+ \| ([+-][.\d]+) [^|]+ \| (?:< )?([.\d]+) \|$", part, re.M)
        assert len(rows) == 13
        p_values = {name: float(p) for name, _, p in rows}
        corrected = dict(zip(p_values, holm(list(p_values.values()))))
        assert {name for name, p in corrected.items() if p < 0.05} == expected
        if not expected:
            assert p_values["UMNSRS relatedness"] == 0.021 and corrected["UMNSRS relatedness"] == pytest.approx(0.273)
        else:
            assert min(p_values[name] for name in RELATEDNESS) >= 0.48
            assert corrected["trees of ICD-10-CM, mean AUC"] == pytest.approx(0.013) and "(higher, .013)" in parts[0]
