"""The record of a preparation step: its name in ``steps``, and a tally that also counts its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import Tally


class StepTally(Tally):
    """The items that a step read, kept and dropped, and the number of kept ones that it changed.

    Attributes:
        changed: Kind of change to its count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.changed: Counter[str] = Counter()

    def change(self, what: str, n: int = 1) -> None:
        if n:
            self.changed[what] += n

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "changed": dict(sorted(self.changed.items()))}

    def __str__(self) -> str:
        return super().__str__() + "".join(f"; {n:,} {what}" for what, n in sorted(self.changed.items()))


def record_step(
    dataset: LinkingDataset,
    step: str,
    tally: StepTally,
    *,
    mentions: Mapping[str, tuple[Mention, ...]] | None = None,
    dictionary: LinkingDictionary | None = None,
) -> LinkingDataset:
    """The data set after a step.

    Args:
        step: Its name, with the arguments that are not its defaults.
        mentions: The mentions of every split, if it changed them.
        dictionary: The dictionary, if it changed it.
    """
    return replace(
        dataset,
        mentions=dataset.mentions if mentions is None else mentions,
        dictionary=dataset.dictionary if dictionary is None else dictionary,
        steps=(*dataset.steps, step),
        tallies={**dataset.tallies, f"step {len(dataset.steps) + 1}: {step}": tally},
    )


def with_mentions(
    dataset: LinkingDataset, function: Callable[[Mention], Mention], tally: StepTally, what: str
) -> dict[str, tuple[Mention, ...]]:
    """Apply a function to every mention of every split; changed mentions are counted as ``what``."""
    changed = {}
    for split, mentions in dataset.mentions.items():
        changed[split] = tuple(map(function, mentions))
        tally.read_kept(len(mentions))
        tally.change(what, sum(before != after for before, after in zip(mentions, changed[split])))
    return changed


def with_parts(mention: Mention, function: Callable[[str], str]) -> Mention:
    """Apply a function to the parts of a mention; a part that would become empty stays unchanged."""
    parts = tuple(function(part) or part for part in mention.parts)
    return mention if parts == mention.parts else replace(mention, parts=parts)
