"""A model against its base, benchmark by benchmark: what ``run.json`` and ``scorecard.json`` hold, and how it is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict, TypeVar

OUTCOMES = ("gained", "kept", "lost")
"""What a benchmark may be: better than the base, not told from it, worse."""


class OutcomeData(TypedDict):
    """What became of one benchmark.

    ``in_domain`` has the names of the sources that it is made of and that the model was trained on; none where it was
    trained on none of them.
    """

    benchmark: str
    family: str
    language: str  # ISO 639-1
    metric: str  # without the evaluator's name
    outcome: str  # one of OUTCOMES
    in_domain: list[str]


class DifferenceData(OutcomeData):
    """A benchmark of one model: its figure, the base's, and the paired test of the two over the same units."""

    value: float
    base: float
    difference: float  # of the model's figure from the base's
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
    base_pooling: str  # as it was measured; empty where a module of its own pools, or of a table of vectors
    base_max_length: int  # tokens that its texts were cut at; 0 of a table of vectors
    alpha: float  # below which p is called gained or lost
    draws: int  # of each test
    draws_seed: int
    as_published: bool  # whether the benchmarks were scored as the papers' scripts do
    recorded: bool  # whether a record says what the model was trained on
    benchmarks: list[DifferenceData]  # by family
    not_compared: list[str]  # benchmarks that the model was measured on and not tested


class Counts(NamedTuple):
    """How many benchmarks of each outcome."""

    gained: int
    kept: int
    lost: int

    def __str__(self) -> str:
        return ", ".join(f"{n} {outcome}" for n, outcome in zip(self, OUTCOMES))


AnyOutcome = TypeVar("AnyOutcome", bound=OutcomeData)


def counts(rows: Iterable[OutcomeData]) -> Counts:
    """How many of some benchmarks were gained, kept and lost."""
    found = [row["outcome"] for row in rows]
    return Counts(*(found.count(outcome) for outcome in OUTCOMES))


def outside_training(rows: Iterable[AnyOutcome]) -> list[AnyOutcome]:
    """Those made of nothing that the model is known to have been trained on."""
    return [row for row in rows if not row["in_domain"]]


def by_family(rows: Sequence[AnyOutcome]) -> dict[str, list[AnyOutcome]]:
    """Family to its benchmarks, in the order in which they come; a family of languages that are not English lists them."""
    families: dict[str, list[AnyOutcome]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    return {_named(family, found): found for family, found in families.items()}


def counts_by_holm(rows: Sequence[DifferenceData], alpha: float) -> Counts:
    """The counts where a difference that Holm's p does not hold up is kept."""
    held = [row for row in rows if row["p_holm"] < alpha]
    found = counts(held)
    return found._replace(kept=found.kept + len(rows) - len(held))


def _named(family: str, rows: Sequence[OutcomeData]) -> str:
    languages = sorted({row["language"] for row in rows} - {"en"})
    return f"{family} ({', '.join(languages)})" if languages else family
