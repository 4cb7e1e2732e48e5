"""A linking data set out of any terminology: names that training never sees, to be found among those that are left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import SourceInfo, Tally
from st_biomed.terminology import Terminology


class HeldOutNames(NamedTuple):
    """What is trained on, and what is linked to it.

    Attributes:
        train: The terminology without the held-out names.
        dataset: The held-out names as mentions of their concepts, in the splits ``dev`` and ``test``; the dictionary is
            ``train``.
    """

    train: Terminology
    dataset: LinkingDataset


def hold_out_names(
    terminology: Terminology, *, n_dev: int = 1000, n_test: int = 1000, seed: int = 0, name: str = "held-out-names"
) -> HeldOutNames:
    """Take synonyms out of a terminology: at most one of a concept, never its preferred term, never an ambiguous name.

    Where there is no annotated text this measures what linking needs, that an unseen name lies nearest to a name of its
    concept. A concept that loses a name keeps at least two, so that it is trained on still.

    Args:
        terminology: Concepts with three names or more give the mentions.
        n_dev, n_test: Names held out for each split.
        seed: Of the draw.
        name: Name of the data set.

    Raises:
        InputError: A number below 1, or fewer concepts with three names than names asked for.
    """
    if n_dev < 1 or n_test < 1:
        raise InputError(f"held-out names: n_dev and n_test must be at least 1, found {n_dev} and {n_test}")
    kept = np.zeros(terminology.n_texts, dtype=bool)
    kept[terminology.preferred_texts] = True
    kept[terminology.ambiguous_texts] = True
    names = terminology.concept_texts
    rows = np.repeat(np.arange(terminology.n_concepts), names.counts)
    usable = ~kept[names.indices] & (names.counts >= 3)[rows]
    rows, texts = rows[usable], names.indices[usable]
    order = np.random.default_rng(seed).permutation(len(rows))
    _, first = np.unique(rows[order], return_index=True)
    chosen = order[np.sort(first)][: n_dev + n_test]  # the first name of each concept in random order
    if len(chosen) < n_dev + n_test:
        raise InputError(
            f"held-out names: {n_dev} for dev and {n_test} for test, {n_dev + n_test} are requested, but only "
            f"{len(chosen)} concepts have three names or more; request fewer (--held_out_names), or 0"
        )
    rest = np.ones(terminology.n_texts, dtype=bool)
    rest[texts[chosen]] = False
    train = terminology.subset(texts=rest)
    codes, strings = terminology.codes, terminology.strings
    mentions = tuple(Mention(strings[texts[i]], (frozenset((codes[rows[i]],)),)) for i in chosen)
    tally = Tally()
    tally.read(terminology.n_texts)
    tally.keep(len(chosen))
    tally.drop("names that stay in the dictionary", terminology.n_texts - len(chosen))
    splits = {"dev": mentions[:n_dev], "test": mentions[n_dev:]}
    dictionary = LinkingDictionary.from_terminology(train)
    return HeldOutNames(
        train,
        LinkingDataset(name, splits, dictionary, held_out_source(terminology), tallies={"held-out names": tally}),
    )


def held_out_source(terminology: Terminology) -> SourceInfo:
    """Where names that were held out are from, and whether they may be passed on."""
    one = len(terminology.sources) == 1
    return SourceInfo(
        name="HELD-OUT",
        title=f"Names of {', '.join(terminology.sources)}",
        license=next(iter(terminology.sources.values())).license if one else "as each source states",
        url="",
        redistributable=all(info.redistributable for info in terminology.sources.values()),
    )
