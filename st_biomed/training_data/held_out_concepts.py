"""Train, dev and test by whole sub-trees or by concepts, without shared concepts or strings."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, check_instance, check_integer, check_number, check_several
from st_biomed.hierarchy import Hierarchy
from st_biomed.linking_data.name_spellings import numbers_of_names
from st_biomed.readers._normalizers import normalize
from st_biomed.records import Tally
from st_biomed.terminology import Terminology

TRAIN, DEV, TEST = 0, 1, 2
logger = logging.getLogger(__name__)

_NAMES = ("train", "dev", "test")


@dataclass(frozen=True)
class Splits:
    """Three terminologies, and the split of each concept and text of the whole terminology.

    To measure on held-out sub-trees, take the distances from the hierarchy of the whole terminology, restricted to
    ``np.flatnonzero(text_split == TEST)``. In the ``test`` terminology alone, the concepts above the sub-trees are
    missing, and sibling sub-trees would appear unrelated.

    Attributes:
        train, dev, test: Terminologies with their own indices.
        concept_split: 0, 1 or 2 for each concept of the whole terminology, int8 ``[C]``.
        text_split: The same for its texts, int8 ``[T]``; -1 for a text in no split (another spelling of a
            held-out name).
        text_subtree: Number of a held-out sub-tree of each held-out text, int32 ``[T]``; -1 elsewhere.
        tally: Terms (concept-name pairs) kept, and dropped by reason.
    """

    train: Terminology
    dev: Terminology
    test: Terminology
    concept_split: np.ndarray
    text_split: np.ndarray
    text_subtree: np.ndarray
    tally: Tally

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name} {part.n_concepts:,} concepts {part.n_texts:,} texts"
            for name, part in zip(_NAMES, (self.train, self.dev, self.test))
        )
        return f"{sizes} (terms: {self.tally})"


def split_by_subtree(
    hierarchy: Hierarchy | Terminology,
    *,
    depth: int | None = None,
    pattern: str | None = None,
    dev: float = 1 / 6,
    test: float = 1 / 6,
    test_roots: Sequence[str] = (),
    seed: int = 0,
) -> Splits:
    """Hold out random sub-trees with all their concepts and strings.

    The roots of the sub-trees are drawn, those of test unless they are given. All concepts below a root go with it;
    all others, including the concepts above the roots, stay in train. A concept below several roots goes to test if
    one of them is in test, otherwise to dev. Held-out sub-trees are therefore complete, and no concept is in two
    splits. Test keeps all of its strings; strings of test are removed from dev and train, and strings of dev from
    train, ignoring case, white space and Unicode form, which most encoders do not see. A concept without any remaining string is removed.

    Args:
        depth: The roots are the concepts at this depth (longest path from the top, which has depth 0).
        pattern: In place of ``depth``: the roots are the concepts whose whole code matches this regular expression,
            e.g. ``r"ICD10CM:[A-Z]\\d\\w"`` for the three-character categories.
        dev: Share of the roots held out for dev, or their number if it is 1 or more.
        test: The same for test.
        test_roots: Codes of the roots of test, in place of a draw of ``test`` of them.
        seed: Random seed, from 0 on.

    Raises:
        InputError: Not exactly one of ``depth`` and ``pattern``, shares, numbers or a seed out of range, too few roots, a code
            of ``test_roots`` that is no root or is given twice, or an empty split.

    Example:
        >>> split_by_subtree(Terminology.read("toy"), depth=1, dev=0.25, test=0.25).test
        Terminology(TOY: 42 concepts, 107 texts, 32 parents, 28 relations)
    """
    check_integer("seed", seed, 0)
    hierarchy = hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy(hierarchy)
    terminology = hierarchy.terminology
    roots = _roots(hierarchy, depth, pattern)
    given = _given_roots(terminology, roots, test_roots)
    n_dev, n_test = _number(dev, len(roots), "dev"), len(given) or _number(test, len(roots), "test")
    if not (n_dev and n_test and n_dev + n_test < len(roots)):
        raise InputError(
            f"{len(roots)} sub-trees cannot be split into dev {dev:.3g} and test {len(given) or test:.3g}: choose another "
            f"{'depth (subtree_depth)' if pattern is None else 'pattern (subtrees)'}"
        )
    drawn = np.random.default_rng(seed).permutation(roots)
    drawn = np.concatenate([given, drawn[~np.isin(drawn, given)]])
    concept_split = np.zeros(terminology.n_concepts, dtype=np.int8)
    for chosen, side in ((drawn[n_test : n_test + n_dev], DEV), (drawn[:n_test], TEST)):
        concept_split[chosen] = concept_split[hierarchy.children.reach(chosen)] = side
    held_out = float((concept_split != TRAIN).mean())
    if held_out < (n_dev + n_test) / len(roots) / 4:
        logger.warning(
            "%d of %d sub-trees are held out, and with them %.1f %% of the concepts: a few sub-trees hold most of them; "
            "another depth (subtree_depth) or pattern (subtrees) may split better",
            n_dev + n_test,
            len(roots),
            100 * held_out,
        )
    return _split(terminology, concept_split, _subtrees(hierarchy, drawn[: n_test + n_dev]))


def split_by_concept(
    terminology: Terminology, *, dev: float = 0.1, test: float = 0.1, seed: int = 0, by_source: bool = True
) -> Splits:
    """Hold out random concepts with all their strings.

    Strings are separated as in :func:`split_by_subtree`. Concepts without a name stay in train.

    Args:
        dev: Share of the concepts held out for dev.
        test: Share of the concepts held out for test.
        by_source: Whether to split each source separately, so the splits have the same mix of sources; a concept
            counts for the alphabetically first source of its names.
        seed: Random seed, from 0 on.

    Raises:
        InputError: No terminology, shares or a seed out of range, too few concepts, or an empty split.
    """
    check_instance("terminology", terminology, Terminology)
    _check_shares(dev, test)
    check_integer("seed", seed, 0)
    first = np.zeros(terminology.n_concepts, dtype=np.int64)
    if by_source:
        column = terminology.terms["source"].unify_dictionaries().combine_chunks()
        rank = np.argsort(np.argsort(np.array(column.dictionary.to_pylist(), dtype=object)))
        first[:] = len(rank)
        np.minimum.at(first, terminology.terms["concept"].to_numpy(), rank[column.indices.to_numpy()])
    rng = np.random.default_rng(seed)
    concept_split = np.zeros(terminology.n_concepts, dtype=np.int8)
    for source in np.unique(first[terminology.has_name]):
        drawn = rng.permutation(np.flatnonzero(terminology.has_name & (first == source)))
        n_dev, n_test = round(dev * len(drawn)), round(test * len(drawn))
        concept_split[drawn[n_test : n_test + n_dev]] = DEV
        concept_split[drawn[:n_test]] = TEST
    if not all((concept_split == side).any() for side in (TRAIN, DEV, TEST)):
        raise InputError(f"{terminology.n_concepts} concepts are too few for dev {dev:.3g} and test {test:.3g}")
    return _split(terminology, concept_split, np.full(terminology.n_concepts, -1, dtype=np.int32))


def without_benchmark(
    terminology: Terminology,
    *,
    codes: Iterable[str] = (),
    names: Iterable[str] = (),
    normalizer: str = "lower",
) -> Terminology:
    """The terminology without any concept of a benchmark, for true zero-shot figures.

    Args:
        codes: Codes of the benchmark's concepts, also those that a merge replaced; unknown codes are ignored.
        names: The benchmark's names and mentions: a concept with one of them is removed.
        normalizer: Normalizer of the names on both sides before comparison.

    Raises:
        InputError: An unknown normalizer, one string in place of codes or names, or no concept is left.
    """
    check_several("codes", codes)
    check_several("names", names)
    held_out = pa.array(terminology.present_codes(codes), pa.string())
    is_removed = pc.is_in(terminology.concepts["code"], value_set=held_out).to_numpy().copy()
    wanted = normalize(pa.array(list(names), pa.string()), normalizer)
    texts = normalize(terminology.texts["text"].combine_chunks(), normalizer)
    named = pc.is_in(texts, value_set=wanted).to_numpy(zero_copy_only=False)
    is_removed[terminology.terms["concept"].to_numpy()[named[terminology.terms["text"].to_numpy()]]] = True
    return terminology.subset(~is_removed)


def _check_shares(dev: float, test: float) -> None:
    for name, share in (("dev", dev), ("test", test)):
        check_number(name, share)
    if not (dev > 0 and test > 0 and dev + test < 1):
        raise InputError(f"dev and test must be positive and leave a share to train, found {dev} and {test}")


def _number(part: float, n_roots: int, name: str) -> int:
    """The number of roots that a share or a number of them is."""
    check_number(name, part)
    if part < 0 or (part > 1 and part != round(part)):
        raise InputError(f"{name} must be a share of the sub-trees or a whole number of them, found {part}")
    return round(part) if part >= 1 else round(part * n_roots)


def _given_roots(terminology: Terminology, roots: np.ndarray, codes: Sequence[str]) -> np.ndarray:
    """The concepts of given roots, int64 ``[G]``."""
    concept_of = {terminology.codes[root]: root for root in roots.tolist()}
    for place, code in enumerate(codes):
        if code not in concept_of:
            raise InputError(f"test_roots: {code!r} is none of the {len(roots)} roots of sub-trees")
        if code in codes[:place]:
            raise InputError(f"test_roots: {code!r} is given twice")
    return np.array([concept_of[code] for code in codes], dtype=np.int64)


def _split(terminology: Terminology, concept_split: np.ndarray, subtree: np.ndarray) -> Splits:
    """The three terminologies; a string goes where it is held out most."""
    concept, text = (terminology.terms[column].to_numpy() for column in ("concept", "text"))
    side = concept_split[concept]
    string = numbers_of_names(terminology)[text]
    latest = np.zeros(len(string), dtype=np.int8)
    np.maximum.at(latest, string, side)
    kept = side == latest[string]
    tally = Tally()
    tally.read(len(kept))
    tally.keep(int(kept.sum()))
    for own_part, other_part in ((TRAIN, DEV), (TRAIN, TEST), (DEV, TEST)):
        lost = ~kept & (side == own_part) & (latest[string] == other_part)
        tally.drop(f"{_NAMES[own_part]} names that are names in {_NAMES[other_part]} too", int(lost.sum()))
    text_split = np.full(terminology.n_texts, -1, dtype=np.int8)
    text_split[text[kept]] = side[kept]
    text_subtree = np.full(terminology.n_texts, -1, dtype=np.int32)
    text_subtree[text[kept]] = subtree[concept[kept]]
    parts = []
    for at in (TRAIN, DEV, TEST):
        if not (kept & (side == at)).any():
            raise InputError(f"no string is left in {_NAMES[at]}: choose other shares, sub-trees or another seed")
        parts.append(terminology.subset(concept_split == at, texts=text_split == at))
    train_part, dev_part, test_part = parts
    return Splits(train_part, dev_part, test_part, concept_split, text_split, text_subtree, tally)


def _subtrees(hierarchy: Hierarchy, roots: np.ndarray) -> np.ndarray:
    """Index of the nearest root above each concept, or of itself, int32 ``[C]``; -1 below none."""
    number = np.full(hierarchy.terminology.n_concepts, -1, dtype=np.int32)
    number[roots] = np.arange(len(roots))
    while len(roots):
        parent, child = hierarchy.children.take(roots)
        is_new = number[child] < 0
        child, of_parent = child[is_new], number[roots[parent[is_new]]]
        number[child] = of_parent
        roots = np.unique(child)
    return number


def _roots(hierarchy: Hierarchy, depth: int | None, pattern: str | None) -> np.ndarray:
    """The concepts whose sub-trees are drawn, sorted."""
    if (depth is None) == (pattern is None):
        raise InputError(f"give either depth or pattern, found depth={depth} and pattern={pattern!r}")
    if pattern is not None:
        try:
            matches = re.compile(pattern).fullmatch
        except re.error as error:
            raise InputError(f"pattern {pattern!r} is not a regular expression: {error}") from error
        return np.array([c for c, code in enumerate(hierarchy.terminology.codes) if matches(code)], dtype=np.int64)
    return np.flatnonzero(hierarchy.depth == depth)
