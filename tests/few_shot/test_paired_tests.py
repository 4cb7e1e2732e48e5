"""Paired tests of every draw against the input: golden values, Holm's procedure over draws, and their tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from st_biomed.few_shot.difference_tables import count_table, difference_tables, draw_table
from st_biomed.few_shot.outcomes import FewShotRun, Outcomes
from st_biomed.few_shot.paired_tests import DrawTest, compared_with_input
from st_biomed.metrics import Units
from st_biomed.metrics.holm import holm

GIVEN = np.arange(6.0)
INPUT = {"pairs": Units("pair", np.stack([np.array([1, 0, 3, 2, 5, 4.0]), GIVEN], axis=1), "spearman")}


def units(scores: list[float]) -> dict[str, Units]:
    return {"pairs": Units("pair", np.stack([np.array(scores), GIVEN], axis=1), "spearman")}


def test_the_test_of_a_run_is_the_exact_randomization_test_within_its_draws():
    """Spearman 1 - 6 * 6 / 210 = .829 of the input and 1 of the run. Catches a difference of the other sign, and a p of
    another test: all 64 exchanges are enumerated here."""
    run = units([0, 1, 2, 3, 4, 5])
    found = compared_with_input(INPUT, run, n_resamples=20_000)["pairs"]
    assert found.difference == pytest.approx(6 / 35) and (found.n, found.unit) == (6, "pair")
    ours, theirs = run["pairs"].rows[:, 0], INPUT["pairs"].rows[:, 0]
    differences = []
    for exchange in range(64):
        swap = np.array([bool(exchange >> i & 1) for i in range(6)])
        sides = np.where(swap, theirs, ours), np.where(swap, ours, theirs)
        first, second = (Units("pair", np.stack([side, GIVEN], axis=1), "spearman").value for side in sides)
        differences.append(first - second)
    exact = np.mean(np.abs(differences) >= 6 / 35 - 1e-9)
    assert found.p == pytest.approx(exact, abs=0.01) and found.low <= found.difference <= found.high


def test_a_run_equal_to_the_input_has_no_difference():
    found = compared_with_input(INPUT, INPUT)["pairs"]
    assert (found.difference, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_no_draws_are_no_tests():
    assert compared_with_input(INPUT, INPUT, n_resamples=0) == {}


def run_of(name: str, shots: int, seed: int, difference: float, p: float) -> FewShotRun:
    test = DrawTest(difference, difference - 0.1, difference + 0.1, p, 6, "pair")
    results = {"pairs": {"pairs_spearman": 0.5 + difference}}
    return FewShotRun((name,), shots, seed, 8, 2, 1, 0.1, 0.1, results, (0.5, 0.5), {"pairs": test})


@pytest.fixture
def outcomes() -> Outcomes:
    runs = [
        run_of("A", 1, 0, 0.2, 0.01),
        run_of("A", 1, 1, 0.1, 0.04),
        run_of("A", 2, 0, -0.3, 0.012),
        run_of("A", 2, 1, 0.0, 0.9),
        run_of("B", 1, 0, 0.1, 0.04),
    ]
    return Outcomes(
        {"pairs": {"pairs_spearman": 0.5}}, {"pairs": "pairs_spearman"}, {"pairs": "pairs, Spearman"}, runs
    )


def test_holms_procedure_is_over_all_draws_of_a_training_set(outcomes: Outcomes):
    """.01 * 4, .012 * 3 raised to .04, .04 * 2, .9. Catches a family of one number of names, or of all training sets."""
    assert holm([run.tests["pairs"].p for run in outcomes.runs[:4]]) == pytest.approx([0.04, 0.08, 0.04, 0.9])
    assert outcomes.adjusted_p("pairs", "A") == pytest.approx({(1, 0): 0.04, (1, 1): 0.08, (2, 0): 0.04, (2, 1): 0.9})
    assert outcomes.adjusted_p("pairs", "B") == {(1, 0): 0.04}


def test_the_tables_have_every_draw_and_count_those_that_differ(outcomes: Outcomes):
    assert draw_table(outcomes, "pairs").splitlines() == [
        "| training set | names | seed 0 | seed 1 |",
        "| :-- | --: | --: | --: |",
        "| A | 2 | -0.300 (.012; .040) | +0.000 (.900; .900) |",
        "| A | 1 | +0.200 (.010; .040) | +0.100 (.040; .080) |",
        "| B | 1 | +0.100 (.040; .040) | – |",
    ]
    assert count_table(outcomes, ["pairs"]).splitlines() == [
        "| training set | names | pairs, Spearman |",
        "| :-- | --: | --: |",
        "| A | 2 | 0 / 1 of 2 |",
        "| A | 1 | 1 / 0 of 2 |",
        "| B | 1 | 1 / 0 of 1 |",
    ]
    parts = difference_tables(outcomes)
    assert len(parts) == 3 and parts[2].startswith("pairs, Spearman, 6 pairs:")
    assert difference_tables(Outcomes(outcomes.base, outcomes.metrics, outcomes.labels)) == []


def test_the_results_file_has_the_tests_with_both_p_values(outcomes: Outcomes, tmp_path: Path):
    outcomes.save(tmp_path / "results.json")
    runs = json.loads((tmp_path / "results.json").read_text("utf-8"))["runs"]
    assert runs[1]["tests"]["pairs"] == {
        "difference": 0.1, "low": 0.0, "high": 0.2, "p": 0.04, "p_holm": 0.08, "n": 6, "unit": "pair"
    }  # fmt: skip
