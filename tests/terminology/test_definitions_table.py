"""Definitions of concepts: rows of their own, which are no names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from st_biomed.records import Definition, Record, Rows, SourceInfo, Term, single_spaced
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
OTHER = SourceInfo("O", "Other", license="secret")

NAMES: list[Record] = [
    Term("S:2", "zorb"),
    Term("S:2", "zorbo", "synonym", "it"),
    Term("S:1", "flumpa"),
    Term("S:3", "mimp"),
    OTHER,
]
DEFINITIONS: list[Record] = [
    Definition("S:3", "What a mimp is."),
    Definition("S:1", "Which a flumpa is."),
    Definition("S:1", "A flumpa is this.", source="O"),
    Definition("S:1", "Una flumpa.", "it"),
]


@pytest.fixture
def defined() -> Terminology:
    return Terminology.from_records(NAMES + DEFINITIONS, SOURCE)


def rows(terminology: Terminology) -> list[tuple[str, ...]]:
    codes = terminology.codes
    return [(codes[r["concept"]], r["text"], r["language"], r["source"]) for r in terminology.definitions.to_pylist()]


def test_definitions_are_sorted_rows_of_their_concepts(defined: Terminology) -> None:
    """Catches a lookup that gives the rows of another concept, and an order that depends on the input."""
    assert rows(defined) == [
        ("S:1", "A flumpa is this.", "en", "O"),
        ("S:1", "Una flumpa.", "it", "S"),
        ("S:1", "Which a flumpa is.", "en", "S"),
        ("S:3", "What a mimp is.", "en", "S"),
    ]
    assert [defined.concept_definitions.row(i).tolist() for i in range(3)] == [[0, 1, 2], [], [3]]
    assert defined.definition_strings[3] == "What a mimp is."
    assert defined.n_definitions == 4


def test_a_definition_is_no_name(defined: Terminology) -> None:
    """Catches sentences among the names that are linked to and trained on."""
    bare = Terminology.from_records(NAMES, SOURCE)
    assert defined.strings == bare.strings
    assert names_dataset(defined)["label"] == names_dataset(bare)["label"]
    assert defined.concept_names("S:1") == ["flumpa"]


def test_without_definitions_the_digest_is_that_of_before() -> None:
    """Catches digests that are on record and no longer agree with their terminology."""
    digest = "776d6441f2a32f8112ad907a9f14e2c4194e338af0c9fb7c442292682976da4c"
    assert Terminology.read("toy", trees=2, depth=2, branching=2).digest == digest
    assert Terminology.read("toy", trees=2, depth=2, branching=2, definitions=True).digest != digest


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("white", ["\n", "\r\n  ", "\t", "\u00a0", "\u2028", "\x1f\x85\v"])
def test_white_space_becomes_one_space(white: str, single: bool) -> None:
    """Catches one definition that is two where its source breaks the line, and records and columns that disagree."""
    texts = [f"{white}Which a{white}{white}flumpa is. ", "Which a flumpa is."]
    records: list[Record] = [Definition("S:1", text) for text in texts]
    if not single:
        columns = {"code": ["S:1"] * 2, "text": texts, "language": ["en"] * 2, "source": [""] * 2}
        records = [Rows("definitions", {name: pa.array(column) for name, column in columns.items()})]
    terminology = Terminology.from_records(NAMES + records, SOURCE)
    assert terminology.definition_strings == ["Which a flumpa is."] == [single_spaced(texts[0])]
    assert terminology.tallies["records"].dropped == {"repeated definitions": 1}
    assert terminology.tallies["records"].adds_up()


def test_definitions_go_with_their_concepts_languages_and_sources(defined: Terminology) -> None:
    """Catches the definition of a concept that is gone, which would be another's."""
    assert [code for code, *_ in rows(defined.subset(codes=["S:2", "S:3"]))] == ["S:3"]
    english = defined.subset(languages=["en"])
    assert [language for _, _, language, _ in rows(english)] == ["en"] * 3
    assert english.tallies["subset"].dropped["definitions of another language"] == 1
    own = defined.subset(sources=["S"])
    assert {source for *_, source in rows(own)} == {"S"} == set(own.sources)
    for part in (english, own, defined.subset(np.array([0]))):
        assert part.tallies["subset"].adds_up()


def test_a_source_of_definitions_alone_is_listed(defined: Terminology) -> None:
    """Catches a release with definitions of a source that nobody checks."""
    assert list(defined.sources) == ["O", "S"]


def test_merging_maps_the_codes_of_definitions(defined: Terminology) -> None:
    """Catches definitions that stay behind where two concepts become one."""
    other = Terminology.from_records([Term("X:1", "flumpa"), Definition("X:1", "Another.")], SourceInfo("X", "X"))
    merged = Terminology.merge(defined, other, codes={"X:1": "S:1"})
    assert [text for code, text, *_ in rows(merged) if code == "S:1"] == [
        "A flumpa is this.",
        "Another.",
        "Una flumpa.",
        "Which a flumpa is.",
    ]
    assert Terminology.merge(other, defined, codes={"X:1": "S:1"}).digest == merged.digest


def test_definitions_are_saved(defined: Terminology, tmp_path: Path) -> None:
    loaded = Terminology.load(defined.save(tmp_path / "t"), verify=True)
    assert rows(loaded) == rows(defined)
