"""Scorecards of the runs of one recipe that differ only in their seed, taken together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from st_biomed.metrics.seed_interval import seed_interval
from st_biomed.release.run_data import EarlierData, RunData
from st_biomed.release.scorecard_data import OUTCOMES, OutcomeData, ScorecardData

_OF_A_RUN = {
    "seed",
    "data_seed",
    "seeds",
    "output_dir",
    "cache_dir",
    "keep_trained",
    "logging_dir",
    "run_name",
    "overwrite",
    "resume_from_checkpoint",
    "disable_tqdm",
    "hub_model_id",
    "push_to_hub",
}
"""Arguments that may differ between runs of the same recipe."""


class SeedsData(OutcomeData):
    """A benchmark of a recipe: the mean difference of its seeds from the base, and the outcomes of the seeds.

    The outcome is that of more than half of the seeds, or kept if there is none.
    """

    base: float
    difference: float  # mean over seeds
    low: float  # 95% interval of the mean over seeds (Student's t): the variation between seeds
    high: float
    gained: int
    kept: int
    lost: int


class RecipeData(TypedDict):
    """The scorecard of a recipe that ran with several seeds."""

    recipe: str
    models: list[str]
    seeds: list[int]
    base: str
    benchmarks: list[SeedsData]  # benchmarks on which every seed was compared


def recipe_scorecards(scorecards: Sequence[ScorecardData], runs: Mapping[str, RunData]) -> list[RecipeData]:
    """Scorecards of groups of runs whose records differ only in the seed; of equal seeds the last model counts.

    Args:
        scorecards: Scorecards of models against one base.
        runs: Name of a model to its record, if it has one.
    """
    groups: dict[str, list[ScorecardData]] = {}
    for scorecard in scorecards:
        if scorecard["model"] in runs:
            groups.setdefault(_but_for_the_seed(runs[scorecard["model"]]), []).append(scorecard)
    scorecards_of_recipes = []
    for members in groups.values():
        group = list({runs[scorecard["model"]]["seed"]: scorecard for scorecard in members}.values())
        seeds = [runs[scorecard["model"]]["seed"] for scorecard in group]
        if len(seeds) > 1:
            scorecards_of_recipes.append(_together(group, runs[group[0]["model"]]["recipe"], seeds))
    return scorecards_of_recipes


def _together(group: Sequence[ScorecardData], recipe: str, seeds: list[int]) -> RecipeData:
    by_name = [{row["benchmark"]: row for row in scorecard["benchmarks"]} for scorecard in group]
    rows = []
    for name, first in by_name[0].items():
        if not all(name in of_seed for of_seed in by_name):
            continue
        of_seeds = [of_seed[name] for of_seed in by_name]
        times = {outcome: sum(row["outcome"] == outcome for row in of_seeds) for outcome in OUTCOMES}
        most = next((outcome for outcome, n in times.items() if 2 * n > len(of_seeds)), "kept")
        mean = seed_interval([row["difference"] for row in of_seeds])
        rows.append(
            SeedsData(
                benchmark=name,
                family=first["family"],
                language=first["language"],
                metric=first["metric"],
                outcome=most,
                in_domain=first["in_domain"],
                base=first["base"],
                difference=mean.value,
                low=mean.low,
                high=mean.high,
                gained=times["gained"],
                kept=times["kept"],
                lost=times["lost"],
            )
        )
    return RecipeData(
        recipe=recipe,
        models=[scorecard["model"] for scorecard in group],
        seeds=seeds,
        base=group[0]["base"],
        benchmarks=rows,
    )


def _identity(stage: RunData | EarlierData) -> list[Any]:
    """The recipe of a stage, and what it started from and was trained on."""
    return [stage["recipe"], stage["base_model"], [terminology["digest"] for terminology in stage["terminologies"]]]


def _but_for_the_seed(run: RunData) -> str:
    """The common part of the runs of one recipe."""
    arguments: list[dict[str, Any]] = [run["configuration"], run["training_arguments"]]
    identity = [
        bool(run["results"]),  # the model that keep_trained left is not averaged, and has none
        _identity(run),
        *map(_identity, run["earlier"]),
        [{name: value for name, value in group.items() if name not in _OF_A_RUN} for group in arguments],
    ]
    return json.dumps(identity, sort_keys=True, default=str)
