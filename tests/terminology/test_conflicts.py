"""What the report of a union says of equal names, names equal but for case, cycles and links."""

from __future__ import annotations

import random

import pytest

from st_biomed.records import Parent, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.conflicts import (
    _first_uses,
    _Use,
    cycles,
    equal_but_for_case,
    equal_names,
    links_that_do_not_hold,
)
from st_biomed.terminology.normalization import normalized
from tests.terminology.test_union import CLOSED, OPEN, A, B, C, terminology


def test_equal_names_are_counted_by_pair_and_shown_where_both_are_open() -> None:
    """Catches a closed source's name in a report that is shown around."""
    report = equal_names(Terminology.merge(A, B, C))
    assert report == {
        "names": 1,
        "pairs": [
            {"sources": ["A", "B"], "names": 1, "examples": [{"names": ["mimpa"], "concepts": ["A:3", "B:4"]}]},
            {"sources": ["A", "C"], "names": 1},
            {"sources": ["B", "C"], "names": 1},
        ],
    }


@pytest.mark.parametrize("seed", range(20))
def test_few_uses_of_a_name_give_the_report_of_all_pairs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a pair of sources, or an example, that only a third concept or another text of a name shows."""
    draw, sources = random.Random(seed), [*OPEN.values(), CLOSED]
    texts = ("zorb", "Zorb", "ZORB", "flumpa", "Flumpa")
    terms = [
        Term(f"A:{draw.randrange(5)}", draw.choice(texts), "synonym", source=draw.choice("ABC"))
        for _ in range(draw.randrange(2, 40))
    ]
    made = Terminology.from_records([*sources, *terms], sources[0])
    found = equal_names(made), equal_but_for_case(made)
    monkeypatch.setattr("st_biomed.terminology.conflicts._first_uses", list)
    assert found == (equal_names(made), equal_but_for_case(made))


def test_a_name_of_many_concepts_needs_two_of_each_source() -> None:
    """Catches the pairs of all concepts of a name, whose number grows with the square of theirs."""
    uses = [_Use(0, concept, source) for source in "AB" for concept in range(1000)]
    assert _first_uses(uses) == [_Use(0, concept, source) for source in "AB" for concept in (0, 1)]


def test_names_equal_but_for_case_are_counted_within_and_between_concepts() -> None:
    """Catches equal texts counted as differing in case, and variants of one concept taken for a conflict."""
    report = equal_but_for_case(Terminology.merge(A, B, C))
    assert (report["names"], report["too many"], report["in different concepts"]) == (7, 4, 3)
    assert [(pair["sources"], pair["names"]) for pair in report["pairs"]] == [(["A", "B"], 2), (["B", "C"], 1)]
    assert report["pairs"][0]["examples"] == [
        {"names": ["Flumpa", "FLUMPA"], "concepts": ["A:1", "B:1"]},
        {"names": ["terkia", "Terkia"], "concepts": ["A:2", "B:3"]},
    ]
    assert "examples" not in report["pairs"][1]
    assert equal_but_for_case(normalized(A, "lower"))["names"] == 0


def test_equal_texts_of_two_sources_are_no_case_of_case() -> None:
    """Catches sources that agree counted because a third one writes the name otherwise."""
    parts = [terminology(OPEN["A"], {"1": ["Zorb"]}), terminology(OPEN["B"], {"1": ["Zorb"]})]
    report = equal_but_for_case(Terminology.merge(*parts, terminology(CLOSED, {"1": ["zorb"]})))
    assert [pair["sources"] for pair in report["pairs"]] == [["A", "C"], ["B", "C"]]


def test_cycles_are_told_by_the_sources_that_make_them() -> None:
    """Catches a cycle of one source laid at the door of the union."""
    joined = Terminology.merge(A, B, codes={"B:1": "A:1", "B:2": "A:2"})
    assert cycles(joined, 0) == {
        "parents": 2,
        "before": 0,
        "cycles": 1,
        "pairs": [{"sources": ["A", "B"], "cycles": 1, "examples": [["A:1", "A:2"]]}],
    }
    own = terminology(OPEN["A"], {"1": ["a"], "2": ["b"]}, Parent("A:1", "A:2"), Parent("A:2", "A:1"))
    assert cycles(own, 2)["pairs"] == [{"sources": ["A", "A"], "cycles": 1, "examples": [["A:1", "A:2"]]}]


def test_links_are_told_by_pair_and_reason() -> None:
    conflicts = [("A:1", "B:1", "why"), ("B:2", "A:2", "why"), ("A:1", "C:1", "why")]
    assert links_that_do_not_hold(conflicts, {**OPEN, "C": CLOSED}) == [
        {"sources": ["A", "B"], "reason": "why", "links": 2, "examples": [["A:1", "B:1"], ["A:2", "B:2"]]},
        {"sources": ["A", "C"], "reason": "why", "links": 1},
    ]
