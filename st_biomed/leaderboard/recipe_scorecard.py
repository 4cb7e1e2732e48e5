"""Runs of one recipe that differ by their seed alone, counted together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from st_biomed.metrics.seed_interval import seed_interval
from st_biomed.release.run_data import RunData
from st_biomed.release.scorecard_data import OUTCOMES, OutcomeData, ScorecardData

_OF_A_RUN = {
    "seed",
    "data_seed",
    "seeds",
    "output_dir",
    "logging_dir",
    "run_name",
    "overwrite",
    "resume_from_checkpoint",
    "disable_tqdm",
    "hub_model_id",
    "push_to_hub",
}
"""Arguments of a recipe or of the trainer that make it no other recipe."""


class SeedsData(OutcomeData):
    """A benchmark of a recipe: the mean difference of its seeds from the base, and what became of each.

    The outcome is that of more than half of the seeds; kept where none has so many.
    """

    difference: float
    low: float  # 95% interval of the mean over seeds (Student's t): what other seeds would change
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
    benchmarks: list[SeedsData]  # those that every seed was compared on


def recipe_scorecards(scorecards: Sequence[ScorecardData], runs: Mapping[str, RunData]) -> list[RecipeData]:
    """Those of the scorecards taken together whose records say the same but for the seed.

    Args:
        scorecards: Of models against one base.
        runs: Name of a model to its record, for those that have one.
    """
    groups: dict[str, list[ScorecardData]] = {}
    for one in scorecards:
        if one["model"] in runs:
            groups.setdefault(_but_for_the_seed(runs[one["model"]]), []).append(one)
    found = []
    for group in groups.values():
        seeds = [runs[one["model"]]["seed"] for one in group]
        if len(set(seeds)) == len(seeds) > 1:
            found.append(_together(group, runs[group[0]["model"]]["recipe"], seeds))
    return found


def _together(group: Sequence[ScorecardData], recipe: str, seeds: list[int]) -> RecipeData:
    by_name = [{row["benchmark"]: row for row in one["benchmarks"]} for one in group]
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
        models=[one["model"] for one in group],
        seeds=seeds,
        base=group[0]["base"],
        benchmarks=rows,
    )


def _but_for_the_seed(run: RunData) -> str:
    """What runs of one recipe have in common."""
    arguments: list[dict[str, Any]] = [run["configuration"], run["training_arguments"]]
    said = [
        run["recipe"],
        run["base_model"],
        [each["digest"] for each in run["terminologies"]],
        [{name: value for name, value in each.items() if name not in _OF_A_RUN} for each in arguments],
    ]
    return json.dumps(said, sort_keys=True, default=str)
