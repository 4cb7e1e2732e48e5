"""Scorecards: every benchmark counted once against the base, by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark, Data
from st_biomed.leaderboard.markdown_and_html import markdown
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.leaderboard.scorecard import outcome_of, scorecard
from st_biomed.leaderboard.scorecard_file import read_scorecards, write_scorecards
from st_biomed.leaderboard.scorecard_tables import scorecard_tables
from st_biomed.leaderboard.seed_scorecard import recipe_scorecards
from st_biomed.metrics.significance import PairedTest
from st_biomed.release.run_data import RunData, empty_run
from st_biomed.release.scorecard_data import ScorecardData, counts, outside_training

METRICS = {"pairs": "spearman", "flumpa": "acc@1", "flumpa_raw": "acc@1", "tree_test": "mean_auc", "it": "spearman"}
BENCHMARKS = {
    "pairs": Benchmark("pairs", "relatedness", {"path": "x"}),
    "flumpa": Benchmark("flumpa", "relatedness", {"path": "x"}, data=Data(terminologies=["ZORB", "TERK"])),
    "tree": Benchmark("tree", "tree", {"pairs": "x"}, data=Data(terminologies=["ZORB"])),
    "it": Benchmark("it", "relatedness", {"path": "x"}, language="it"),
}
HOME = {"flumpa_raw": "flumpa", "tree_test": "tree"}
DIFFERENCES = {
    "pairs": (-0.1, 0.03),
    "flumpa": (0.2, 0.001),
    "flumpa_raw": (0.3, 0.001),
    "tree_test": (0.05, 0.04),
    "it": (0.02, 0.5),
}
"""Evaluator to difference and p of ``mine``."""


def result(model: str, evaluator: str, value: float) -> Result:
    primary = f"{evaluator}_{METRICS[evaluator]}"
    return Result(
        HOME.get(evaluator, evaluator),
        evaluator,
        model,
        f"{model}-digest",
        {"as_published": False},
        {primary: value},
        primary,
        {},
        units={primary: [40, "pair"]},
        encoder={"model": f"org/{model}"},
    )


def made(
    model: str = "mine",
    differences: dict[str, tuple[float, float]] = DIFFERENCES,
    trained_on: set[str] | None = frozenset({"ZORB"}),  # type: ignore[assignment]
) -> ScorecardData:
    results = [result("base", evaluator, 0.5) for evaluator in differences]
    results += [result(model, evaluator, 0.5 + difference) for evaluator, (difference, _) in differences.items()]
    tests = {
        result.primary: {
            model: PairedTest(differences[result.evaluator][0], -0.3, 0.4, differences[result.evaluator][1], 40)
        }
        for result in results
    }
    return scorecard(model, "base", results, tests, BENCHMARKS, trained_on=trained_on, n_resamples=999, seed=7)


@pytest.mark.parametrize(
    ("difference", "p", "direction", "outcome"),
    [
        (0.1, 0.049, 1, "gained"),
        (-0.1, 0.049, 1, "lost"),
        (0.1, 0.05, 1, "kept"),
        (-0.9, 0.6, 1, "kept"),
        (0.1, 0.01, -1, "lost"),
        (-0.1, 0.01, -1, "gained"),
    ],
)
def test_outcomes(difference: float, p: float, direction: int, outcome: str):
    """Would catch a loss that counts as a gain since only p is looked at, and a mean rank that grew."""
    assert outcome_of(PairedTest(difference, 0, 0, p, 9), direction) == outcome


def test_every_benchmark_counts_once_by_family_with_both_p():
    """Would catch the raw data set that counts beside the prepared one, and p adjusted for one family alone."""
    card = made()
    rows = [(row["family"], row["benchmark"], row["metric"], row["outcome"]) for row in card["benchmarks"]]
    assert rows == [
        ("relatedness", "pairs", "spearman", "lost"),
        ("relatedness", "flumpa", "acc@1", "gained"),
        ("hierarchy", "tree", "mean_auc", "gained"),
        ("other languages", "it", "spearman", "kept"),
    ]
    assert [row["p"] for row in card["benchmarks"]] == [0.03, 0.001, 0.04, 0.5]
    assert [row["p_holm"] for row in card["benchmarks"]] == pytest.approx([0.09, 0.004, 0.09, 0.5])
    first = card["benchmarks"][0]
    assert (first["value"], first["base"], first["difference"], first["n"], first["unit"]) == (
        0.4,
        0.5,
        -0.1,
        40,
        "pair",
    )
    assert (card["base"], card["base_digest"], card["model_digest"]) == ("org/base", "base-digest", "mine-digest")
    assert (card["draws"], card["draws_seed"], card["not_compared"]) == (999, 7, [])


def test_what_was_trained_on_is_marked_and_counted_apart():
    """Would catch counts that praise a model for what it has read."""
    card = made()
    assert [row["in_domain"] for row in card["benchmarks"]] == [[], ["ZORB"], ["ZORB"], []]
    assert counts(card["benchmarks"]) == (2, 1, 1) and counts(outside_training(card["benchmarks"])) == (0, 1, 1)
    assert card["recorded"] and not made(trained_on=None)["recorded"]
    assert all(not row["in_domain"] for row in made(trained_on=None)["benchmarks"])


def test_what_was_not_compared_is_named():
    """Would catch a benchmark that vanishes since the base lacks its units."""
    results = [result("base", "pairs", 0.5), result("mine", "pairs", 0.5), result("mine", "tree_test", 0.9)]
    card = scorecard("mine", "base", results, {}, BENCHMARKS, n_resamples=9, seed=0)
    assert (card["benchmarks"], card["not_compared"]) == ([], ["pairs", "tree"])
    assert "Measured and not compared, since the base lacks the same units: pairs, tree." in markdown(
        "Scorecard", scorecard_tables([card])
    )
    with pytest.raises(InputError, match="scorecard: other was not measured on any benchmark"):
        scorecard("mine", "other", results, {}, BENCHMARKS, n_resamples=9, seed=0)


# ---------------------------------------------------------------------- tables


def test_the_families_stand_in_a_line_each_with_every_loss_by_name():
    text = markdown("Scorecard", scorecard_tables([made(), made("other", {"pairs": (0.1, 0.2)}, set())]))
    assert "## Against org/base" in text and "| | mine | other |" in text
    assert "| relatedness | 1 (1) gained, 0 kept, 1 lost | 0 gained, 1 kept, 0 lost |" in text
    assert "| hierarchy | 1 (1) gained, 0 kept, 0 lost | - |" in text
    assert "| other languages (it) | 0 gained, 1 kept, 0 lost | - |" in text
    assert "| all | 2 (2) gained, 1 kept, 1 lost | 0 gained, 1 kept, 0 lost |" in text
    assert "Lost, mine: pairs.\n" in text and "Lost, other: none.\n" in text
    assert "| all but what was trained on | 0 gained, 1 kept, 1 lost | 0 gained, 1 kept, 0 lost |" in text
    assert "In brackets, how many of these were trained on: benchmarks made of" in text
    assert "trained on" not in markdown("S", scorecard_tables([made(trained_on=set())]))


def test_every_benchmark_has_its_figures_and_both_p():
    text = markdown("Scorecard", scorecard_tables([made()]))
    assert "## mine: 2 gained, 1 kept, 1 lost" in text
    row = "| pairs, spearman | relatedness | 0.500 | 0.400 | -0.100 (-0.300 to +0.400) | 40 pairs | .030 | .090 | **lost** |"
    assert row in text and "| tree *, mean_auc | hierarchy |" in text
    assert "by p adjusted for the number of tests (Holm 1979) it is 1 gained, 3 kept, 0 lost." in text
    assert "999 draws from seed 7" in text and "never below" not in text and "No record says" not in text
    assert "No record says what the model was trained on" in markdown("S", scorecard_tables([made(trained_on=None)]))


def test_too_few_draws_are_said():
    """Would catch a Holm's p that cannot fall below .05, read as a finding."""
    few = {**made(), "draws": 50}
    assert "With 50 draws the smallest of 4 adjusted p is never below .078" in markdown("S", scorecard_tables([few]))  # type: ignore[list-item]


# ---------------------------------------------------------------------- seeds


def run_of_seed(seed: int, **configuration: Any) -> RunData:
    arguments = {"seed": seed, "output_dir": f"out/seed{seed}", "learning_rate": 1e-4}
    return {
        **empty_run(),
        "recipe": "flumpa",
        "seed": seed,
        "training_arguments": arguments,
        "configuration": configuration,
    }


def three_seeds() -> list[ScorecardData]:
    return [
        made("s0", {"pairs": (0.1, 0.01), "it": (-0.1, 0.01)}),
        made("s1", {"pairs": (0.2, 0.01), "it": (0.1, 0.01)}),
        made("s2", {"pairs": (0.3, 0.9), "it": (0.0, 1.0), "tree_test": (0.1, 0.01)}),
    ]


def test_seeds_of_one_recipe_are_counted_together():
    """1, 2 and 3 tenths: the half width is 4.3027 * .1 / sqrt(3). Would catch a mean over a benchmark that one seed lacks."""
    (found,) = recipe_scorecards(three_seeds(), {f"s{i}": run_of_seed(i) for i in range(3)})
    assert (found["recipe"], found["models"], found["seeds"], found["base"]) == (
        "flumpa",
        ["s0", "s1", "s2"],
        [0, 1, 2],
        "org/base",
    )
    pairs, italian = found["benchmarks"]
    assert (pairs["difference"], pairs["low"], pairs["high"]) == pytest.approx((0.2, -0.04841, 0.44841), abs=1e-4)
    assert (pairs["outcome"], pairs["gained"], pairs["kept"], pairs["lost"]) == ("gained", 2, 1, 0)
    assert (italian["outcome"], italian["gained"], italian["kept"], italian["lost"]) == ("kept", 1, 1, 1)
    text = markdown("Scorecard", scorecard_tables(three_seeds(), [found]))
    assert "## flumpa, 3 seeds (s0, s1, s2): 1 gained, 1 kept, 0 lost" in text
    assert "| pairs, spearman | relatedness | 0.500 | 0.700 | +0.200 (-0.048 to +0.448) | 2 | 1 | 0 | gained |" in text


@pytest.mark.parametrize(
    "runs",
    [
        {"s0": run_of_seed(0)},
        {"s0": run_of_seed(0), "s1": run_of_seed(0)},
        {"s0": run_of_seed(0), "s1": run_of_seed(1, alpha=2.0)},
        {"s0": run_of_seed(0), "s1": {**run_of_seed(1), "base_model": "other"}},
        {
            f"s{seed}": {**run_of_seed(seed), "earlier": [{"recipe": recipe, "base_model": "x", "terminologies": []}]}
            for seed, recipe in enumerate(("extend_bert", "hiprbert"))
        },
        {"s0": run_of_seed(0), "s1": {**run_of_seed(1), "results": {"x": {"before": {}, "after": {}}}}},
    ],
    ids=[
        "one",
        "one seed twice",
        "other arguments",
        "other base",
        "other stages before",
        "a release and what keep_trained left",
    ],
)
def test_other_runs_are_not_taken_together(runs: dict[str, RunData]):
    """Would catch a mean over an ablation and what it is compared with."""
    assert recipe_scorecards(three_seeds()[:2], runs) == []


def test_a_seed_that_ran_twice_counts_once():
    """Would catch a table of all seeds that is gone as soon as one of them was trained again."""
    runs = {"s0": run_of_seed(0), "s1": run_of_seed(1), "s2": run_of_seed(0)}
    (found,) = recipe_scorecards(three_seeds(), runs)
    assert (found["models"], found["seeds"]) == (["s2", "s1"], [0, 1])


def test_arguments_of_a_run_make_no_other_recipe():
    first = run_of_seed(0, seeds=[0, 1], overwrite=True, cache_dir="out/vectors", keep_trained=True)
    runs = {"s0": first, "s1": run_of_seed(1, seeds=[1], overwrite=False, cache_dir=None, keep_trained=False)}
    assert len(recipe_scorecards(three_seeds()[:2], runs)) == 1


# ---------------------------------------------------------------------- the file


def test_the_file_is_read_as_it_was_written(tmp_path: Path):
    recipes = recipe_scorecards(three_seeds(), {f"s{i}": run_of_seed(i) for i in range(3)})
    folder = ResultsFolder(tmp_path / "out")
    path = write_scorecards(folder, three_seeds(), recipes, as_published=False)
    found = read_scorecards(tmp_path / "out")
    assert path.name == "scorecard.json" and (found["scorecards"], found["recipes"]) == (three_seeds(), recipes)
    with pytest.raises(
        InputError, match=r"scorecard_as_published.json: no scorecard found .* --scorecard --as-published"
    ):
        read_scorecards(tmp_path / "out", as_published=True)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-9], "is not JSON"),
        (lambda text: "[]", "is not a file of scorecards of format 1"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "is not a file of scorecards of format 1"),
        (
            lambda text: text.replace('"p": 0.01', '"p": "low"', 1),
            r"scorecards\[0\].benchmarks\[0\].p must be float",
        ),
        (lambda text: json.dumps({"format": 1}), "lacks scorecards, recipes"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, damage, message: str):
    write_scorecards(ResultsFolder(tmp_path), three_seeds(), [], as_published=False)
    path = tmp_path / "scorecard.json"
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError, match=message) as raised:
        read_scorecards(tmp_path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def test_a_result_knows_whether_it_is_raw():
    raw = result("mine", "flumpa_raw", 0.5)
    assert raw.is_raw and not replace(raw, benchmark="flumpa_raw").is_raw
