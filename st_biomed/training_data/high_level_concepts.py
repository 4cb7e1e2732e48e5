"""A few broad concepts with the names of all concepts below them: the training data of a few-shot encoder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from st_biomed.errors import InputError, check_integer, check_name
from st_biomed.hierarchy import Hierarchy
from st_biomed.readers._normalizers import normalize
from st_biomed.terminology import Terminology

N_LARGEST = 21
""""To make this setup directly comparable to our ICD-10 setup, we select the 21 largest concepts" (section 2.3)."""

NAMES = ("preferred", "all")
CODES = ("leaves", "all")


@dataclass(frozen=True, slots=True)
class NameCounts:
    """Statistics of the names of the concepts: a row of the paper's Table 2.

    Attributes:
        names: Total number of names over the concepts.
        least, most: Smallest and largest number of names of a concept.
        mean: Mean number of names per concept.
        deviation: Sample standard deviation (with the number of concepts minus one), as in Table 2; 0 for one concept.
    """

    concepts: int
    names: int
    least: int
    mean: float
    most: int
    deviation: float

    @classmethod
    def of(cls, sizes: Sequence[int]) -> NameCounts:
        """The statistics of concepts with these numbers of names."""
        if not len(sizes):
            return cls(0, 0, 0, 0.0, 0, 0.0)
        deviation = float(np.std(sizes, ddof=1)) if len(sizes) > 1 else 0.0
        return cls(len(sizes), int(sum(sizes)), int(min(sizes)), float(np.mean(sizes)), int(max(sizes)), deviation)


@dataclass(frozen=True, eq=False)
class HighLevelConcepts(Mapping[str, tuple[str, ...]]):
    """Codes of high-level concepts, sorted, each with the names below it, sorted; ``str`` gives the paper's Table 2.

    No name occurs twice under a concept or under two concepts, ignoring case. A name with two spellings by case is
    kept as the first.

    Attributes:
        names: The mapping itself.
        titles: Preferred name of each concept; the code of one without a name.
        counts_with_ambiguous: Statistics of the names before ambiguous names were dropped.
        ambiguous: Number of names dropped because several of the concepts have them.
        redundant: Codes of children left out because they are parents of other children.
        smaller: Codes of concepts left out because they are not among the largest.
    """

    names: Mapping[str, tuple[str, ...]]
    titles: Mapping[str, str]
    counts: NameCounts
    counts_with_ambiguous: NameCounts
    ambiguous: int
    redundant: tuple[str, ...] = field(default=())
    smaller: tuple[str, ...] = field(default=())

    def __getitem__(self, code: str) -> tuple[str, ...]:
        return self.names[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        lines = [f"{'':17}{'concepts':>10}{'names':>10}{'min':>9}{'mean':>9}{'max':>9}{'stdev':>9}"]
        for title, row in (("unambiguous", self.counts), ("+ ambiguous", self.counts_with_ambiguous)):
            lines.append(
                f"{title:17}{row.concepts:>10,}{row.names:>10,}{row.least:>9,}{row.mean:>9,.0f}{row.most:>9,}"
                f"{row.deviation:>9,.0f}"
            )
        left_out = f"{len(self.redundant):,} parents of other children, {len(self.smaller):,} smaller concepts"
        return "\n".join([*lines, f"{self.ambiguous:,} ambiguous names dropped; left out: {left_out}"])


def top_concepts(
    hierarchy: Hierarchy | Terminology,
    *,
    names: str = "preferred",
    codes: str = "leaves",
    leave_out: Collection[str] = (),
) -> HighLevelConcepts:
    """The roots of the trees with the names of the codes below them, e.g. the chapters of ICD-10.

    "We select the 21 chapters as concept labels, and assign the reference name of each code in a chapter to its concept
    label" (Fivez et al. 2021, section 2.3). Its counts (least 247, mean 3,414) are those of leaf codes: the 2019
    edition has 247 and 3,425 of these, and 309 and 4,497 of all codes. The root's own name is not included.

    Args:
        hierarchy: A terminology with parents, or its hierarchy.
        names: ``"preferred"`` for the one reference name of a code, or ``"all"``.
        codes: ``"leaves"`` for codes without children, or ``"all"``.
        leave_out: Codes of roots to leave out, e.g. a chapter with three names.

    Raises:
        InputError: An unknown choice, a code to leave out that is not a root, or fewer than two roots.
    """
    hierarchy = _checked(hierarchy, names, codes)
    tops = _remaining(hierarchy, hierarchy.graph.roots, leave_out)
    if len(tops) < 2:
        found = f"one, {hierarchy.terminology.codes[tops[0]]}: take its child_concepts" if len(tops) else "none"
        raise InputError(f"the terminology must have at least two roots, found {found}")
    return _gathered(hierarchy, tops, names=names, codes=codes)


def child_concepts(
    hierarchy: Hierarchy | Terminology,
    code: str,
    *,
    largest: int | None = N_LARGEST,
    names: str = "preferred",
    codes: str = "all",
    leave_out: Collection[str] = (),
) -> HighLevelConcepts:
    """The direct children of a concept with the names of all concepts below them.

    The paper's steps for SNOMED CT, in its order (section 2.3):

    1. "We then remove those children which are direct parents to other selected children": a child is removed if it is
    a parent of any other child, even if that child is also removed.
    2. Names of all concepts below a child ("the reference terms of all their child concepts"), not of the child itself.
    3. The ``largest`` concepts by these names, including ambiguous names; ties are broken by code.
    4. "Finally, we leave out ambiguous names which belong to multiple concepts" among the selected ones.

    Table 2 gives its statistics after step 4 and, as "+ ambiguous", after step 3. The paper does not state whether the
    reference terms are one or several names of a concept.

    Args:
        hierarchy: A terminology with parents, or its hierarchy.
        code: The parent of the concepts; in the paper C0012634, the parent of all disorders.
        largest: Number of concepts to keep; ``None`` for all. Concepts without names are always left out.
        names: ``"preferred"`` for one reference name of each concept below, or ``"all"``.
        codes: ``"all"`` codes below, or ``"leaves"`` for codes without children.
        leave_out: Codes of children to leave out, after step 1.

    Raises:
        InputError: An unknown code or choice, a code to leave out that is not such a child, or fewer than two children
            with names.
    """
    hierarchy = _checked(hierarchy, names, codes)
    check_integer("largest", largest, 2, or_none=True)
    children = hierarchy.children.row(hierarchy.terminology.concept(code))
    _, below = hierarchy.children.take(children)
    _, above = hierarchy.parents.take(np.intersect1d(children, below))
    redundant = np.intersect1d(children, above)
    chosen = _remaining(hierarchy, np.setdiff1d(children, redundant), leave_out)
    found = _gathered(hierarchy, chosen, names=names, codes=codes, redundant=redundant, largest=largest or len(chosen))
    if len(found) < 2:
        raise InputError(f"{code}: must have at least two children with names below them, found {len(found)}")
    return found


def _checked(hierarchy: Hierarchy | Terminology, names: str, codes: str) -> Hierarchy:
    for argument, value, allowed in (("names", names, NAMES), ("codes", codes, CODES)):
        check_name(argument, value, allowed)
    return hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy(hierarchy)


def _remaining(hierarchy: Hierarchy, concepts: np.ndarray, leave_out: Collection[str]) -> np.ndarray:
    """The concepts but for some, which have to be among them."""
    codes = {hierarchy.terminology.codes[concept] for concept in concepts}
    for code in leave_out:
        check_name("leave_out", code, codes)
    left_out = set(leave_out)
    return np.array([concept for concept in concepts if hierarchy.terminology.codes[concept] not in left_out], int)


def _gathered(
    hierarchy: Hierarchy,
    chosen: np.ndarray,
    *,
    names: str,
    codes: str,
    redundant: np.ndarray | None = None,
    largest: int | None = None,
) -> HighLevelConcepts:
    """Names of the chosen concepts; where ``largest`` is given, of so many of them."""
    terminology = hierarchy.terminology
    lowered = normalize(terminology.texts["text"].combine_chunks(), "lower").dictionary_encode().indices.to_numpy()
    texts = [_texts_below(hierarchy, int(concept), names, codes, lowered) for concept in chosen]
    by_size = sorted(range(len(chosen)), key=lambda i: (-len(texts[i]), i))
    kept = sorted(i for i in by_size[:largest] if len(texts[i]) or largest is None)
    uses = np.bincount(np.concatenate([lowered[texts[i]] for i in kept] or [lowered[:0]]), minlength=1)
    unambiguous = [texts[i][uses[lowered[texts[i]]] == 1] for i in kept]

    def code_of(concepts: Sequence[int] | np.ndarray) -> tuple[str, ...]:
        return tuple(terminology.codes[concept] for concept in concepts)

    kept_codes = code_of(chosen[kept])
    strings, preferred = terminology.strings, terminology.preferred_texts[chosen[kept]]
    return HighLevelConcepts(
        names={code: tuple(strings[t] for t in ids) for code, ids in zip(kept_codes, unambiguous)},
        titles={code: strings[text] if text >= 0 else code for code, text in zip(kept_codes, preferred.tolist())},
        counts=NameCounts.of([len(ids) for ids in unambiguous]),
        counts_with_ambiguous=NameCounts.of([len(texts[i]) for i in kept]),
        ambiguous=int((uses > 1).sum()),
        redundant=code_of([] if redundant is None else redundant),
        smaller=code_of(np.delete(chosen, kept)),
    )


def _texts_below(hierarchy: Hierarchy, concept: int, names: str, codes: str, lowered: np.ndarray) -> np.ndarray:
    """Text ids of the names below a concept, sorted, of those that differ in case alone the first."""
    below = np.flatnonzero(hierarchy.children.reach(np.array([concept])))
    if codes == "leaves":
        below = below[hierarchy.children.counts[below] == 0]
    terminology = hierarchy.terminology
    below = below[terminology.has_name[below]]
    texts = terminology.preferred_texts[below] if names == "preferred" else terminology.concept_texts.take(below)[1]
    texts = np.unique(texts)
    _, first = np.unique(lowered[texts], return_index=True)
    return texts[np.sort(first)]
