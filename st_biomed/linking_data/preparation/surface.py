"""Case and punctuation, in both the mentions and the dictionary."""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from st_biomed.linking_data.preparation.record import StepTally, record_step, with_mentions, with_parts
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary

_PUNCTUATION = re.compile(rf"[\s{re.escape(string.punctuation)}]+")


def lower_case(dataset: LinkingDataset) -> LinkingDataset:
    """Lower-case the parts of the mentions and the names of the dictionary."""
    return _rewritten(dataset, "lower_case", str.lower, "lower-cased")


def remove_punctuation(dataset: LinkingDataset) -> LinkingDataset:
    """Replace every run of spaces and ASCII punctuation by one space, in the mentions' parts and in the dictionary.

    A string of only such characters stays unchanged.
    """
    return _rewritten(dataset, "remove_punctuation", without_punctuation, "rid of punctuation")


def without_punctuation(text: str) -> str:
    """``"x-linked (type 2)"`` gives ``"x linked type 2"``."""
    return _PUNCTUATION.sub(" ", text).strip()


def _rewritten(dataset: LinkingDataset, step: str, function: Callable[[str], str], what: str) -> LinkingDataset:
    tally = StepTally()
    mentions = with_mentions(dataset, lambda mention: with_parts(mention, function), tally, f"mentions {what}")
    before = dataset.dictionary
    names = [function(name) or name for name in before.names]
    tally.read_kept(len(names))
    tally.change(f"names {what}", sum(old != new for old, new in zip(before.names, names)))
    return record_step(
        dataset, step, tally, mentions=mentions, dictionary=LinkingDictionary(names, before.ids, before.entry_ids)
    )
