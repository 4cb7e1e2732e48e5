"""OMOP: the tables of Athena and of test sets, names by language, hierarchy and mappings."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import parse_options
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ATHENA, TEST_SET = FIXTURES / "omop", FIXTURES / "omop_csv"
FILES = ("CONCEPT", "CONCEPT_SYNONYM", "CONCEPT_RELATIONSHIP", "CONCEPT_ANCESTOR", "VOCABULARY", "RELATIONSHIP")


class TestAthena(ReaderContract):
    reader = "omop"
    path = ATHENA


class TestTestSet(ReaderContract):
    reader = "omop"
    path = TEST_SET
    options = {"languages": "es,und", "types": "concept_class"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tables of Athena in a folder of one's own, to be changed."""
    return Path(shutil.copytree(ATHENA, tmp_path / "copy"))


def read(path: Path = ATHENA, **options: Any) -> Terminology:
    return Terminology.read("omop", path, **options)


def bare(terminology: Terminology) -> list[str]:
    return [code.removeprefix("OMOP:") for code in terminology.codes]


def names(terminology: Terminology, **kept: str) -> set[tuple[str, str]]:
    """Concept and name of the terms with these values."""
    rows = terminology.terms.to_pylist()
    codes = bare(terminology)
    return {
        (codes[row["concept"]], terminology.strings[row["text"]])
        for row in rows
        if all(row[column] == value for column, value in kept.items())
    }


def parents(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = bare(terminology)
    return {(codes[r["child"]], codes[r["parent"]], r["source"]) for r in terminology.parents.to_pylist()}


def triples(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = bare(terminology)
    return {(codes[r["head"]], r["relation"], codes[r["tail"]]) for r in terminology.relations.to_pylist()}


def types(terminology: Terminology, code: str) -> set[str]:
    rows = terminology.types.to_pylist()
    return {row["type"] for row in rows if terminology.codes[row["concept"]] == f"OMOP:{code}"}


def mappings(terminology: Terminology, predicate: str) -> dict[str, str]:
    codes = bare(terminology)
    return {codes[r["concept"]]: r["target"] for r in terminology.xrefs.to_pylist() if r["predicate"] == predicate}


def test_both_forms_of_the_tables_say_the_same(tmp_path: Path) -> None:
    """Catches a header in one case, quotes of Athena taken for quoting, and a table looked for in one form."""
    athena = read()
    assert names(athena) >= {("99000002", 'Flumpa disease of "left" mimpic'), ("99000003", 'Gradtha, 5" deep')}
    for name in FILES:
        header, rows = (TEST_SET / f"{name}.csv").read_text("utf-8").split("\n", 1)
        (tmp_path / f"{name.lower()}.csv.gz").write_bytes(gzip.compress(f"{header.lower()}\n{rows}".encode()))
    for path in (TEST_SET, tmp_path):
        other = read(path)
        assert other.digest == athena.digest
        assert other.tallies["omop rows"].to_dict() == athena.tallies["omop rows"].to_dict()
        assert other.sources == athena.sources


def test_every_row_is_counted() -> None:
    tally = read().tallies["omop rows"]
    assert (tally.n_read, tally.n_kept) == (54, 29)
    assert tally.dropped == {
        "CONCEPT: the id 0, which stands for no concept": 1,
        "CONCEPT: invalid": 1,
        "CONCEPT: without a name": 1,
        "CONCEPT_SYNONYM: blank names": 2,
        "CONCEPT_SYNONYM: of a concept that is not in CONCEPT": 1,
        "CONCEPT_SYNONYM: of a concept that is not read": 2,
        "CONCEPT_SYNONYM: repeated names of a concept": 2,
        "CONCEPT_RELATIONSHIP: invalid": 1,
        "CONCEPT_RELATIONSHIP: of a concept to itself": 2,
        "CONCEPT_RELATIONSHIP: inverses of Is a and Maps to": 3,
        "CONCEPT_RELATIONSHIP: of a concept that is not in CONCEPT": 1,
        "CONCEPT_RELATIONSHIP: of a concept that is not read": 3,
        "CONCEPT_ANCESTOR: not one level apart": 2,
        "CONCEPT_ANCESTOR: of a concept that is not in CONCEPT": 1,
        "CONCEPT_ANCESTOR: of a concept that is not read": 1,
        "CONCEPT_ANCESTOR: of a concept with an Is a": 1,
    }


def test_the_name_of_a_concept_is_preferred_and_languages_are_codes() -> None:
    """Catches "NA" read as nothing, an invalid concept kept by its synonym, and a language by its concept id."""
    terminology = read()
    assert names(terminology, kind="preferred", language="en") == {
        ("99000001", "Flumpa disease"),
        ("99000002", 'Flumpa disease of "left" mimpic'),
        ("99000003", 'Gradtha, 5" deep'),
        ("99000005", "Flumpa disease, unspecified"),
        ("99000006", "Flumpa diseases"),
        ("99000011", "GRADTHA PREPARATIONS"),
        ("1990007", "mimpicol"),
        ("1990008", "mimpicol 5 MG Oral Flumpet [Terkex]"),
        ("1990009", "NA"),
        ("2000000010", "Local gradtha count"),
    }
    assert names(terminology, kind="synonym", language="en") == {
        ("99000001", 'Flumpitis "NOS"'),
        ("99000003", "gradtha"),
    }
    assert names(terminology, language="it") == {("99000001", "flumpite"), ("99000003", "gradtha")}
    assert names(terminology, language="und") == {("1990007", "mimpicolum")}
    note = "names in the languages 4999999, whose ISO codes are not known, are in 'und'"
    assert note in terminology.tallies["omop rows"].notes


def test_without_english_the_first_synonym_is_preferred() -> None:
    """Catches a concept without a preferred name, and links of concepts that have no name in the language."""
    spanish = read(languages="es")
    assert names(spanish, kind="preferred") == {
        ("99000001", "enfermedad de la flumpa"),
        ("99000002", "flumpa izquierda"),
    }
    assert names(spanish, kind="synonym") == {("99000002", "flumpa zurda")}
    assert parents(spanish) == {("99000002", "99000001", "OMOP_SNOMED")}
    assert not triples(spanish)
    tally = spanish.tallies["omop rows"]
    assert tally.adds_up()
    assert tally.dropped["CONCEPT: names in other languages"] == 10
    assert names(read(languages="en,es"), language="es") == names(spanish)


def test_concepts_without_any_name_in_a_language_are_nothing_special(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a run of concepts, here of one, that has neither a title nor a synonym to compare."""
    spanish = read(languages="es")
    monkeypatch.setattr("st_biomed.readers.omop.names._CONCEPTS_AT_ONCE", 1)
    assert read(languages="es").digest == spanish.digest


def test_is_a_has_the_parent_second_and_ancestors_serve_where_there_is_none() -> None:
    """Catches the hierarchy turned round, a parent stated twice, and an ancestor of two levels for a parent."""
    by_is_a = {("99000002", "99000001", "OMOP_SNOMED"), ("99000005", "99000006", "OMOP_ICD10CM")}
    by_ancestor = {
        ("99000003", "99000001", "OMOP_SNOMED"),  # its 'Is a' is invalid
        ("1990007", "99000011", "OMOP"),
        ("1990008", "1990007", "OMOP"),
    }
    assert parents(read()) == by_is_a | by_ancestor
    assert parents(read(parents="is_a")) == by_is_a
    assert parents(read(parents="ancestors")) == by_ancestor | {("99000002", "99000001", "OMOP_SNOMED")}
    assert parents(read(parents="")) == set()


def test_maps_to_is_a_cross_reference_and_so_is_the_code() -> None:
    """Catches a mapping to a concept that is left out, which still tells where the codes are mapped to."""
    terminology = read()
    assert mappings(terminology, "Maps to") == {"99000005": "OMOP:99000001"}
    assert mappings(terminology, "xref") == {
        "99000001": "SNOMEDCT:990000011",
        "99000002": "SNOMEDCT:990000022",
        "99000003": "SNOMEDCT:990000033",
        "99000005": "ICD10CM:X99.9",
        "99000006": "ICD10CM:X99",
        "99000011": "ATC:Z99ZZ",
        "1990007": "RXNORM:990007",
        "1990008": "RxNorm_Extension:OMOP990008",
        "1990009": "RXNORM:990009",
    }
    assert mappings(read(vocabularies="ICD10CM"), "Maps to") == {"99000005": "OMOP:99000001"}


def test_relations_are_those_asked_for() -> None:
    every = {
        ("1990008", "Has ingredient", "1990007"),
        ("1990007", "Ingredient of", "1990008"),
        ("1990007", "May treat", "99000003"),
        ("99000002", "Due to of", "99000003"),
        ("99000003", "Has due to", "99000002"),
    }
    assert triples(read()) == every
    assert triples(read(inverses=False)) == every - {
        ("1990007", "Ingredient of", "1990008"),
        ("99000003", "Has due to", "99000002"),
    }
    assert triples(read(relations="May treat,Subsumes")) == {
        ("1990007", "May treat", "99000003"),
        ("99000001", "Subsumes", "99000002"),
        ("99000006", "Subsumes", "99000005"),
    }
    assert triples(read(relations="")) == set()
    rows = read().relations.to_pylist()
    assert {row["relation"]: row["source"] for row in rows}["Due to of"] == "OMOP_SNOMED"
    assert {row["relation"]: row["source"] for row in rows}["May treat"] == "OMOP"


def test_types_are_domains_or_classes_and_standard() -> None:
    terminology = read()
    assert types(terminology, "99000001") == {"Condition", "standard"}
    assert types(terminology, "99000005") == {"Condition"}
    assert types(terminology, "99000011") == {"Drug"}  # C, a classification
    assert types(read(types="concept_class"), "1990007") == {"Ingredient", "standard"}
    assert types(read(mark_standard=False), "99000001") == {"Condition"}


def test_options_limit_the_concepts() -> None:
    assert set(bare(read(standard=True))) == {"99000001", "99000002", "99000003", "1990007", "1990008", "1990009"}
    assert set(bare(read(vocabularies=["ICD10CM", "RxNorm Extension"]))) == {"99000005", "99000006", "1990008"}
    assert set(bare(read(domains="Drug", concept_classes="Ingredient"))) == {"1990007", "1990009"}
    options = parse_options("omop", ["vocabularies=SNOMED", "standard=true", "relations=", "parents=is_a"])
    assert set(bare(read(**options))) == {"99000001", "99000002", "99000003"}


def test_vocabularies_are_sources_with_versions_that_may_not_be_redistributed() -> None:
    sources = read().sources
    assert sources["OMOP"].version == "v9.9 01-JAN-31"
    assert (sources["OMOP_SNOMED"].version, sources["OMOP_SNOMED"].url) == (
        "2031-01-01 Zorb",
        "https://example.org/zorb",
    )
    assert sources["OMOP_SNOMED"].title == "Zorbish nomenclature as imported by OMOP"
    assert sources["OMOP_Zorb_Local"].title == "Zorb Local as imported by OMOP"
    assert not any(source.redistributable for source in sources.values())


def test_concepts_alone_are_enough_and_what_is_missing_is_told(copy: Path) -> None:
    for name in FILES[1:]:
        (copy / f"{name}.csv").unlink()
    terminology = read(copy)
    assert (terminology.n_concepts, terminology.parents.num_rows, terminology.sources["OMOP"].version) == (10, 0, "")
    assert terminology.tallies["omop rows"].notes == [
        "CONCEPT.csv: 13 rows read",
        "VOCABULARY.csv: not there, no versions of vocabularies were read",
        "CONCEPT_SYNONYM.csv: not there, no synonyms were read",
        "CONCEPT_RELATIONSHIP.csv: not there, no relations, 'Is a' or 'Maps to' were read",
        "CONCEPT_ANCESTOR.csv: not there, no ancestors were read",
    ]


def test_codes_of_cpt4_without_names_are_told(copy: Path) -> None:
    """Catches an index that lacks all procedures of CPT4, and nothing that says so."""
    before = read(copy).tallies["omop rows"].notes
    (copy / "CONCEPT_CPT4.csv").write_text(
        (copy / "CONCEPT.csv").read_text("utf-8").partition("\n")[0] + "\n", "utf-8"
    )
    (note,) = set(read(copy).tallies["omop rows"].notes) - set(before)
    assert note.startswith("CONCEPT_CPT4 is not read")


@pytest.mark.parametrize("size", [150, 400])
def test_blocks_of_any_size_give_the_same(size: int, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches lines lost or counted twice where a block ends, and a header in every block."""
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", size)
    monkeypatch.setattr("st_biomed.readers.omop.names._CONCEPTS_AT_ONCE", 3)
    assert read().digest == read(TEST_SET).digest
    assert read().tallies["omop rows"].dropped["CONCEPT_SYNONYM: repeated names of a concept"] == 2
    (copy / "CONCEPT.csv").write_bytes((copy / "CONCEPT.csv").read_bytes().replace(b"99000006\t", b"x\t"))
    with pytest.raises(InputError, match=r"CONCEPT.csv:8: concept_id must be a number up to 2147483647, found 'x'"):
        read(copy)
    monkeypatch.setattr("st_biomed.readers.omop.tables._ROWS_AT_ONCE", 3)
    assert read(TEST_SET).digest == read().digest


def test_a_concept_listed_twice_is_named_by_its_line_in_any_block(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the first line of a block looked for in the block before it."""
    monkeypatch.setattr("st_biomed.readers.omop.tables._ROWS_AT_ONCE", 1)
    file = Path(shutil.copytree(TEST_SET, copy / "csv")) / "CONCEPT.csv"
    file.write_bytes(file.read_bytes().replace(b"99000003", b"99000001", 1))
    with pytest.raises(InputError, match=r"CONCEPT.csv:5: concept 99000001 is listed twice"):
        read(file.parent)


def test_blank_lines_are_no_rows(copy: Path) -> None:
    file = copy / "CONCEPT_SYNONYM.csv"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\n\n"))
    tally = read(copy).tallies["omop rows"]
    assert (tally.n_read, tally.dropped["CONCEPT_SYNONYM: blank lines"]) == (54 + 16, 16)
