"""Steps on the dictionary's entries: merging of equal names, and addition of mentions."""

from __future__ import annotations

from collections.abc import Iterable

from st_biomed.linking_data.preparation.record import StepTally, record_step
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary
from st_biomed.settings.keyword_options import listed


def merge_names(dataset: LinkingDataset, *, ignore_case: bool = False) -> LinkingDataset:
    """Merge all entries with the same name: the ids of all of them, at the position of the first.

    BioSyn's dictionaries are merged in this way, after lower-casing and without punctuation. A name of several
    concepts then counts as correct for each of them.

    Args:
        ignore_case: Whether names that differ only in case are equal; the spelling of the first one stays.
    """
    tally = StepTally()
    tally.read(len(dataset.dictionary))
    merged: dict[str, tuple[str, dict[str, None]]] = {}
    for name, ids in dataset.dictionary.entries():
        _add(merged, name, ids, ignore_case)
    tally.keep(len(merged))
    tally.drop("names merged into an equal one", len(dataset.dictionary) - len(merged))
    label = "merge_names(ignore_case)" if ignore_case else "merge_names"
    return record_step(dataset, label, tally, dictionary=LinkingDictionary.from_entries(merged.values()))


ADDED_SPLITS = ("train", "dev")
"""The splits whose mentions :func:`add_mentions` adds by default."""


def add_mentions(dataset: LinkingDataset, *, splits: str | Iterable[str] = ADDED_SPLITS) -> LinkingDataset:
    """Add the mentions of some splits to the dictionary, each with its gold ids, merged with equal names.

    The published dictionary of BioSyn and SapBERT, ``test_dictionary.txt``, is built in this way from the training and
    development mentions; it is not only the terminology. A composite mention adds each part with all its ids.

    Args:
        dataset: A data set with the same preparation as the mentions to link.
        splits: The splits whose mentions are added; never those to measure.

    Raises:
        InputError: There is no such split.
    """
    splits = listed("splits", splits, dataset.mentions)
    merged: dict[str, tuple[str, dict[str, None]]] = {}
    for name, ids in dataset.dictionary.entries():
        _add(merged, name, ids, ignore_case=False)
    tally, n_before = StepTally(), len(merged)
    for split in splits:
        for mention in dataset.split(split):
            for part in mention.parts:
                tally.read()
                if mention.ids:
                    _add(merged, part, sorted(mention.ids), ignore_case=False)
                    tally.keep()
                else:
                    tally.drop("without a concept")
    tally.change("names that are new", len(merged) - n_before)
    dictionary = LinkingDictionary.from_entries(merged.values())
    return record_step(dataset, f"add_mentions({','.join(splits)})", tally, dictionary=dictionary)


def _add(merged: dict[str, tuple[str, dict[str, None]]], name: str, ids: Iterable[str], ignore_case: bool) -> None:
    key = name.lower() if ignore_case else name
    merged.setdefault(key, (name, {}))[1].update(dict.fromkeys(ids))
