"""Relations that are measured and not trained on."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Relation, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import draw_related, without_relations, without_relations_of


def related(*triples: tuple[str, int, str, int]) -> Terminology:
    """Five concepts, and relations of sources between their numbers."""
    sources = [SourceInfo(name, name) for name in ("X", "A", "B")]
    terms = [Term(f"X:{i}", f"flumpa {i}", source="X") for i in range(5)]
    relations = [Relation(f"X:{head}", name, f"X:{tail}", source) for source, head, name, tail in triples]
    return Terminology.from_records([*sources, *terms, *relations], sources[0])


def left(terminology: Terminology) -> set[tuple[str, int, int]]:
    table = terminology.relations
    return set(zip(*(table[column].to_pylist() for column in ("source", "head", "tail"))))


def test_pairs_of_a_held_out_source_go_in_both_directions_and_of_every_source():
    """Catches a measured pair that is trained on because another source, or the inverse relation, has it, too."""
    whole = related(("A", 0, "treats", 1), ("B", 0, "may_treat", 1), ("B", 1, "treated_by", 0), ("B", 0, "treats", 2))
    train = without_relations(whole, ["A"])
    assert left(train) == {("B", 0, 2)}
    assert train.tallies["held-out relations"].adds_up()
    assert (train.n_concepts, train.n_texts) == (whole.n_concepts, whole.n_texts)
    assert train.digest != whole.digest


def test_a_source_without_relations_changes_nothing():
    whole = related(("A", 0, "treats", 1))
    assert left(without_relations(whole, ["C"])) == left(whole)
    assert without_relations(whole, ["C"]).digest == whole.digest


def test_no_relation_of_a_held_out_concept_is_left():
    """Catches a pair that is trained on because only one of its concepts is held out."""
    whole = related(("A", 0, "treats", 1), ("A", 2, "treats", 0), ("B", 2, "treats", 3), ("B", 3, "may_treat", 4))
    train = without_relations_of(whole, ["X:0", "X:4", "Y:9"])
    assert left(train) == {("B", 2, 3)}
    assert train.tallies["held-out relations"].dropped == {"relations of held-out concepts": 3}
    assert (train.strings, train.n_concepts) == (whole.strings, whole.n_concepts)
    assert without_relations_of(whole, []).digest == whole.digest


@pytest.mark.parametrize(("hold_out", "name"), [(without_relations, "sources"), (without_relations_of, "codes")])
def test_one_string_in_place_of_several_is_refused(hold_out, name: str):
    """Catches letters for names: nothing would be held out."""
    with pytest.raises(InputError, match=f"^{name}: expected a list of strings, found 'A'"):
        hold_out(related(("A", 0, "treats", 1)), "A")


def test_a_code_that_a_merge_replaced_is_held_out():
    """Catches a relation that is trained on because its concept has another code after a merge."""
    whole = related(("A", 0, "treats", 1), ("A", 2, "treats", 3))
    merged = Terminology.merge(whole, codes={"X:0": "X:4"})
    assert without_relations_of(merged, ["X:0"]).digest == without_relations_of(merged, ["X:4"]).digest
    assert without_relations_of(merged, ["X:0"]).relations.num_rows == 1


def test_drawn_concepts_are_those_of_as_many_relations():
    whole = related(("A", 0, "treats", 1), ("A", 2, "treats", 3))
    assert draw_related(whole, 1, seed=0) in (["X:0", "X:1"], ["X:2", "X:3"])
    assert {tuple(draw_related(whole, 1, seed=seed)) for seed in range(20)} == {("X:0", "X:1"), ("X:2", "X:3")}
    with pytest.raises(InputError, match="2 relations cannot be held out: the training terminology has 2"):
        draw_related(whole, 2)
    chained = related(("A", 0, "treats", 1), ("A", 1, "treats", 3), ("A", 0, "treats", 3))
    with pytest.raises(InputError, match="1 relations cannot be held out: all 3 have one of their concepts"):
        draw_related(chained, 1)
    with pytest.raises(InputError, match="n must be an integer of at least 0, found -1"):
        draw_related(whole, -1)
    with pytest.raises(InputError, match="seed must be an integer of at least 0, found -1"):
        draw_related(whole, 1, seed=-1)
