"""A linking data set from any terminology: held-out names that training never sees, linked to the remaining ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.linking_data.name_spellings import is_of_several_concepts, names_of_texts
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import SourceInfo, Tally
from st_biomed.terminology import Terminology


class HeldOutNames(NamedTuple):
    """The training terminology and the data set that is linked to it.

    Attributes:
        dataset: The held-out names as mentions of their concepts, in the splits ``dev`` and ``test``; the dictionary
            is ``train``.
    """

    train: Terminology
    dataset: LinkingDataset


def hold_out_names(
    terminology: Terminology,
    *,
    n_dev: int = 1000,
    n_test: int = 1000,
    n_dictionary: int = 0,
    seed: int = 0,
    name: str = "held-out-names",
) -> HeldOutNames:
    """Remove synonyms from a terminology: at most one of a concept, never its preferred term, never an ambiguous name.

    Without annotated text, this measures the core of linking: an unseen name should be nearest to a name of its
    concept. A concept that loses a name keeps at least two, so it is still used in training. Spellings that differ
    only in case or white space are one name, and are removed together: one of them is the mention.

    Args:
        terminology: Its concepts with three or more names give the mentions.
        n_dev, n_test: Names held out for each split.
        n_dictionary: Number of concepts whose names are in the dictionary: those of the held-out names, and others
            drawn up to this number; 0 for all. Embedding the names of several hundred thousand concepts takes longer
            than all other measurements.

    Raises:
        InputError: A number below 1, fewer concepts with three names than requested names, or a dictionary of fewer
            concepts than held-out names.
    """
    if n_dev < 1 or n_test < 1:
        raise InputError(f"held-out names: n_dev and n_test must be at least 1, found {n_dev} and {n_test}")
    if n_dictionary and n_dictionary < n_dev + n_test:
        raise InputError(
            f"held-out names: the dictionary needs the concepts of all {n_dev + n_test} names, found "
            f"n_dictionary={n_dictionary}"
        )
    kept = np.zeros(terminology.n_texts, dtype=bool)
    kept[terminology.preferred_texts[terminology.has_name]] = True
    kept[terminology.ambiguous_texts] = True
    names = terminology.concept_texts
    rows = np.repeat(np.arange(terminology.n_concepts), names.counts)
    usable = ~kept[names.indices] & (names.counts >= 3)[rows]
    rows, texts = rows[usable], names.indices[usable]
    name_of, of_concepts = names_of_texts(terminology)
    can_go = ~is_of_several_concepts(name_of, of_concepts) & ~np.isin(name_of, name_of[kept])
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    order = order[can_go[texts[order]] & (of_concepts.counts[rows[order]] >= 3)]
    _, first = np.unique(rows[order], return_index=True)
    chosen = order[np.sort(first)][: n_dev + n_test]  # the first name of each concept in random order
    if len(chosen) < n_dev + n_test:
        raise InputError(
            f"held-out names: {n_dev} for dev and {n_test} for test, {n_dev + n_test} are requested, but only "
            f"{len(chosen)} concepts have three names or more; request fewer (--held_out_names), or 0"
        )
    rest = ~np.isin(name_of, name_of[texts[chosen]])
    train = terminology.subset(texts=rest)
    codes, strings = terminology.codes, terminology.strings
    mentions = tuple(Mention(strings[texts[i]], (frozenset((codes[rows[i]],)),)) for i in chosen)
    tally = Tally()
    tally.read(terminology.n_texts)
    tally.keep(len(chosen))
    tally.drop("names that stay in the dictionary", int(rest.sum()))
    tally.drop("other spellings of held-out names", int((~rest).sum()) - len(chosen))
    splits = {"dev": mentions[:n_dev], "test": mentions[n_dev:]}
    linked = train
    if 0 < n_dictionary < train.n_concepts - train.n_nameless:
        meant = [train.concept(codes[rows[i]]) for i in chosen]
        others = np.setdiff1d(np.flatnonzero(train.has_name), meant)
        drawn = rng.choice(others, n_dictionary - len(meant), replace=False)
        linked = train.subset(np.concatenate([meant, drawn]))
    dictionary = LinkingDictionary.from_terminology(linked)
    return HeldOutNames(
        train,
        LinkingDataset(name, splits, dictionary, held_out_source(terminology), tallies={"held-out names": tally}),
    )


def held_out_source(terminology: Terminology) -> SourceInfo:
    """The source of the held-out names, and whether they may be redistributed."""
    single = len(terminology.sources) == 1
    return SourceInfo(
        name="HELD-OUT",
        title=f"Names of {', '.join(terminology.sources)}",
        license=next(iter(terminology.sources.values())).license if single else "as each source states",
        url="",
        redistributable=all(info.redistributable for info in terminology.sources.values()),
    )
