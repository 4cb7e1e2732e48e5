"""The information needed to read a figure: its better direction, its units and its scoring."""

from __future__ import annotations

import re

from st_biomed.leaderboard.results import Result
from st_biomed.metrics.mcsm import largest_mcsm

PUBLISHED_SCORING = {
    "acc@1": "inner products, and the parts of composite mentions in any order",
    "mcsm": "the last type of each concept alone",
    "f1": "the top 30 and a coarse grid of thresholds",
}
"""Primary metric to its scoring with ``as_published``; other metrics have only one scoring."""

_DRAWN = {
    ("macro_auc", "pairs"): "Intervals and tests draw the pairs within each relation: they are about these relations.",
    ("macro_auc", "relations and pairs"): (
        "Intervals draw relations, and the pairs within each; tests exchange whole relations, and unrelated pairs that "
        "all of them share one by one."
    ),
    (
        "mean_auc",
        "sub-trees",
    ): "Intervals and tests draw the held-out sub-trees with all their pairs.",
    ("acc@1", "documents"): "Intervals and tests draw documents with all their mentions.",
}
"""Primary metric and what its evaluator draws, in words."""

_DUEL = re.compile(r"(\d+)v(\d+)")
_SMALLER = re.compile(r"(^|_)mr$")
_NEITHER = re.compile(r"n|n_.+|theta|coverage|maximum|\w+_unsettled|(\w+_)?exact_match_acc@\d+")


def better(metric: str) -> int:
    """The better direction: 1 for larger, -1 for smaller, 0 for thresholds, counts and properties of the data.

    Args:
        metric: Without the evaluator's name.
    """
    metric = metric.rpartition("/")[2]  # after the name of a type, relation or tree
    return 0 if _NEITHER.fullmatch(metric) else -1 if _SMALLER.search(metric) else 1


def largest_value(result: Result) -> float | None:
    """The largest possible value of an MCSM, of any type; ``None`` for other metrics, which end at 1."""
    if result.metric != "mcsm":
        return None
    return largest_mcsm(int(result.settings.get("k", 40)), int(result.settings.get("n_concepts", 1_000_000)))


def drawn_of(result: Result) -> str:
    """A sentence on what intervals and tests draw; empty if that is the units one by one."""
    default = "documents" if result.settings.get("by_document") else ""
    return _DRAWN.get((result.metric, result.settings.get("resampling", default)), "")


def notes_of(result: Result) -> list[str]:
    """Sentences below the table of an evaluator, from one of its results."""
    notes = []
    if result.metric == "acc@1" and result.is_raw:
        notes.append("The data set as it is distributed, before the steps of its preparation.")
    if result.metric == "mean_auc":
        i, j = next((labels.groups() for label in result.headline if (labels := _DUEL.fullmatch(label))), ("0", "1"))
        notes.append(
            f"{i}v{j}: area under the ROC curve of pairs at distance {i} against pairs at distance {j}, and so on; "
            "0.5 is chance. By default names of one concept are at distance 0, siblings at 1, parent and child at 2, "
            "all others at 3."
        )
    if result.metric == "macro_auc":
        notes.append("Areas under the ROC curve against unrelated pairs; 0.5 is chance.")
    if drawn := drawn_of(result):
        notes.append(drawn)
    n_groups, n_relations = result.settings.get("n_groups"), len(result.settings.get("pairs", ()))
    if result.metric == "macro_auc" and n_groups is not None and n_groups < n_relations:
        notes.append(
            f"Relations that share at least half of their pairs are drawn together: {n_relations} relations are "
            f"{n_groups} groups."
        )
    if result.metric == "f1":
        if result.settings.get("theta") is not None:
            notes.append("The threshold theta was given.")
        elif share := result.settings.get("validation"):
            notes.append(f"The threshold theta is chosen on {share:.0%} of the terms, which are not measured.")
        else:
            notes.append(
                "The threshold theta is chosen on the terms that it is measured on, which flatters every model."
            )
    if (largest := largest_value(result)) is not None:
        k = int(result.settings.get("k", 40))
        notes.append(f"Of {k} neighbors; the largest possible value is {largest:.3f}, less for a type of at most {k}.")
    if result.settings.get("as_published") and result.metric in PUBLISHED_SCORING:
        notes.append(f"Scored as published: {PUBLISHED_SCORING[result.metric]}.")
    return notes
