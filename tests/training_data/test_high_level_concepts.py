"""High-level concepts: the paper's reductions in the paper's order, its counts, and a naive walk over random graphs."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, Record, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import child_concepts, top_concepts
from st_biomed.training_data.high_level_concepts import NameCounts


def made(*edges: str, extra: tuple[Record, ...] = ()) -> Terminology:
    """``"b<a"``: b lies below a. Every concept is named after its code."""
    pairs = [tuple(edge.split("<")) for edge in edges]
    terms = [Term(f"X:{code}", f"name {code}") for code in sorted({code for pair in pairs for code in pair})]
    parents = [Parent(f"X:{child}", f"X:{parent}") for child, parent in pairs]
    return Terminology.from_records([*terms, *parents, *extra], SourceInfo("X", "X"))


CHAPTERS = made("b1<A", "c1<b1", "c2<b1", "b2<A", "d1<D", "d2<D", extra=(Term("X:c1", "other", "synonym"),))


def test_a_chapter_has_the_names_of_its_leaves():
    """Catches names of blocks, of the chapter itself, and synonyms among the reference names."""
    found = top_concepts(CHAPTERS)
    assert dict(found) == {"X:A": ("name b2", "name c1", "name c2"), "X:D": ("name d1", "name d2")}
    assert found.titles == {"X:A": "name A", "X:D": "name D"}


def test_all_codes_and_all_names():
    found = top_concepts(Hierarchy(CHAPTERS), names="all", codes="all")
    assert found["X:A"] == ("name b1", "name b2", "name c1", "name c2", "other")


def test_the_counts_are_those_of_the_paper_by_hand():
    """Sample deviation: catches a division by the number of concepts, which the paper's 8,693 excludes."""
    counts = NameCounts.of([2, 3, 7])
    assert counts == NameCounts(3, 12, 2, 4.0, 7, pytest.approx(math.sqrt((4 + 1 + 9) / 2)))
    assert NameCounts.of([5]).deviation == 0 and NameCounts.of([]).names == 0


def test_a_child_that_is_a_parent_of_a_child_goes():
    """Of a chain of three both upper ones, whichever is looked at first; a grandparent alone stays."""
    edges = ["a<R", "b<R", "c<R", "b<a", "c<b", "d<R", "e<d", "f<e", "f<R", "x<c", "y<d", "z<f"]
    found = child_concepts(made(*edges), "X:R")
    assert found.redundant == ("X:a", "X:b")
    assert dict(found).keys() == {"X:c", "X:d", "X:f"}


def shared_names() -> Terminology:
    """P: 4 names, of which Q has 3; Q: 4; S: 2 of its own."""
    edges = ["P<R", "Q<R", "S<R", "p<P", "q<Q", "s1<S", "s2<S"]
    both = [f"{i}<{parent}" for i in "123" for parent in "PQ"]
    return made(*edges, *both)


def test_the_largest_are_chosen_before_ambiguous_names_are_dropped():
    """The other order would keep S, with two names of its own against one."""
    found = child_concepts(shared_names(), "X:R", largest=2)
    assert dict(found) == {"X:P": ("name p",), "X:Q": ("name q",)}
    assert found.ambiguous == 3 and found.smaller == ("X:S",)
    assert found.counts_with_ambiguous == NameCounts(2, 8, 4, 4.0, 4, 0.0)
    assert found.counts == NameCounts(2, 2, 1, 1.0, 1, 0.0)


def test_a_name_shared_with_a_concept_that_is_not_chosen_stays():
    """Ambiguous is who belongs to several of the chosen concepts."""
    terminology = made("A<R", "B<R", "C<R", "a1<A", "a2<A", "x<A", "b1<B", "b2<B", "c1<C", "x<C")
    assert child_concepts(terminology, "X:R", largest=2)["X:A"] == ("name a1", "name a2", "name x")
    assert child_concepts(terminology, "X:R", largest=None)["X:A"] == ("name a1", "name a2")


def test_of_equally_large_concepts_the_first_codes_are_kept():
    terminology = made(*[f"{c}<R" for c in "abcd"], *[f"{c}1<{c}" for c in "abcd"], "d2<d")
    assert list(child_concepts(terminology, "X:R", largest=3)) == ["X:a", "X:b", "X:d"]


def test_names_that_differ_in_case_alone_are_one():
    """Under one concept the first is kept; under two it is ambiguous."""
    extra = (Term("X:a1", "Flu"), Term("X:a2", "flu"), Term("X:b1", "Gout"), Term("X:c1", "gout"))
    terminology = made("a1<A", "a2<A", "b1<B", "c1<C", "b2<B", "c2<C", extra=extra)
    found = top_concepts(terminology, names="all")
    assert found["X:A"] == ("Flu", "name a1", "name a2")
    assert found["X:B"] == ("name b1", "name b2") and found.ambiguous == 1


def test_children_without_names_below_are_left_out():
    found = child_concepts(made("A<R", "B<R", "C<R", "a<A", "b<B"), "X:R")
    assert list(found) == ["X:A", "X:B"] and found.smaller == ("X:C",)


def test_it_prints_as_a_table():
    lines = str(child_concepts(shared_names(), "X:R", largest=2)).splitlines()
    assert lines[0].split() == ["concepts", "names", "min", "mean", "max", "stdev"]
    assert lines[2].split() == ["+", "ambiguous", "2", "8", "4", "4", "4", "0"]
    assert lines[3] == "3 ambiguous names dropped; left out: 0 parents of other children, 1 smaller concepts"


@pytest.mark.parametrize("seed", range(8))
def test_a_naive_walk_gives_the_same(seed):
    """On random graphs whose concepts have several parents and share names."""
    rng = np.random.default_rng(seed)
    edges = {(child, int(rng.integers(0, child))) for child in range(1, 40) for _ in range(2)}
    words = {code: {f"w{rng.integers(60)}" for _ in range(2)} for code in range(40)}
    records = [Term(f"X:{code:02}", word) for code, of_code in words.items() for word in sorted(of_code)]
    records += [Parent(f"X:{child:02}", f"X:{parent:02}") for child, parent in edges]
    children = [c for c, p in edges if p == 0]
    chosen = sorted(c for c in set(children) if not any((other, c) in edges for other in children))

    def below(code: int) -> set[int]:
        return {child for child, parent in edges if parent == code} | {
            deeper for child, parent in edges if parent == code for deeper in below(child)
        }

    names = {c: {word for d in below(c) for word in words[d]} for c in chosen}
    kept = sorted(sorted((c for c in chosen if names[c]), key=lambda c: (-len(names[c]), c))[:4])
    expected = {
        f"X:{c:02}": tuple(sorted(w for w in names[c] if not any(w in names[o] for o in kept if o != c))) for c in kept
    }
    terminology = Terminology.from_records(records, SourceInfo("X", "X"))
    if len(kept) < 2:
        with pytest.raises(InputError, match="at least two children"):
            child_concepts(terminology, "X:00", largest=4, names="all")
    else:
        assert dict(child_concepts(terminology, "X:00", largest=4, names="all")) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: top_concepts(made("a<R", "b<R")),
            "at least two roots, found one, X:R: take its child_concepts",
        ),
        (lambda: child_concepts(CHAPTERS, "X:nothing"), "no concept has code 'X:nothing'"),
        (
            lambda: child_concepts(CHAPTERS, "X:c1"),
            "X:c1: must have at least two children with names below them, found 0",
        ),
        (
            lambda: child_concepts(CHAPTERS, "X:A", largest=1),
            "largest must be an integer of at least 2 or None, found 1",
        ),
        (
            lambda: top_concepts(CHAPTERS, names="reference"),
            "unknown names 'reference': allowed are 'all', 'preferred'",
        ),
        (lambda: top_concepts(CHAPTERS, codes="leaf"), "unknown codes 'leaf': .*did you mean 'leaves'"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_terminology_without_parents_has_no_tops():
    with pytest.raises(InputError, match="at least two roots, found none"):
        top_concepts(Terminology.from_records([Term("X:a", "a"), Term("X:b", "b")], SourceInfo("X", "X")))


@pytest.mark.realdata
def test_chapters_of_icd_10_cm_have_the_counts_of_table_2(realdata: Path):
    """2018 edition in the paper: 21, 247, 3,414, 40,519, 8,693; here that of 2019."""
    with gzip.open(realdata / "hierarchies" / "icd10cm2019.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    codes = {row["code"] for row in rows}
    records: list[Record] = []
    for row in rows:
        code = row["code"]
        above = next(
            (code[:end] for end in range(len(code) - 1, 2, -1) if code[:end] in codes), "chapter " + row["chapter"]
        )
        records += [Term(f"X:{code}", row["long_desc"]), Parent(f"X:{code}", f"X:{above}")]
    records += [Term(f"X:chapter {name}", name) for name in {row["chapter"] for row in rows}]
    counts = top_concepts(Terminology.from_records(records, SourceInfo("X", "X"))).counts
    assert (counts.concepts, counts.least, counts.most) == (21, 247, 40_570)
    assert counts.mean == pytest.approx(3425.3, abs=0.1) and counts.deviation == pytest.approx(8699.2, abs=0.1)


def test_concepts_are_left_out_before_names_are_ambiguous():
    """Catches a chapter that is only left out of the mapping, and a code that is silently no concept."""
    assert set(top_concepts(made("a<A", "b<B", "c<C"), leave_out=["X:B"])) == {"X:A", "X:C"}
    terminology = made("A<R", "B<R", "C<R", "a1<A", "a2<A", "x<A", "b1<B", "b2<B", "c1<C", "x<C")
    found = child_concepts(terminology, "X:R", leave_out=["X:C"])
    assert found["X:A"] == ("name a1", "name a2", "name x") and found.ambiguous == 0
    assert found.counts == found.counts_with_ambiguous
    with pytest.raises(InputError, match="unknown leave_out 'X:a1': allowed are 'X:A', 'X:B', 'X:C'"):
        child_concepts(terminology, "X:R", leave_out=["X:a1"])


def test_names_of_two_concepts_are_those_that_few_shot_sets_see() -> None:
    """Catches Arrow's lower case, by which a final sigma is another letter than the capital one."""
    found = top_concepts(
        made(
            "a1<A", "a2<A", "b1<B", "b2<B", extra=(Term("X:a1", "ΝΟΣΟΣ", "synonym"), Term("X:b1", "νοσος", "synonym"))
        ),
        names="all",
    )
    assert found.ambiguous == 1 and not {"ΝΟΣΟΣ", "νοσος"} & {name for names in found.values() for name in names}
