"""SSSLM tables: texts of many ontologies at codes that were merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import ssslm
from st_biomed.records import Tally, Term
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ZORB = FIXTURES / "zorb.ssslm.tsv"
COLUMNS = "text\tcurie\tname\tpredicate\n"


class TestSsslm(ReaderContract):
    reader = "ssslm"
    separator = b"\t"
    path = ZORB


def terms(path: Path = ZORB, **options: Any) -> list[tuple[str, ...]]:
    return [
        (*record[:4], record.source.removesuffix("-SSSLM"))
        for record in ssslm.records(path, tally=Tally(), **options)
        if isinstance(record, Term)
    ]


def test_the_column_of_names_says_which_of_several_labels_is_preferred() -> None:
    """Catches the first label taken for the name, a code in small letters, and a quoted cell left with its quotes."""
    assert terms() == [
        ("DOID:9900001", "drod of the flumpa", "preferred", "en", "DOID"),
        ("DOID:9900001", "flumpa drod", "synonym", "en", "DOID"),
        ("DOID:9900001", "Flumpa drod", "synonym", "en", "HP"),
        ("DOID:9900001", "FD", "synonym", "en", "MONDO"),
        ("MONDO:9900002", "terkia, voglic", "preferred", "en", "MONDO"),
        ("MONDO:9900002", '"voglic" terkia', "synonym", "en", "MONDO"),
        ("MONDO:9900002", "terkia voglica", "synonym", "it", "MONDO"),
        ("CHEBI:990003", "zorbinol anion", "preferred", "en", "CHEBI"),
        ("CHEBI:990003", "zorbinol", "synonym", "en", "BIOSYNONYMS"),
        ("MESH:D990004", "Gruddle Part", "preferred", "en", "NCIT"),
        ("MESH:D990004", "gruddle part", "synonym", "en", "NCIT"),
    ]


def test_every_text_is_counted_and_a_name_of_its_own_too() -> None:
    tally = Tally()
    list(ssslm.records(ZORB, tally=tally))
    assert (tally.n_read, tally.n_kept) == (14, 11)
    assert tally.dropped == {"repeated texts of a code": 1, "texts by oboInOwl:hasBroadSynonym": 2}


def test_names_of_an_ontology_that_may_not_be_redistributed_keep_its_license() -> None:
    """Catches HPO's names under the license of the code that they were merged into."""
    sources = Terminology.read("ssslm", ZORB).sources
    assert sources["DOID-SSSLM"].redistributable
    assert not sources["HP-SSSLM"].redistributable
    assert not sources["BIOSYNONYMS-SSSLM"].redistributable


def test_options_choose_predicates_types_and_prefixes() -> None:
    """Catches a code without a kept text that becomes a concept all the same."""
    assert terms(predicates="rdfs:label", prefixes="DOID,MESH") == [
        ("DOID:9900001", "drod of the flumpa", "preferred", "en", "DOID"),
        ("DOID:9900001", "Flumpa drod", "synonym", "en", "HP"),
        ("MESH:D990004", "Gruddle Part", "preferred", "en", "NCIT"),
    ]
    broad = terms(predicates="oboInOwl:hasBroadSynonym")
    assert broad[0] == ("DOID:9900001", "drod of the flumpa", "preferred", "en", "DOID")
    assert broad[-1] == ("UBERON:9900005", "mimpic", "preferred", "en", "UBERON")
    assert "FD" not in {term[1] for term in terms(without_types="omo:0003012")}


def test_what_no_text_has_is_noted() -> None:
    """Catches a misspelled predicate, by which all synonyms are left out without a word."""
    read = Terminology.read("ssslm", ZORB, predicates="rdfs:label,oboInOwl:hasExactSynonyms", without_types="omo:1")
    notes = read.tallies["ssslm rows"].notes
    assert notes[0].startswith("predicates: no text has predicate 'oboInOwl:hasExactSynonyms'; found oboInOwl:has")
    assert notes[1].startswith("without_types: no text has type 'omo:1'; found ") and len(notes) == 2


def test_a_table_of_four_columns_is_enough(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(f"{COLUMNS}zorb\tdoid:990\tzorb\trdfs:label\n")
    assert terms(tmp_path / "x.tsv", language="it") == [("DOID:990", "zorb", "preferred", "it", "DOID")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("zorb\tdoid 990\tzorb\trdfs:label", r"x\.tsv:2: 'doid 990' is not a code such as doid:0001816"),
        ("zorb\tdoid:990\tzorb\t", r"x\.tsv:2: a text of DOID:990 has no predicate, such as rdfs:label"),
        (
            "a\tdoid:990\tzorb\trdfs:label\nb\tdoid:990\tdrod\trdfs:label",
            r"x\.tsv:3: DOID:990 has the name 'drod' here and 'zorb' in an earlier row",
        ),
        ("zorb\tdoid:990\tzorb", r"x\.tsv:2: 3 cells, expected 4"),
        ('"zorb\tdoid:990\tzorb\trdfs:label', r"x\.tsv:2: unexpected end of data \(a stray double quote\?\)"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(f"{COLUMNS}{row}\n")
    with pytest.raises(InputError, match=message):
        Terminology.read("ssslm", tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'ssslm' needs the path of a table of names"),
        (ZORB, {"prefixes": "doid"}, "no code has prefix 'doid'; found CHEBI, DOID, MESH, MONDO, UBERON"),
        (ZORB, {"language": "english"}, "language: 'english' is not a language"),
    ],
)
def test_bad_options_are_one_line(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("ssslm", path, **options)
