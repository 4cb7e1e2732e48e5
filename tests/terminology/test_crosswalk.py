"""Which concepts become one, which links are left out, and that both are independent of any order."""

from __future__ import annotations

import itertools

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Parent, Record, SourceInfo, Term, Type, Xref
from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk


def terminology(prefix: str, names: dict[str, list[str]], *more: Record) -> Terminology:
    """Concepts ``prefix:key`` with their names."""
    terms = [
        Term(f"{prefix}:{key}", text, "synonym" if i else "preferred")
        for key, texts in names.items()
        for i, text in enumerate(texts)
    ]
    return Terminology.from_records([*terms, *more], SourceInfo(prefix, prefix))


A = terminology(
    "A",
    {"1": ["flumpa"], "2": ["terkia", "Zorva"], "3": ["mimpa"], "4": ["quila"]},
    Xref("A:1", "B:1"),
    Xref("A:2", "B:2", "exactMatch"),
    Xref("A:3", "B:3"),
    Xref("A:4", "B:3"),
    Xref("A:4", "Z:9"),
    Xref("A:1", "A:2", "broadMatch"),
    Parent("A:2", "A:1"),
    Type("A:1", "disorder"),
)
B = terminology("B", {"1": ["flumpa disease"], "2": ["ZORVA"], "3": ["mimpa"], "5": ["Terkia"]}, Parent("B:5", "B:1"))


def test_a_link_holds_where_both_ends_have_no_other():
    """Catches two concepts of one source united because both are mapped to a third."""
    walk = Crosswalk.between(A, B, predicates=["xref"])
    assert walk.codes == {"B:1": "A:1"}
    assert [conflict[:2] for conflict in walk.conflicts] == [("A:3", "B:3"), ("A:4", "B:3")]
    assert (walk.tally.n_read, walk.tally.n_kept, walk.tally.n_dropped) == (3, 1, 2)
    assert walk.tally.adds_up()


def test_the_earlier_terminology_gives_the_code():
    assert Crosswalk.between(B, A, predicates=["xref"]).codes == {"A:1": "B:1"}


def test_only_the_predicates_that_are_named_are_followed():
    """Catches broader matches taken for equal ones."""
    assert Crosswalk.between(A, B, predicates=["exactMatch"]).codes == {"B:2": "A:2"}
    assert Crosswalk.between(A, B).codes == {}
    with pytest.raises(InputError, match=r"no cross-reference has predicate 'closeMatch'; there are \['broadMatch'"):
        Crosswalk.between(A, B, predicates=["closeMatch"])


def test_concepts_are_united_over_a_code_that_nobody_has():
    """Catches ontologies left apart without a license for what both refer to, and a third concept's claim overheard."""
    hub = terminology(
        "C",
        {"1": ["flumpa"], "2": ["mimpa"], "3": ["quila"]},
        Xref("C:1", "A:1"),
        Xref("C:2", "Z:9"),
        Xref("C:3", "Z:7"),
        Xref("C:3", "Z:8"),
    )
    more = terminology("D", {"1": ["x"], "2": ["y"]}, Xref("D:1", "Z:8"), Xref("D:2", "Z:6"))
    assert Crosswalk.between(A, hub, more, predicates=["xref"]).codes == {"C:1": "A:1"}
    walk = Crosswalk.between(A, hub, more, predicates=["xref"], through=["Z"])
    assert walk.codes == {"C:1": "A:1", "C:2": "A:4"}
    assert [conflict[:2] for conflict in walk.conflicts] == [("C:3", "Z:7"), ("C:3", "Z:8")]
    assert walk.tally.dropped["links to a code that nothing else here is linked to"] == 2
    assert walk.tally.adds_up()
    with pytest.raises(InputError, match=r"leads to 'Q'; they lead to \['A', 'B', 'Z'\]"):
        Crosswalk.between(A, hub, predicates=["xref"], through=["Q"])


def test_equal_names_link_where_they_are_no_one_elses():
    """Catches a normalizer that is not applied, and an ambiguous name taken as evidence."""
    assert Crosswalk.between(A, B, same_name="none").codes == {"B:3": "A:3"}
    lower = Crosswalk.between(A, B, same_name="lower")
    assert lower.codes == {"B:3": "A:3"}
    assert [conflict[:2] for conflict in lower.conflicts] == [("A:2", "B:2"), ("A:2", "B:5")]
    twice = terminology("B", {"1": ["flumpa"], "2": ["flumpa"]})
    assert Crosswalk.between(A, twice, same_name="none").codes == {}


def test_three_terminologies_unite_two_of_one_source_nowhere():
    """Catches what is only wrong over a third terminology: A:1 = B:1 = C:1 = A:2."""
    a = terminology("A", {"1": ["a"], "2": ["b"], "3": ["c"]}, Xref("A:1", "B:1"), Xref("A:3", "B:3"))
    b = terminology("B", {"1": ["d"], "3": ["e"]}, Xref("B:1", "C:1"), Xref("B:3", "C:3"))
    c = terminology("C", {"1": ["f"], "3": ["g"]}, Xref("C:1", "A:2"))
    for order in itertools.permutations([a, b, c]):
        walk = Crosswalk.between(*order, predicates=["xref"])
        first = {code: code for part in order for code in part.codes}
        kept = next(code for code in first if code.endswith("3"))
        assert set(walk.codes.values()) == {kept}
        assert {*walk.codes, kept} == {"A:3", "B:3", "C:3"}
        assert len(walk.conflicts) == 3
        assert {reason for _, _, reason in walk.conflicts} == {"two concepts of one source would become one"}


def test_merging_by_a_crosswalk_moves_names_parents_and_types():
    """Catches a concept renamed in one table and not in another."""
    walk = Crosswalk.between(A, B, predicates=["xref"])
    merged = walk.merge(A, B)
    assert merged.tallies["crosswalk"] == walk.tally and merged.tallies["crosswalk"].n_read
    assert merged.concept_names("A:1") == ["flumpa", "flumpa disease"]
    assert "B:1" not in merged.codes
    parents = {(merged.codes[r["child"]], merged.codes[r["parent"]]) for r in merged.parents.to_pylist()}
    assert parents == {("A:2", "A:1"), ("B:5", "A:1")}
    assert merged.digest == Terminology.merge(B, A, codes={"B:1": "A:1"}).digest


def test_preferred_names_alone_link_where_asked_for():
    """Catches a synonym that is another concept's name taken as evidence: zorva, a synonym of A:2, names B:2."""
    walk = Crosswalk.between(A, B, same_name="lower", preferred=True)
    assert walk.codes == {"B:3": "A:3", "B:5": "A:2"}
    assert walk.conflicts == []


def test_equal_names_of_two_languages_link_nothing():
    """Catches a present taken for a poison, and one language whose names no longer link."""
    english, german = (
        Terminology.from_records(
            [Term(f"{prefix}:1", "gift", "preferred", language=language)], SourceInfo(prefix, prefix)
        )
        for prefix, language in (("A", "en"), ("B", "de"))
    )
    assert Crosswalk.between(english, german, same_name="lower").codes == {}
    also = Terminology.from_records([Term("C:1", "Gift", "preferred", language="de")], SourceInfo("C", "C"))
    assert Crosswalk.between(english, german, also, same_name="lower").codes == {"C:1": "B:1"}


def test_names_of_a_source_link_nothing_where_asked_for():
    """Catches a title that depends on the code above and is taken for a name: B would be one with A and with C."""
    c = terminology("C", {"1": ["mimpa"]})
    walk = Crosswalk.between(A, B, c, same_name="lower", by_name=[True, False, True])
    assert walk.codes == {"C:1": "A:3"}
    with pytest.raises(InputError, match="by_name must have an entry for each of 2, found 1"):
        Crosswalk.between(A, B, same_name="lower", by_name=[False])


def test_a_cross_reference_is_stronger_than_an_equal_name():
    """Catches a link of the source that fails because a name leads elsewhere."""
    walk = Crosswalk.between(A, B, predicates=["exactMatch"], same_name="lower")
    assert walk.codes == {"B:2": "A:2", "B:3": "A:3"}
    assert walk.tally.dropped["equal names of concepts that cross-references link otherwise"] == 1
    assert walk.tally.adds_up()


def test_links_lead_to_the_same_in_two_steps_as_in_one():
    """Catches codes that a merge replaced and forgot: a later link to one was dropped, and joined two concepts of a source."""
    a = terminology("A", {"1": ["a"], "2": ["b"]}, Xref("A:1", "B:1"))
    b = terminology("B", {"1": ["c"], "2": ["d"]})
    c = terminology("C", {"1": ["e"], "2": ["f"]}, Xref("C:1", "B:1"))
    both = Crosswalk.between(a, b, predicates=["xref"]).merge(a, b)
    assert both.concept("B:1") == both.concept("A:1")
    assert Crosswalk.between(both, c, predicates=["xref"]).codes == {"C:1": "A:1"}
    assert Crosswalk.between(both, b).codes == {"B:1": "A:1"}
    rival = terminology("C", {"1": ["e"]}, Xref("C:1", "A:1"), Xref("C:1", "B:2"))
    for parts in ((a, b, rival), (both, rival)):
        walk = Crosswalk.between(*parts, predicates=["xref"])
        assert "C:1" not in walk.codes
        assert ("B:2", "C:1", "two concepts of one source would become one") in walk.conflicts
