"""ICD-10-CM from the tabular XML, the flat files, and the edition inside the package simple-icd-10-cm."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import icd10cm
from st_biomed.records import Parent, Record, Tally, Term
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TABULAR = FIXTURES / "icd10cm_tabular.xml"
ORDER = FIXTURES / "icd10cm_order_2031.txt"
TABLE = FIXTURES / "icd10cm_table_2031.csv"


class TestTabular(ReaderContract):
    reader = "icd10cm"
    path = TABULAR
    options = {"extensions": True, "includes": "all"}
    separator = b"><"


class TestOrderFile(ReaderContract):
    reader = "icd10cm"
    path = ORDER
    options = {"short_names": True}
    separator = b" "


class TestTable(ReaderContract):
    reader = "icd10cm"
    path = TABLE
    options = {"short_names": True, "extensions": True}


def parents(records: list[Record]) -> dict[str, str]:
    return {r.child.split(":")[1]: r.parent.split(":")[1] for r in records if isinstance(r, Parent)}


def names(records: list[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        if isinstance(record, Term):
            found.setdefault(record.code.split(":")[1], []).append(record.text)
    return found


def read(path: Path | None, **options: object) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(icd10cm.records(path, tally=tally, **options)), tally


def test_block_and_category_of_one_code_are_two_concepts() -> None:
    """Catches the source's trap: block "U20" holds the single category "U20"."""
    records, _ = read(TABULAR)
    assert parents(records)["U20"] == "U20-U20"
    assert parents(records)["U20-U20"] == "U10-U29"
    assert names(records)["U20-U20"] == ["Drodthic flumpa"]


def test_a_heading_stands_above_the_blocks_in_its_range() -> None:
    """Catches "Transport accidents (V00-V99)" as a childless sibling of what it contains."""
    assert parents(read(TABULAR)[0]) == {
        "U10-U29": "31",
        "U10-U19": "U10-U29",
        "U20-U20": "U10-U29",
        "U40-U49": "31",
        "U10": "U10-U19",
        "U10.0": "U10",
        "U10.9": "U10",
        "U20": "U20-U20",
        "U20.1": "U20",
        "U20.221": "U20",
        "U40": "U40-U49",
    }


def test_notes_become_synonyms_as_they_are_written() -> None:
    """Catches lost brackets and colons, excluded terms taken in, and a synonym equal to the title."""
    found = names(read(TABULAR)[0])
    assert found["U10"] == ["Mimpic flumpa", "mimpic flumpa (upper)(lower)", "flumpa mimpa [FM]"]
    assert found["U10.0"] == ["Mimpic flumpa with terkia", "Terkic flumpa NOS", "Flumpa terka due to:"]
    assert found["U10.9"] == ["Mimpic flumpa, unspecified", "Mimpic flumpa NOS"]
    assert read(TABULAR)[1].dropped == {
        "empty names": 1,
        "notes to the coder": 2,
        "phrases that tell by codes what is included": 3,
        "repeated names of a concept": 1,
        "seventh-character extensions": 4,
    }


def test_notes_to_the_coder_are_no_names_unless_asked_for() -> None:
    """Catches "Use two codes if ..." as a name of a disease, and "O157:H7" or "U12" taken for a code."""
    name = "Pruglic flumpa O157:H7, vitamin U12 group, unclassifiable"
    assert names(read(TABULAR, includes="all")[0])["U40"] == ["Pruglic flumpa", name]
    assert names(read(TABULAR, includes="all")[0])["U10-U19"] == [
        "Mimpic diseases of one flumpa",
        "Singly mimpic flumpa",
        "flumpas taken singly",
    ]
    found, tally = read(TABULAR, coder_notes=True)
    assert names(found)["U40"] == [
        "Pruglic flumpa",
        name,
        "Conditions classifiable to U10",
        "Use two codes if both flumpas are pruglic",
        "any condition in U10 with prugles",
        "flumpas as in U20.1, also pruglic",
    ]
    assert names(found)["U10-U19"][1:] == ["Categories U10-U19 are intended for lone flumpas", "Singly mimpic flumpa"]
    assert "notes to the coder" not in tally.dropped


@pytest.mark.parametrize(("includes", "category", "block"), [("none", 1, 2), ("categories", 3, 2), ("all", 3, 3)])
def test_includes_option_says_whose_notes_are_synonyms(includes: str, category: int, block: int) -> None:
    found = names(read(TABULAR, includes=includes)[0])
    assert (len(found["U10"]), len(found["U10-U19"])) == (category, block)


def test_extensions_are_padded_with_x_and_use_the_nearest_definition() -> None:
    """Catches a missing placeholder, a lost point after three characters, and the wrong table of characters."""
    records, _ = read(TABULAR, extensions=True)
    found = names(records)
    assert found["U20.1XXA"] == ["Drodthic flumpa, left, first visit"]
    assert found["U40.XXXA"] == ["Pruglic flumpa, first visit"]
    assert found["U20.2210"] == ["Drodthic flumpa, right, at rest"]
    assert parents(records)["U40.XXXA"] == "U40"
    assert {code for code in found if len(code) == 8} == {"U20.1XXA", "U20.1XXS", "U20.2210", "U40.XXXA"}


def test_extensions_outside_the_list_of_valid_codes_are_dropped_and_counted(tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("U201XXA Drodthic flumpa, left, first visit\nU40.XXXA\n")
    records, tally = read(TABULAR, extensions=True, valid_codes=tmp_path / "codes.txt")
    assert {code for code in names(records) if len(code) == 8} == {"U20.1XXA", "U40.XXXA"}
    assert tally.dropped["extensions that are no valid code"] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "U40.XXXA\n\n" + '"U201XXA","Drodthic flumpa"\n',
            r"codes\.txt:3: expected a code of ICD-10-CM first in the line",
        ),
        ("\n", r"codes\.txt: lists no code"),
    ],
)
def test_a_list_of_codes_in_another_form_does_not_drop_every_extension(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "codes.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        read(TABULAR, extensions=True, valid_codes=tmp_path / "codes.txt")


def test_order_file_gives_the_same_categories_as_the_xml() -> None:
    """Catches columns off by one, missing points, and extensions that slip in."""
    records, tally = read(ORDER)
    assert parents(records) == {
        "U10.0": "U10",
        "U10.9": "U10",
        "U20.1": "U20",
        "U20.221": "U20",
        "U20.2211": "U20.221",
    }
    tabular = names(read(TABULAR, includes="none")[0])
    assert all(titles == tabular[code][:1] for code, titles in names(records).items() if code != "U20.2211")
    assert tally.dropped == {"seventh-character extensions": 1}
    assert names(read(ORDER, short_names=True)[0])["U10.0"] == ["Mimpic flumpa with terkia", "Mimpic flmp w terkia"]
    assert parents(read(ORDER, extensions=True)[0])["U20.1XXA"] == "U20.1"


def test_codes_file_has_names_alone(tmp_path: Path) -> None:
    (tmp_path / "icd10cm_codes_2031.txt").write_text("U100    Mimpic flumpa with terkia\nU40     Pruglic flumpa\n\n")
    terminology = Terminology.read("icd10cm", tmp_path / "icd10cm_codes_2031.txt")
    assert terminology.codes == ["ICD10CM:U10.0", "ICD10CM:U40"]
    assert terminology.sources["ICD10CM"].version == "2031"


def test_a_table_has_chapters_above_the_codes() -> None:
    """Catches chapters that are lost, a code whose category has no row left without a parent, and a lost point."""
    records, tally = read(TABLE)
    assert parents(records) == {
        "U10": "U10-U20",
        "U10.0": "U10",
        "U1A": "U10-U20",
        "U20.1": "U10-U20",
        "V40": "V40-V40",
        "V40.1": "V40",
    }
    assert names(records)["U10-U20"] == ["Flumpas, mimpic or not"]
    assert tally.dropped == {"seventh-character extensions": 1}
    everything, _ = read(TABLE, extensions=True, short_names=True)
    assert parents(everything)["U20.1XXA"] == "U20.1"
    assert names(everything)["U10.0"] == ["Mimpic flumpa with terkia", "Mimpic flmp w terkia"]
    assert Terminology.read("icd10cm", TABLE).sources["ICD10CM"].version == "2031"


# ---------------------------------------------------------------- the edition in the package, checked by the package


@pytest.fixture(scope="module")
def packaged() -> tuple[list[Record], Tally]:
    if icd10cm.find_spec("simple_icd_10_cm") is None:
        pytest.skip("simple-icd-10-cm is not installed")
    return read(None, extensions=True, includes="all", coder_notes=True)


def test_the_package_is_not_imported(packaged: object) -> None:
    """Catches an import that takes seconds and 180 MB."""
    assert "simple_icd_10_cm" not in sys.modules


def test_counts_of_the_package_edition(packaged: tuple[list[Record], Tally]) -> None:
    """The package knows 98,466 distinct codes; the 39 that are block and category are two concepts each here."""
    records, tally = packaged
    kinds = Counter(
        "chapter" if code.isdigit() else "block" if "-" in code else "category" if len(code) == 3 else "subcategory"
        for code in names(records)
    )
    assert kinds == {"chapter": 22, "block": 297, "category": 1918, "subcategory": 96_268}
    assert sum(kinds.values()) == 98_466 + 39
    assert tally.dropped == {"extensions that are no valid code": 76}


@pytest.mark.long
def test_synonym_counts_of_the_package_edition(packaged: tuple[list[Record], Tally]) -> None:
    """12,574 inclusion terms, 918 "includes" notes at categories and subcategories, 106 at chapters and blocks.

    249 of those that the reader yields by default are written for coders.
    """
    assert Counter(r.kind for r in packaged[0] if isinstance(r, Term))["synonym"] == 12_574 + 918 + 106
    by_default, tally = read(None)
    assert Counter(r.kind for r in by_default if isinstance(r, Term)) == {
        "preferred": 47_161 + 39,
        "synonym": 12_574 + 918 - 249,
    }
    assert tally.dropped["notes to the coder"] == 42
    assert tally.dropped["phrases that tell by codes what is included"] == 207


@pytest.mark.long
def test_titles_parents_and_notes_agree_with_the_package(packaged: tuple[list[Record], Tally]) -> None:
    """Every code: the package's description, parent and notes; all but ranges in titles and blocks under headings."""
    icd = pytest.importorskip("simple_icd_10_cm", reason="simple-icd-10-cm is not installed")
    records, _ = packaged
    found, above = names(records), parents(records)
    headings = {above[code] for code in above if "-" in code and "-" in above[code]}
    assert len(headings) == 12
    doubled = 0
    for code in dict.fromkeys(icd.get_all_codes(with_dots=True)):
        own_block = icd.is_block(code) and icd.is_category(code)
        doubled += own_block
        for as_block, ours in ((True, f"{code}-{code}"), (False, code)) if own_block else ((False, code),):
            title = icd.get_description(code, as_block).strip()
            if "-" in ours or ours.isdigit():
                title = title[: title.rindex("(")].strip()
            if icd.is_extended_subcategory(code) and title.startswith(found[ours][0] + "/"):
                title = found[ours][0]  # the package adds the notes of a seventh character after a slash
            notes = icd.get_inclusion_term(code, as_block) + icd.get_includes(code, as_block)
            assert found[ours] == list(dict.fromkeys([title, *notes])), ours
            parent = icd.get_parent(code, as_block)
            if above.get(ours) not in headings:
                assert above.get(ours, "") == (f"{code}-{code}" if parent == code else parent), ours
    assert doubled == 39
