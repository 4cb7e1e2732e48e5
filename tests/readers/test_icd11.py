"""ICD-11: codes, blocks and chapters of a tabulation, its dashes, its notes with line feeds, and another language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ENGLISH = FIXTURES / "SimpleTabulation-ICD-11-MMS-en.txt"
ITALIAN = FIXTURES / "SimpleTabulation-ICD-11-MMS-it.txt"


class TestIcd11(ReaderContract):
    reader = "icd11"
    path = ENGLISH
    separator = b"\t"


class TestIcd11InItalian(ReaderContract):
    reader = "icd11"
    path = ITALIAN
    separator = b"\t"


def read(path: Path = ENGLISH, **options: Any) -> Terminology:
    return Terminology.read("icd11", path, **options)


def bare(code: str) -> str:
    return code.removeprefix("ICD11:")


def parents(terminology: Terminology) -> dict[str, str]:
    codes = [bare(code) for code in terminology.codes]
    return {codes[row["child"]]: codes[row["parent"]] for row in terminology.parents.to_pylist()}


def changed(folder: Path, old: str, new: str) -> Path:
    """A copy of the English tabulation with ``|`` for its tabs in what is replaced."""
    text = ENGLISH.read_bytes().decode()
    old, new = old.replace("|", "\t"), new.replace("|", "\t")
    assert old in text
    path = folder / ENGLISH.name
    path.write_bytes(text.replace(old, new, 1).encode())
    return path


def test_titles_stand_without_dashes_and_what_has_no_code_has_its_id() -> None:
    """Catches dashes within a title taken for levels, quotes of the cell, and "NA" read as nothing."""
    terminology = read()
    assert {bare(code): terminology.concept_names(code) for code in terminology.codes} == {
        "91": ["Diseases of the flumpa"],
        "BlockL1-9A0": ["Mimpic diseases"],
        "BlockL2-9A0": ["Mimpic flumpa diseases"],
        "9A00": ["Mimpic flumpa"],
        "9A00.0": ['Mimpic flumpa, 5" wide'],
        "9A00.Y": ["Other specified mimpic flumpa"],
        "9A00.Z": ["Mimpic flumpa, unspecified"],
        "9A10": ["X-linked - terkia"],
        "9B00": ["NA"],
        "X": ["Extension of zorb"],
        "XZ9F21": ["Belzor"],
    }


def test_the_language_is_that_of_the_name_that_who_gives(tmp_path: Path) -> None:
    """Catches an ending that is no language."""
    for name, language in {
        "SimpleTabulation-ICD-11-MMS-es.txt": "es",
        "icd-11-mms.txt": "en",
        "my-tab.txt": "en",
    }.items():
        (tmp_path / name).write_bytes(ENGLISH.read_bytes())
        assert Terminology.read("icd11", tmp_path / name).terms["language"].unique().to_pylist() == [language]


def test_the_parent_is_the_row_above_with_fewer_dashes() -> None:
    """Catches the depth within a kind taken for the level, and the row before taken for the parent."""
    assert parents(read()) == {
        "BlockL1-9A0": "91",
        "BlockL2-9A0": "BlockL1-9A0",
        "9A00": "BlockL2-9A0",
        "9A00.0": "9A00",
        "9A00.Y": "9A00",
        "9A00.Z": "9A00",
        "9A10": "BlockL1-9A0",
        "9B00": "91",
        "XZ9F21": "X",
    }


def test_entities_of_the_foundation_are_cross_references() -> None:
    terminology = read()
    targets = {bare(terminology.codes[row["concept"]]): row["target"] for row in terminology.xrefs.to_pylist()}
    assert targets["9A00"] == "icd11.foundation:990004"
    assert set(targets) == {bare(code) for code in terminology.codes} - {"9A00.Y", "9A00.Z"}


def test_residual_categories_and_other_chapters_can_be_left_out() -> None:
    terminology = read(residuals=False, chapters="91")
    assert [bare(code) for code in terminology.codes] == [
        *("91", "9A00", "9A00.0", "9A10", "9B00", "BlockL1-9A0", "BlockL2-9A0")
    ]
    assert terminology.tallies["icd11 rows"].dropped == {"residual categories": 2, "rows of other chapters": 2}
    assert read(chapters=["X"]).n_concepts == 2
    with pytest.raises(InputError, match=r"unknown chapter of .*-en.txt: '92': allowed are '91', 'X'"):
        read(chapters="92")


def test_the_source_has_the_date_of_the_header_and_may_not_be_redistributed() -> None:
    source = read().sources["ICD11"]
    assert (source.version, source.redistributable) == ("2031 Jan 17", False)
    assert source.license.startswith("CC BY-ND 3.0 IGO")


def test_english_titles_of_another_language_are_synonyms_or_fill_in() -> None:
    """Catches Italian titles called English, and a category without a translation that is lost."""
    terminology = read(ITALIAN)
    rows = {
        (bare(terminology.codes[row["concept"]]), terminology.strings[row["text"]], row["kind"], row["language"])
        for row in terminology.terms.to_pylist()
    }
    assert rows == {
        ("91", "Malattie della flumpa", "preferred", "it"),
        ("91", "Diseases of the flumpa", "synonym", "en"),
        ("9A00", "Flumpa mimpica", "preferred", "it"),
        ("9A00", "Mimpic flumpa", "synonym", "en"),
        ("9A00.0", 'Mimpic flumpa, 5" wide', "preferred", "en"),
    }
    assert parents(terminology) == {"9A00": "91", "9A00.0": "9A00"}
    assert read(ENGLISH, language="fr").languages != read().languages


def test_a_line_feed_within_a_note_is_no_line_end(tmp_path: Path) -> None:
    """Catches half a row: notes of releases hold line feeds without quotes where lines end with CRLF."""
    noted = changed(tmp_path, 'also the "terkia"', 'also\n- the "terkia"\n\n- zorb')
    assert read(noted).digest == read().digest
    later = changed(tmp_path, 'also the "terkia"', 'also\n- the "terkia"')
    later.write_bytes(later.read_bytes().replace(b"9A10", b"9a10", 1))
    with pytest.raises(InputError, match=r"-en.txt:10: a category has a Code like 1A00, .* found '9a10'"):
        read(later)


def test_a_header_without_a_stamp_and_with_its_older_names_is_read(tmp_path: Path) -> None:
    older = changed(tmp_path, "|CodingNote|Parent|Version:2031 Jan 17 - 05:30 UTC", "|CodingNote|Parent")
    older.write_bytes(older.read_bytes().replace(b"Linearization URI", b"Linearization (release) URI"))
    terminology = read(older)
    assert terminology.sources["ICD11"].version == ""
    assert parents(terminology) == parents(read())


def test_a_row_without_the_one_above_it_is_told(tmp_path: Path) -> None:
    """Catches a level that was lost: the nearest row with fewer dashes is the parent, and the tally says so."""
    lines = ENGLISH.read_bytes().splitlines(keepends=True)
    path = tmp_path / ENGLISH.name
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    terminology = read(path)
    assert parents(terminology)["BlockL2-9A0"] == "91"
    assert terminology.tallies["icd11 rows"].notes == ["2 rows stand more than one level below the row above them"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("|9A10|", "||", r"-en.txt:9: a category has a Code like 1A00, BlockL1-1A0 or 01, found ''"),
        ("|9A10|", "|9A00|", r"-en.txt:9: code ICD11:9A00 is listed twice"),
        ("|BlockL1-9A0|", "||", r"-en.txt:3: a block has a BlockId like .*, found ''"),
        ("|block|1|", "|zorb|1|", r"-en.txt:3: ClassKind must be one of chapter, block, category, found 'zorb'"),
        ('"- Mimpic diseases"', '""', r"-en.txt:3: the title is empty"),
        ('"- Mimpic diseases"', '"Mimpic diseases"', r"-en.txt:3: a chapter has no dashes and all other titles have"),
        ('"- Mimpic diseases"', '"- Mimpic" diseases', "-en.txt:3: '\t' expected after '\"' .a stray double quote"),
        ('"- NA"', '"- NA', "-en.txt:10: '\t' expected after '\"' .a stray double quote"),
        ("|9A10|", "|9A10||", r"-en.txt:9: 20 cells, expected 19, split at tabs"),
        ("|BlockId|", "|Block|", r"-en.txt:1: 0 columns are called 'BlockId', found"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(changed(tmp_path, old, new))


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="reader 'icd11' needs the path of a simple tabulation"):
        Terminology.read("icd11")
