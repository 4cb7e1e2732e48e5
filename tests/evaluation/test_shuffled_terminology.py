"""The control of the open encoder."""

from __future__ import annotations

from collections import Counter

from evaluation.shuffled_terminology import shuffled
from st_biomed.terminology import Terminology


def test_a_shuffled_terminology_has_the_same_strings_and_structure_and_other_meanings():
    terminology = Terminology.read("toy", definitions=True)
    control = shuffled(terminology, 0)
    assert control.strings == terminology.strings
    assert control.parents.equals(terminology.parents) and control.relations.equals(terminology.relations)
    assert names_per_concept(control) == names_per_concept(terminology)
    assert sorted(control.definitions["text"].to_pylist()) == sorted(terminology.definitions["text"].to_pylist())
    for table, most in (("terms", 0.05), ("definitions", 0.2)):
        kept = pairs(control, table) & pairs(terminology, table)
        assert len(kept) < most * len(pairs(terminology, table))
    assert shuffled(terminology, 0).digest == control.digest != shuffled(terminology, 1).digest


def names_per_concept(terminology: Terminology) -> Counter[int]:
    return Counter(terminology.terms["concept"].to_pylist())


def pairs(terminology: Terminology, table: str) -> set[tuple]:
    columns = terminology.tables[table]
    return set(zip(columns["concept"].to_pylist(), columns["text"].to_pylist()))
