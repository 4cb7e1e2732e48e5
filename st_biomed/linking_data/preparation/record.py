"""How a step of preparation is recorded: its name in ``steps``, and a tally that also says what it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.readers import Tally


class StepTally(Tally):
    """What a step looked at, kept and dropped, and how many of those kept it changed.

    Attributes:
        changed: What was changed, with its number.
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


def taken(
    dataset: LinkingDataset,
    step: str,
    tally: StepTally,
    *,
    mentions: Mapping[str, tuple[Mention, ...]] | None = None,
    dictionary: LinkingDictionary | None = None,
) -> LinkingDataset:
    """The data set after a step.

    Args:
        dataset: Before the step.
        step: Its name, with the arguments that are not its defaults.
        tally: What it did.
        mentions: The mentions of every split, where it changed them.
        dictionary: The dictionary, where it changed it.
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
    """Every mention of every split put through a function; those that come out different are counted as ``what``."""
    changed = {}
    for split, found in dataset.mentions.items():
        changed[split] = tuple(map(function, found))
        tally.read(len(found))
        tally.keep(len(found))
        tally.change(what, sum(before != after for before, after in zip(found, changed[split])))
    return changed


def with_parts(mention: Mention, function: Callable[[str], str]) -> Mention:
    """A mention whose parts are put through a function; a part of which nothing would be left stays as it is."""
    parts = tuple(function(part) or part for part in mention.parts)
    return mention if parts == mention.parts else replace(mention, parts=parts)
