"""Finding concepts by names in languages in which training never saw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.linking_data.held_out_names import held_out_source
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from st_biomed.terminology.subset import mask


class HeldOutTranslations(NamedTuple):
    """What is trained on, and what is linked to its names in the pivot language.

    Attributes:
        train: The terminology without the held-out names.
        datasets: Language to its held-out names as mentions, in the splits ``dev`` and ``test``; the dictionary of all
            of them is one.
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
    """Take all names in other languages from some concepts; they are to find their concept among names of the pivot language.

    Of a concept that is held out, training keeps the names in the pivot language alone, so that whatever links a
    translation to it was learned from other concepts. A name that, but for its case, is one of the pivot language, too, and
    one of several concepts are left where they are: they say nothing.

    Args:
        terminology: Names in several languages.
        languages: ISO 639-1 codes of the languages that are measured; all but the pivot by default. Names in every other
            language are held out with them.
        pivot: Language of the dictionary.
        n_dev, n_test: Concepts held out for each split.
        prefix: What the codes of the concepts begin with, e.g. ``"HP:"``: those that are held out and those in the
            dictionary; all by default.
        seed: Of the draw.
        name: The data sets are called ``<name>-<language>``.

    Raises:
        InputError: A number below 1, a language that no name has, fewer concepts with translations than asked for, or a
            language in which none of the drawn ones has a name.
    """
    if n_dev < 1 or n_test < 1:
        raise InputError(f"held-out translations: n_dev and n_test must be at least 1, found {n_dev} and {n_test}")
    spoken = _languages(terminology, languages, pivot)
    terms = terminology.terms
    concept, text = terms["concept"].to_numpy(), terms["text"].to_numpy()
    of_pivot, of_spoken = (_spoken_in(terms["language"], one) for one in ([pivot], spoken))
    chosen = pc.starts_with(terminology.concepts["code"], prefix).to_numpy(zero_copy_only=False)
    lower = pc.utf8_lower(terminology.texts["text"].combine_chunks())
    stays = pc.is_in(lower, value_set=lower.take(pa.array(np.unique(text[of_pivot])))).to_numpy(False)
    stays = stays | mask(terminology.ambiguous_texts, terminology.n_texts, "texts")
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
    for one in spoken:
        rows = np.flatnonzero(held & _spoken_in(terms["language"], [one]))
        datasets[one] = _dataset(f"{name}-{one}", terminology, concept[rows], text[rows], split, dictionary)
    return HeldOutTranslations(train, datasets)


def _spoken_in(column: pa.ChunkedArray, languages: Sequence[str]) -> np.ndarray:
    """Which terms are in one of the languages, boolean ``[R]``."""
    return pc.is_in(column.cast(pa.string()), value_set=pa.array(languages, pa.string())).to_numpy()


def _languages(terminology: Terminology, asked: Sequence[str], pivot: str) -> list[str]:
    """What is measured, sorted where all are."""
    present = terminology.languages
    for one in (pivot, *asked):
        if one not in present:
            raise InputError(
                f"held-out translations: no name has the language {one!r}; there are {', '.join(present)}"
            )
    found = list(asked) or [one for one in present if one != pivot]
    if not found or pivot in found:
        raise InputError(
            f"held-out translations: languages other than the pivot {pivot!r} are needed, found {', '.join(found)}"
        )
    return found


def _dataset(
    name: str,
    terminology: Terminology,
    concepts: np.ndarray,
    texts: np.ndarray,
    split: np.ndarray,
    dictionary: LinkingDictionary,
) -> LinkingDataset:
    codes = terminology.codes
    splits: dict[str, list[Mention]] = {"dev": [], "test": []}
    tally = Tally()
    pairs = np.unique(np.stack([concepts, texts]), axis=1).T
    strings = terminology.texts["text"].take(pairs[:, 1]).to_pylist()
    for concept, string in zip(pairs[:, 0], strings):
        tally.read()
        tally.keep()
        mention = Mention(string, (frozenset((codes[concept],)),))
        splits["test" if split[concept] else "dev"].append(mention)
    for part, mentions in splits.items():
        if not mentions:
            raise InputError(
                f"{name}: none of the concepts drawn for {part!r} has a name in this language; increase the number of concepts"
            )
    return LinkingDataset(
        name,
        {part: tuple(mentions) for part, mentions in splits.items()},
        dictionary,
        held_out_source(terminology),
        tallies={"held-out translations": tally},
    )
