"""Finding concepts by names in languages that training never saw for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.linking_data.held_out_names import held_out_source
from st_biomed.linking_data.name_spellings import is_of_several_concepts, names_of_texts
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import Tally
from st_biomed.terminology import Terminology


class HeldOutTranslations(NamedTuple):
    """The training terminology, and the data sets that are linked to names in the pivot language.

    Attributes:
        datasets: Language to its held-out names as mentions, in the splits ``dev`` and ``test``, with one common
            dictionary.
    """

    train: Terminology
    datasets: dict[str, LinkingDataset]


def hold_out_translations(
    terminology: Terminology,
    *,
    languages: Sequence[str] = (),
    pivot: str = "en",
    n_dev: int = 500,
    n_test: int = 1000,
    prefix: str = "",
    seed: int = 0,
    name: str = "translations",
) -> HeldOutTranslations:
    """Remove all names in other languages from some concepts, to link them to names of the pivot language.

    Training keeps only the pivot names of a held-out concept, so linking a translation to it must be learned from
    other concepts. Names that are also names in the pivot language, and names of several concepts, are not used: they are
    not informative. Spellings that differ only in case or white space are one name: they are removed together, and the
    first of them in a language, in the order of the texts, is the mention.

    Args:
        terminology: Names in several languages.
        languages: ISO 639-1 codes of the languages to measure; all except the pivot by default. Names in every other
            language are held out with them.
        pivot: Language of the dictionary.
        n_dev, n_test: Concepts held out for each split.
        prefix: Prefix of the codes of the concepts, e.g. ``"HP:"``: those that are held out and those in the
            dictionary; all by default.
        name: The names of the data sets are ``<name>-<language>``.

    Raises:
        InputError: A number below 1, a language that no name has, fewer concepts with translations than requested, or
            a language in which no drawn concept has a name.
    """
    if n_dev < 1 or n_test < 1:
        raise InputError(f"held-out translations: n_dev and n_test must be at least 1, found {n_dev} and {n_test}")
    spoken = _languages(terminology, languages, pivot)
    terms = terminology.terms
    concept, text = terms["concept"].to_numpy(), terms["text"].to_numpy()
    of_pivot, of_spoken = (_spoken_in(terms["language"], language_set) for language_set in ([pivot], spoken))
    chosen = pc.starts_with(terminology.concepts["code"], prefix).to_numpy(zero_copy_only=False)
    name_of, of_concepts = names_of_texts(terminology)
    stays = np.isin(name_of, name_of[text[of_pivot]]) | is_of_several_concepts(name_of, of_concepts)
    in_dictionary = np.zeros(terminology.n_concepts, dtype=bool)
    in_dictionary[concept[of_pivot]] = True
    usable = ~stays[text] & (chosen & in_dictionary)[concept]
    candidates = np.unique(concept[usable & of_spoken])
    if len(candidates) < n_dev + n_test:
        begin = f" whose code begins with {prefix!r}" if prefix else ""
        raise InputError(
            f"held-out translations: {n_dev} concepts for dev and {n_test} for test are requested, but only "
            f"{len(candidates)}{begin} have a name in {pivot!r} and one in {', '.join(spoken)}"
        )
    drawn = np.random.default_rng(seed).permutation(candidates)[: n_dev + n_test]
    split = np.full(terminology.n_concepts, -1)
    split[drawn] = np.arange(len(drawn)) >= n_dev
    held = usable & (split[concept] >= 0)
    rest = np.ones(terminology.n_texts, dtype=bool)
    rest[text[held]] = False
    train = terminology.subset(texts=rest)
    dictionary = LinkingDictionary.from_terminology(
        terminology.subset(concepts=chosen if prefix else None, languages=[pivot])
    )
    datasets = {}
    for language in spoken:
        rows = np.flatnonzero(held & _spoken_in(terms["language"], [language]))
        pairs = np.unique(np.stack([concept[rows], text[rows]]), axis=1)
        _, first = np.unique(np.stack([pairs[0], name_of[pairs[1]]]), axis=1, return_index=True)
        tally = Tally()
        tally.read(pairs.shape[1])
        tally.keep(len(first))
        tally.drop("other spellings of held-out names", pairs.shape[1] - len(first))
        kept = pairs[:, np.sort(first)]
        datasets[language] = _dataset(f"{name}-{language}", terminology, kept, split, dictionary, tally)
    return HeldOutTranslations(train, datasets)


def _spoken_in(column: pa.ChunkedArray, languages: Sequence[str]) -> np.ndarray:
    """Whether terms are in one of the languages, boolean ``[R]``."""
    return pc.is_in(column.cast(pa.string()), value_set=pa.array(languages, pa.string())).to_numpy()


def _languages(terminology: Terminology, asked: Sequence[str], pivot: str) -> list[str]:
    """The languages to measure, sorted if all are measured."""
    present = terminology.languages
    for language in (pivot, *asked):
        if language not in present:
            raise InputError(
                f"held-out translations: no name has the language {language!r}; available are {', '.join(present)}"
            )
    chosen = list(asked) or [language for language in present if language != pivot]
    if not chosen or pivot in chosen:
        raise InputError(
            f"held-out translations: expected languages other than the pivot {pivot!r}, found {', '.join(chosen)}"
        )
    return chosen


def _dataset(
    name: str,
    terminology: Terminology,
    pairs: np.ndarray,
    split: np.ndarray,
    dictionary: LinkingDictionary,
    tally: Tally,
) -> LinkingDataset:
    """The data set of concepts and texts, ``[2, N]``."""
    codes = terminology.codes
    splits: dict[str, list[Mention]] = {"dev": [], "test": []}
    strings = terminology.texts["text"].take(pairs[1]).to_pylist()
    for concept, string in zip(pairs[0], strings):
        mention = Mention(string, (frozenset((codes[concept],)),))
        splits["test" if split[concept] else "dev"].append(mention)
    for part, mentions in splits.items():
        if not mentions:
            raise InputError(
                f"{name}: none of the concepts drawn for {part!r} has a name in this language; increase the number of "
                "concepts"
            )
    return LinkingDataset(
        name,
        {part: tuple(mentions) for part, mentions in splits.items()},
        dictionary,
        held_out_source(terminology),
        tallies={"held-out translations": tally},
    )
