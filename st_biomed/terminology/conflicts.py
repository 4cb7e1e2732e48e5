"""Conflicts between the sources of a merged terminology: counts by pair of sources, and redistributable examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from st_biomed.readers._curies import describe
from st_biomed.readers._normalizers import normalize
from st_biomed.records import SourceInfo
from st_biomed.terminology.subset import strong_components
from st_biomed.terminology.terminology import Terminology

N_EXAMPLES = 3
"""Of each pair of sources."""


class _Use(NamedTuple):
    """A name of a concept in one source."""

    text: int
    concept: int
    source: str


class _Pairs:
    """How often two sources meet, and examples where both may be redistributed.

    Args:
        sources: Descriptions by name; a prefix without one counts as what is published of it.
    """

    def __init__(self, sources: Mapping[str, SourceInfo]) -> None:
        self._sources = sources
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._examples: dict[tuple[str, ...], list[Any]] = defaultdict(list)

    def add(self, key: tuple[str, ...], example: Any) -> None:
        """One more of a pair of sources; further parts of the key, a reason, may follow them."""
        self._counts[key] += 1
        examples = self._examples[key]
        if len(examples) < N_EXAMPLES and all(
            (self._sources.get(name) or describe(name)).redistributable for name in key[:2]
        ):
            examples.append(example)

    def to_list(self, what: str, third: str = "") -> list[dict[str, Any]]:
        """One entry for each key, the most frequent first.

        Args:
            third: What the third part of a key is called, where it has one.
        """
        return [
            {
                "sources": list(key[:2]),
                **({third: key[2]} if third else {}),
                what: count,
                **({"examples": self._examples[key]} if self._examples[key] else {}),
            }
            for key, count in sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        ]


def equal_names(terminology: Terminology) -> dict[str, Any]:
    """Names of several concepts, which a loss with a lookup takes for positives of the names of each.

    Returns:
        ``names``: how many; ``pairs``: by the two sources that have a name at different concepts.
    """
    groups = _groups(terminology, np.arange(terminology.n_texts))
    return {"names": len(groups), "pairs": _met(terminology, groups, lambda first, second: True)}


def equal_but_for_case(terminology: Terminology) -> dict[str, Any]:
    """Different texts that are equal in lower case.

    Returns:
        ``names``: how many texts equal another; ``too many``: by how many texts there would be fewer in lower case;
        ``in different concepts``: how many names in lower case have two such texts at different concepts; ``pairs``:
        those by pair of sources.
    """
    folded = normalize(terminology.texts["text"].combine_chunks(), "lower").dictionary_encode()
    key = folded.indices.to_numpy()
    sizes = np.bincount(key)
    # Of several texts at several concepts, two differ in both.
    differing = [group for group in _groups(terminology, key) if len({use.text for use in group}) > 1]
    return {
        "names": int((sizes[key] > 1).sum()),
        "too many": int(len(key) - len(folded.dictionary)),
        "in different concepts": len(differing),
        "pairs": _met(terminology, differing, lambda first, second: first.text != second.text),
    }


def apart_but_for_case(terminology: Terminology) -> int:
    """Number of names that are equal to another in lower case although no concept has both.

    For an encoder that ignores case they are one input. The losses take equal strings of several concepts for neither
    positives nor negatives, and these for negatives. Only columns are compared, so that ten million names take seconds.
    """
    folded = normalize(terminology.texts["text"].combine_chunks(), "lower").dictionary_encode()
    key = folded.indices.to_numpy().astype(np.int64)
    size = np.bincount(key)
    text, concept = (terminology.terms[column].to_numpy().astype(np.int64) for column in ("text", "concept"))
    rows = np.flatnonzero(size[key[text]] > 1)
    text, concept = np.divmod(np.unique(text[rows] * terminology.n_concepts + concept[rows]), terminology.n_concepts)
    named, shared = np.unique(key[text] * terminology.n_concepts + concept, return_counts=True)
    most = np.zeros(len(size), dtype=np.int64)  # texts of a key that one concept has
    np.maximum.at(most, named // terminology.n_concepts, shared)
    return int(size[(size > 1) & (most < size)].sum())


def _groups(terminology: Terminology, key: np.ndarray) -> list[list[_Use]]:
    """The uses of each name that several concepts have; a name is a key of texts, ``[T]``."""
    text, concept = (terminology.terms[column].to_numpy() for column in ("text", "concept"))
    name = key[text]
    pairs = np.unique(np.stack([name, concept], axis=1), axis=0)
    several = np.bincount(pairs[:, 0], minlength=key.max(initial=0) + 1) > 1
    rows = np.flatnonzero(several[name])
    rows = rows[np.argsort(name[rows], kind="stable")]
    sources = terminology.terms["source"].combine_chunks().take(rows).to_pylist()
    found: dict[int, list[_Use]] = defaultdict(list)
    for row, source in zip(rows.tolist(), sources):
        found[int(name[row])].append(_Use(int(text[row]), int(concept[row]), source))
    return list(found.values())


def _met(terminology: Terminology, groups: Iterable[Sequence[_Use]], counts: Any) -> list[dict[str, Any]]:
    """Count each group once per pair of sources that has two uses of different concepts meeting the condition."""
    pairs = _Pairs(terminology.sources)
    for group in groups:
        seen = set()
        for left, right in combinations(_first_uses(group), 2):
            if left.concept == right.concept or not counts(left, right):
                continue
            first, second = sorted((left, right), key=lambda use: (use.source, use.concept))
            if (first.source, second.source) not in seen:
                seen.add((first.source, second.source))
                texts = dict.fromkeys(terminology.strings[use.text] for use in (first, second))
                codes = [terminology.codes[use.concept] for use in (first, second)]
                pairs.add((first.source, second.source), {"names": list(texts), "concepts": codes})
    return pairs.to_list("names")


def _first_uses(group: Iterable[_Use]) -> list[_Use]:
    """The first two concepts of each text in each source, in order.

    Two sources that meet at different concepts meet first at two of these, so that a name of thousands of concepts does
    not need every pair of them.
    """
    concepts: dict[tuple[str, int], set[int]] = defaultdict(set)
    chosen = []
    for use in group:
        known = concepts[use.source, use.text]
        if len(known) < 2 and use.concept not in known:
            known.add(use.concept)
            chosen.append(use)
    return chosen


def links_that_do_not_hold(
    conflicts: Iterable[tuple[str, str, str]], sources: Mapping[str, SourceInfo]
) -> list[dict[str, Any]]:
    """The conflicts of a crosswalk by pair of prefixes and reason.

    Args:
        conflicts: :attr:`~st_biomed.terminology.crosswalk.Crosswalk.conflicts`.
    """
    pairs = _Pairs(sources)
    for code, other_code, reason in conflicts:
        first, second = sorted((code, other_code))
        pairs.add((first.partition(":")[0], second.partition(":")[0], reason), [first, second])
    return pairs.to_list("links", "reason")


def cycles(terminology: Terminology, own: int) -> dict[str, Any]:
    """Parents that contradict each other.

    Args:
        own: How many parents lay on cycles before.

    Returns:
        ``parents``: how many lie on a cycle; ``before``: ``own``; ``cycles``: how many groups of concepts are above one
        another; ``pairs``: groups by the two sources whose parents make them, the same twice where it is one.
    """
    parents = terminology.parents
    child, parent = (parents[end].to_numpy() for end in ("child", "parent"))
    component = strong_components(child, parent, terminology.n_concepts)
    rows = np.flatnonzero(component[child] == component[parent])
    sources = parents["source"].combine_chunks().take(rows).to_pylist()
    cycle_sources: dict[int, set[str]] = defaultdict(set)
    members: dict[int, set[str]] = defaultdict(set)
    for row, source in zip(rows.tolist(), sources):
        group = int(component[child[row]])
        cycle_sources[group].add(source)
        members[group] |= {terminology.codes[child[row]], terminology.codes[parent[row]]}
    pairs = _Pairs(terminology.sources)
    for group, names in cycle_sources.items():
        for pair in combinations(sorted(names), 2) if len(names) > 1 else [(*names, *names)]:
            pairs.add(pair, sorted(members[group]))
    return {"parents": len(rows), "before": own, "cycles": len(cycle_sources), "pairs": pairs.to_list("cycles")}
