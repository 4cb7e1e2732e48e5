"""SNOMED CT: names, tags, preferred terms, definitions, relationships and maps of two invented editions."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from st_biomed.readers import reader
from st_biomed.readers.snomed.identifiers import CONCEPTS, DESCRIPTIONS, are_identifiers
from st_biomed.records import Tally
from tests.contracts.reader_contract import ReaderContract
from tests.readers.snomed_folder import (
    BELZOR,
    BOTH,
    DISORDER,
    FILES,
    FLUMPA,
    INTERNATIONAL,
    ITALIAN,
    MIMPIC,
    NATIONAL,
    QUIZOR,
    ROOT,
    SEEN_IN,
    TERKIA,
    change,
    names,
    preferred,
    read,
    rows,
)

US, GB = "900000000000509007", "900000000000508004"

RULE = "IFA 9900002001 | Flumpa disorder |"


class TestSnomed(ReaderContract):
    reader = "snomed"
    path = BOTH
    options = {"maps": "ICD10,ICD10CM,CTV3"}


class TestSnomedStated(ReaderContract):
    reader = "snomed"
    path = BOTH / INTERNATIONAL
    options = {"view": "stated", "languages": "en", "dialect": GB}


def test_names_stand_without_their_tags_and_inactive_rows_are_left_out() -> None:
    """Catches tags in names, the first parenthesis taken for the tag, and quotes and "NA" that a table reader swallows."""
    assert names(read(BOTH / INTERNATIONAL)) == {
        ROOT: {"Zorb thing"},
        DISORDER: {"Disorder of flumpa", "Flumpa disorder"},
        MIMPIC: {"Mimpic flumpa", "Mimpic flumpa tumor", "Mimpic flumpa tumour"},
        FLUMPA: {"Flumpa", '5" flumpa'},
        SEEN_IN: {"Seen in"},
        TERKIA: {"Terkia (acute) of flumpa", "NA", "Flumpa disorder"},
        BELZOR: {"Belzor"},
    }


def test_tags_are_types_and_the_english_one_counts() -> None:
    """Catches two types of a concept in two languages, and a name without a tag that nobody is told of."""
    terminology = read()
    assert rows(terminology, "types") == {
        (ROOT, "zorb"),
        (DISORDER, "disorder"),
        (MIMPIC, "disorder"),
        (FLUMPA, "body structure"),
        (SEEN_IN, "attribute"),
        (QUIZOR, "disturbo"),
    }
    assert (MIMPIC, "disorder") in rows(read(languages="it"), "types")
    assert "1 fully specified names have no semantic tag" in terminology.tallies["snomed rows"].notes


@pytest.mark.parametrize(
    ("options", "mimpic", "quizor"),
    [
        ({}, "Mimpic flumpa tumor", "Quizora"),
        ({"dialect": US}, "Mimpic flumpa tumor", "Quizora"),
        ({"dialect": GB}, "Mimpic flumpa tumour", "Quizora"),
        ({"dialect": ITALIAN}, "Flumpa mimpica", "Quizora"),
        ({"languages": "it,en"}, "Flumpa mimpica", "Quizora"),
        ({"languages": "it,en", "dialect": GB}, "Mimpic flumpa tumour", "Quizora"),
        ({"languages": "it"}, "Flumpa mimpica", "Quizora"),
        ({"languages": ["en"]}, "Mimpic flumpa tumor", None),
    ],
)
def test_preferred_names_are_those_of_the_dialect(options: dict[str, Any], mimpic: str, quizor: str | None) -> None:
    """Catches the fully specified name or the first synonym taken, and a dialect that nothing follows."""
    found = preferred(read(**options))
    assert (found[MIMPIC], found.get(QUIZOR)) == (mimpic, quizor)


def test_without_a_preferred_term_the_fully_specified_name_is_preferred() -> None:
    found = preferred(read(BOTH / INTERNATIONAL))
    assert (found[SEEN_IN], found[TERKIA], found[BELZOR]) == ("Seen in", "NA", "Belzor")
    assert preferred(read())[DISORDER] == "Disorder of flumpa"


def test_languages_that_nobody_asked_for_are_equal(tmp_path: Path) -> None:
    """Catches a name taken for the preferred one because its language is the first in the files."""
    copy = Path(shutil.copytree(BOTH, tmp_path / "copy"))
    (file,) = copy.rglob("sct2_Description_Snapshot-it_*")
    change(file, "|it|900000000000013009|Quizora", "|fr|900000000000013009|Quizora")
    assert preferred(read(copy))[QUIZOR] == "Quizora"


def test_definitions_are_those_of_active_concepts() -> None:
    assert rows(read(), "definitions") == {(MIMPIC, "A flumpa that is mimpic, with terkia.", "en")}
    assert rows(read(definitions=False), "definitions") == set()


def test_inferred_and_stated_relationships() -> None:
    """Catches heads and tails exchanged, groups read as several relations, and additional relationships."""
    inferred, stated = read(BOTH / INTERNATIONAL), read(BOTH / INTERNATIONAL, view="stated")
    assert rows(inferred, "parents") == {
        (DISORDER, ROOT),
        (MIMPIC, DISORDER),
        (FLUMPA, ROOT),
        (TERKIA, DISORDER),
        (BELZOR, ROOT),
        (SEEN_IN, ROOT),
    }
    assert rows(inferred, "relations") == {(MIMPIC, "Seen_in", FLUMPA), (TERKIA, "Seen_in", FLUMPA)}
    assert rows(stated, "parents") == {(DISORDER, ROOT), (MIMPIC, ROOT)}
    assert rows(stated, "relations") == {(MIMPIC, "Seen_in", FLUMPA)}
    none = read(view="none")
    assert (none.parents.num_rows, none.relations.num_rows) == (0, 0)
    assert names(none) == names(read())


def test_maps_are_cross_references_with_the_condition_as_predicate() -> None:
    """Catches a code that holds for some patients taken for that of all, and a seventh character that is a question mark."""
    icd = {
        (MIMPIC, "conditional", "ICD10:Z98.1"),
        (MIMPIC, "conditional", "ICD10:Z98.9"),
        (MIMPIC, "additional", "ICD10:Z99.0"),
        (MIMPIC, "xref", "ICD10CM:Z52.91"),
    }
    assert rows(read(), "xrefs") == icd
    assert rows(read(BOTH / INTERNATIONAL, maps="CTV3"), "xrefs") == {
        (MIMPIC, "xref", "CTV3:XZ99."),
        (DISORDER, "xref", "CTV3:Z...."),
    }
    assert rows(read(maps="OWN=9900090004,ICD10"), "xrefs") == (icd - {(MIMPIC, "xref", "ICD10CM:Z52.91")}) | {
        (FLUMPA, "xref", "OWN:F1")
    }
    assert rows(read(maps=""), "xrefs") == set()


@pytest.mark.parametrize("block", [700, 1 << 20])
@pytest.mark.parametrize(
    ("first", "of_next_group", "found"),
    [("TRUE", RULE, "xref"), ("OTHERWISE TRUE", "TRUE", "xref"), (RULE, "TRUE", "conditional")],
)
def test_otherwise_is_a_condition_only_beside_a_rule_of_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, of_next_group: str, found: str, block: int
) -> None:
    """Catches the code of the other patients taken for that of all, and a group that two blocks share."""
    copy = shutil.copytree(BOTH / INTERNATIONAL, tmp_path / INTERNATIONAL)
    lines = [line.split("\t") for line in (BOTH / FILES["ExtendedMap"]).read_text().splitlines()]
    lines[1][8], lines[3][8] = first, of_next_group
    (tmp_path / FILES["ExtendedMap"]).write_text("".join("\t".join(line) + "\n" for line in lines))
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", block)
    assert (MIMPIC, found, "ICD10:Z98.9") in rows(read(copy), "xrefs")


def test_the_later_row_of_an_id_counts_whatever_the_order_of_the_editions() -> None:
    """Catches an inactivation that an older active row undoes, and the same row counted as two names."""
    together = read()
    assert names(together)[DISORDER] == {"Disorder of flumpa"}
    assert TERKIA not in names(together)
    assert names(together)[MIMPIC] >= {"Mimpic flumpa", "Flumpa mimpica"}
    assert (QUIZOR, DISORDER) in rows(together, "parents")
    for first, second in ((INTERNATIONAL, NATIONAL), (NATIONAL, INTERNATIONAL)):
        assert read(BOTH / first, also=BOTH / second).digest == together.digest
        assert read(BOTH / first, also=[str(BOTH / second), BOTH]).digest == together.digest
    dropped = together.tallies["snomed rows"].dropped
    replaced = {reason.split(":")[0]: n for reason, n in dropped.items() if n and "replaced by a later" in reason}
    assert replaced == {"Concept": 2, "Description": 2, "Language": 1}


def test_an_edition_alone_has_the_concepts_that_it_lists() -> None:
    terminology = read(BOTH / NATIONAL)
    assert names(terminology) == {QUIZOR: {"Quizor", "Quizora"}}
    tally = terminology.tallies["snomed rows"]
    assert tally.adds_up()
    assert tally.dropped["Description: of a concept that is in no file"] == 3


def test_the_tally_counts_every_row_of_the_files_that_are_read() -> None:
    tally = Tally()
    assert list(reader("snomed").records(BOTH / INTERNATIONAL, tally=tally))
    read_files = [file for kind, file in FILES.items() if kind != "StatedRelationship"]
    n_rows = {Path(file).name: len((BOTH / file).read_bytes().splitlines()) - 1 for file in read_files}
    assert tally.n_read == sum(n_rows.values())
    assert {f"{name}: {n} rows read" for name, n in n_rows.items()} <= set(tally.notes)
    assert tally.adds_up()


def test_rows_of_inactive_concepts_are_told_from_those_without_a_name() -> None:
    """Catches a reason that is not true: a concept that the national edition inactivates has a name."""
    both, italian, alone = (
        read(*given, **options).tallies["snomed rows"]
        for given, options in (((), {}), ((), {"languages": "it"}), ((BOTH / NATIONAL,), {}))
    )
    assert both.dropped["Relationship: of an inactive concept"] == 2
    assert both.dropped["ExtendedMap: of an inactive concept"] == 3
    assert not any("without a kept name" in reason and n for reason, n in both.dropped.items())
    assert italian.dropped["Relationship: of an inactive concept"] == 2
    assert italian.dropped["Relationship: of a concept without a kept name"] == 8
    assert alone.dropped["ExtendedMap: of a concept that is in no file"] == 1
    assert both.adds_up()
    assert italian.adds_up()


def test_the_source_may_not_be_redistributed_and_names_its_editions() -> None:
    [source] = read().sources.values()
    assert (source.name, source.redistributable) == ("SNOMEDCT", False)
    assert source.version == "INT_20310101, ZZ1000999_20310301"


def test_check_digits_and_partitions() -> None:
    """Catches a permutation counted from the wrong end: the identifiers are those that the reader names."""
    right = [116680003, 447562003, 6011000124106, 900000000000003001, 900000000000509007, int(QUIZOR)]
    assert are_identifiers(np.array(right), CONCEPTS).all()
    assert not are_identifiers(np.array(right), DESCRIPTIONS).any()
    assert not are_identifiers(np.array(right) + 1, CONCEPTS).any()
    assert not are_identifiers(np.array([116608003, 161680003, 0, 8, 10**18]), CONCEPTS).any()
