"""Relations that are measured and not trained on."""

from __future__ import annotations

from st_biomed.records import Relation, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import without_relations


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
