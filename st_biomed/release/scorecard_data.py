"""Comparisons of a model with its base on each benchmark, as in ``run.json`` and ``scorecard.json``, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict, TypeVar

OUTCOMES = ("gained", "kept", "lost")
"""The outcomes of a benchmark: better than the base, not distinguishable from it, worse."""


class OutcomeData(TypedDict):
    """The outcome of one benchmark.

    ``in_domain`` has the names of the sources of both the benchmark and the training data; it is empty if there are no
    common sources.
    """

    benchmark: str
    family: str
    language: str  # ISO 639-1
    metric: str  # without the evaluator's name
    outcome: str  # one of OUTCOMES
    in_domain: list[str]


class DifferenceData(OutcomeData):
    """A benchmark of one model: the figures of model and base, and their paired test over the same units."""

    value: float
    base: float
    difference: float  # the model's figure minus the base's
    low: float  # 95% bootstrap interval of the difference
    high: float
    p: float  # two-sided
    p_holm: float  # the same, adjusted for all benchmarks of the scorecard
    n: int  # units
    unit: str


class ScorecardData(TypedDict):
    """One model against one base."""

    model: str
    model_digest: str
    base: str  # its id or the name of its folder
    base_digest: str
    base_pooling: str  # as measured; empty if a module of its own pools, or of a table of vectors
    base_max_length: int  # maximum number of tokens of a text; 0 for a table of vectors
    alpha: float  # a smaller p means gained or lost
    draws: int  # number of draws of each test
    draws_seed: int
    as_published: bool  # whether the benchmarks were scored like the papers' scripts
    recorded: bool  # whether a record lists the model's training data
    benchmarks: list[DifferenceData]  # by family
    not_compared: list[str]  # benchmarks that were measured but not compared


class Counts(NamedTuple):
    """The number of benchmarks of each outcome."""

    gained: int
    kept: int
    lost: int

    def __str__(self) -> str:
        return ", ".join(f"{n} {outcome}" for n, outcome in zip(self, OUTCOMES))


AnyOutcome = TypeVar("AnyOutcome", bound=OutcomeData)


def counts(rows: Iterable[OutcomeData]) -> Counts:
    """The numbers of benchmarks that were gained, kept and lost."""
    outcomes = [row["outcome"] for row in rows]
    return Counts(*(outcomes.count(outcome) for outcome in OUTCOMES))


def outside_training(rows: Iterable[AnyOutcome]) -> list[AnyOutcome]:
    """The benchmarks without known training data."""
    return [row for row in rows if not row["in_domain"]]


def by_family(rows: Sequence[AnyOutcome]) -> dict[str, list[AnyOutcome]]:
    """Family to its benchmarks, in their order; a family of other languages lists the languages."""
    families: dict[str, list[AnyOutcome]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    return {_named(family, rows_of_family): rows_of_family for family, rows_of_family in families.items()}


def counts_by_holm(rows: Sequence[DifferenceData], alpha: float) -> Counts:
    """The counts if differences that Holm's p does not confirm count as kept."""
    held = [row for row in rows if row["p_holm"] < alpha]
    by_holm = counts(held)
    return by_holm._replace(kept=by_holm.kept + len(rows) - len(held))


def _named(family: str, rows: Sequence[OutcomeData]) -> str:
    languages = sorted({row["language"] for row in rows} - {"en"})
    return f"{family} ({', '.join(languages)})" if languages else family
