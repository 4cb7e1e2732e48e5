"""ICD-9-CM in four forms: code files, the tabular list, a table with chapters, and the Italian tree."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_survives, mutated

CODES = FIXTURES / "CMS99_DESC_LONG_DX.txt"
TABULAR = FIXTURES / "icd9cm_tabular.txt"
TABLE = FIXTURES / "icd9cm_hierarchy.csv"
TREE = FIXTURES / "icd9cm_it_tree.tsv"


class TestTable(ReaderContract):
    reader = "icd9cm"
    path = TABLE
    options = {"tabular": TABULAR, "includes": "all", "short_names": True}


class TestTabularList(ReaderContract):
    reader = "icd9cm"
    path = TABULAR
    options = {"includes": "all"}


class TestTree(ReaderContract):
    reader = "icd9cm"
    path = TREE
    options = {"includes": "all"}


def parents(terminology: Terminology) -> dict[str, str]:
    rows = terminology.parents.to_pylist()
    found = {terminology.codes[r["child"]]: terminology.codes[r["parent"]] for r in rows}
    return {child.removeprefix("ICD9CM:"): parent.removeprefix("ICD9CM:") for child, parent in found.items()}


def names(terminology: Terminology, code: str) -> list[str]:
    """The preferred name, then the others."""
    title = terminology.strings[terminology.preferred_texts[terminology.concept(code)]]
    return [title, *(name for name in terminology.concept_names(code) if name != title)]


# ---------------------------------------------------------------- code files


def test_points_stand_after_three_characters_and_after_four_of_an_e_code() -> None:
    """Catches E900.1 as E90.01, and a lost accent: CMS writes Latin-1."""
    terminology = Terminology.read("icd9cm", CODES)
    assert terminology.codes == [f"ICD9CM:{code}" for code in ("900.0", "900.01", "900.1", "E900.1", "V90.1")]
    assert parents(terminology) == {"900.01": "900.0"}
    assert names(terminology, "ICD9CM:900.1") == ["Mimpière's flumpa infection"]
    assert terminology.sources["ICD9CM"].version == "99"


def test_utf_8_and_gzip_read_like_the_published_code_page(tmp_path: Path) -> None:
    """Catches the published file refused, since it is not UTF-8, and read without a word of it."""
    (tmp_path / "CMS99_DESC_LONG_DX.txt.gz").write_bytes(gzip.compress(CODES.read_text("cp1252").encode()))
    read, published = (
        Terminology.read("icd9cm", tmp_path / "CMS99_DESC_LONG_DX.txt.gz"),
        Terminology.read("icd9cm", CODES),
    )
    assert read.digest == published.digest
    assert read.tallies["icd9cm rows"].notes == []
    assert published.tallies["icd9cm rows"].notes == [
        "CMS99_DESC_LONG_DX.txt was read as cp1252, since line 3 is not UTF-8"
    ]


def test_procedures_have_a_prefix_of_their_own(tmp_path: Path) -> None:
    """Catches procedure 00.10 as diagnosis 001.0."""
    for name in ("CMS99_DESC_LONG_SG.txt", "surgery.txt"):
        (tmp_path / name).write_text("0010 Incision of flumpa\n00   Operations on the flumpa\n")
    by_name = Terminology.read("icd9cm", tmp_path / "CMS99_DESC_LONG_SG.txt")
    by_option = Terminology.read("icd9cm", tmp_path / "surgery.txt", codes="procedures")
    assert by_name.codes == by_option.codes == ["ICD9PROC:00", "ICD9PROC:00.10"]
    assert parents(by_name) == {"ICD9PROC:00.10": "ICD9PROC:00"}
    assert list(by_name.sources) == ["ICD9PROC"]
    assert Terminology.read("icd9cm", tmp_path / "surgery.txt", codes="procedures").n_concepts == 2


def test_tabular_list_lends_its_inclusion_terms_to_a_code_file() -> None:
    """Catches its titles, which lean on those above, as synonyms."""
    terminology = Terminology.read("icd9cm", CODES, tabular=TABULAR, parts=True)
    assert names(terminology, "ICD9CM:900.0") == [
        "Drodthic flumpa infection",
        "Flumpic NOS",
        "Flumpic drodthitis",
        "Pruglemia",
        "Terkemia of flumpa",
    ]
    dropped = terminology.tallies["icd9cm rows"].dropped
    assert dropped["inclusion terms of codes that are not in the file"] == 2
    assert dropped["titles of a tabular list that is read for its inclusion terms"] == 18


# ---------------------------------------------------------------- the tabular list


def test_chapters_and_blocks_nest_by_their_ranges() -> None:
    """Catches a list of contents taken for codes, a range without a blank before it, and a block without a range."""
    assert parents(Terminology.read("icd9cm", TABULAR)) == {
        "900-909": "900-929",
        "900-901": "900-909",
        "900": "900-901",
        "900.0": "900",
        "900.1": "900",
        "901": "900-901",
        "901.0": "901",
        "902": "900-909",
        "910-910": "900-929",
        "910": "910-910",
        "V90": "V90-V91",
        "V90.1": "V90",
        "E900-E909": "E900-E919",
        "E900": "E900-E909",
        "E900.1": "E900",
    }


def test_items_of_a_list_are_read_with_its_head() -> None:
    """Catches "drodthitis" alone, and what follows a list ("Terkemia", "Mimpism") read as a part of it."""
    terminology = Terminology.read("icd9cm", TABULAR, parts=True)
    assert names(terminology, "ICD9CM:900.0")[1:] == [
        "Flumpic NOS",
        "Flumpic drodthitis",
        "Pruglemia",
        "Terkemia of flumpa",
    ]
    assert names(terminology, "ICD9CM:900.1") == [
        "Other",
        "Fever late NOS",
        "Fever late nightly",
        "Infection by Flumpus",
        "Infection by Terkus",
        "Infection by small worms",
        "Mimpism",
    ]


def test_exclusions_and_notes_to_the_coder_are_no_names() -> None:
    terminology = Terminology.read("icd9cm", TABULAR)
    assert names(terminology, "ICD9CM:901") == ["Flumposis"]
    assert names(terminology, "ICD9CM:901.0") == ["Terkosis"]
    assert terminology.tallies["icd9cm rows"].dropped == {
        "exclusions": 3,
        "heads of lists, which stand in front of each item": 5,
        "includes notes not asked for": 2,
        "lines in front of the first chapter": 1,
        "lists of digits and codes": 4,
        "notes to the coder": 7,
        "phrases that tell by codes what is included": 2,
        "repeated names of a concept": 1,
        "sites and substances, a part of what the title names": 3,
    }


@pytest.mark.parametrize(("includes", "category", "block"), [("none", 1, 1), ("categories", 3, 1), ("all", 3, 2)])
@pytest.mark.parametrize("path", [TABULAR, TREE])
def test_includes_option_says_whose_notes_are_synonyms(path: Path, includes: str, category: int, block: int) -> None:
    terminology = Terminology.read("icd9cm", path, includes=includes, parts=True)
    found = [len(terminology.concept_names(f"ICD9CM:{code}")) for code in ("900", "900-909", "900-929")]
    assert found == [category, block, block]


# ---------------------------------------------------------------- tables


def test_chapters_and_blocks_of_a_table_are_ranges_of_their_categories() -> None:
    """Catches a chapter of a single block as its own parent, and categories without a row lost."""
    terminology = Terminology.read("icd9cm", TABLE)
    assert parents(terminology) == {
        "900-902": "900-910",
        "900": "900-902",
        "900.0": "900",
        "900.01": "900.0",
        "901": "900-902",
        "902": "900-902",
        "902.0": "902",
        "910-910": "900-910",
        "910": "910-910",
        "V90": "V90-V90",
        "V90.1": "V90",
        "E900-E900": "E900-E910",
        "E900": "E900-E900",
        "E900.1": "E900",
        "E910-E910": "E900-E910",
        "E910": "E910-E910",
        "E910.1": "E910",
    }
    assert names(terminology, "ICD9CM:V90-V90") == ["Supplementary Flumpa Factors"]
    assert names(terminology, "ICD9CM:901") == ["Flumposis", "Flumposis [terkic]"]
    assert names(terminology, "ICD9CM:902") == ["Untidy flumpa"]
    assert names(terminology, "ICD9CM:E910.1") == ['Fall of flumpa, "low"']


def test_short_names_are_synonyms_when_asked() -> None:
    terminology = Terminology.read("icd9cm", TABLE, short_names=True)
    assert names(terminology, "ICD9CM:900.0") == ["Drodthic flumpa infection", "Drdth flmp infection"]
    assert names(terminology, "ICD9CM:900") == ["Flumpa infection"]


# ---------------------------------------------------------------- the Italian tree


def test_chapters_of_the_tree_are_ranges_and_procedures_are_kept_apart() -> None:
    """Catches chapter 10 of the procedures and category 10 below it under one code."""
    terminology = Terminology.read("icd9cm", TREE)
    assert parents(terminology) == {
        "900-909": "900-929",
        "900": "900-909",
        "900.0": "900",
        "900.1": "900",
        "910": "900-929",
        "V90": "V90-V91",
        "ICD9PROC:00": "ICD9PROC:00-00",
        "ICD9PROC:00.1": "ICD9PROC:00",
        "ICD9PROC:00.10": "ICD9PROC:00.1",
        "ICD9PROC:10": "ICD9PROC:10-11",
    }
    assert names(terminology, "ICD9PROC:10-11") == ["INTERVENTI SULLA GRADTA"]
    assert names(terminology, "ICD9CM:V90") == ['Stato della "flumpa"']
    assert terminology.stats()["terms by language"] == {"it": 18}
    assert {name: info.redistributable for name, info in terminology.sources.items()} == {"ICD9CM_IT": False}


def test_indented_notes_give_inclusion_terms() -> None:
    """Catches wrapped lines as terms of their own, and what is excluded behind a term on one line."""
    terminology = Terminology.read("icd9cm", TREE, parts=True)
    assert names(terminology, "ICD9CM:900") == [
        "Infezione della flumpa",
        "flumpa (mimpica) (drodtica) SAI",
        "terchite",
    ]
    assert names(terminology, "ICD9CM:900.0") == [
        "Infezione drodtica della flumpa",
        "Flumpite congenita minima",
        "Flumpite destra, anche bilaterale",
        "Flumpite sinistra",
        "Terchemia",
    ]
    assert names(terminology, "ICD9CM:900.1")[1:] == ["Morbo di Mimpi", "Pruglemia"]
    assert terminology.tallies["icd9cm rows"].dropped == {
        "exclusions": 4,
        "heads of lists, which stand in front of each item": 2,
        "includes notes not asked for": 2,
        "nodes without a code": 3,
        "notes to the coder": 3,
        "phrases that tell by codes what is included": 1,
        "repeated names of a concept": 1,
    }


NODES = "node_id\tparent_id\tdepth\tsection\tcode\tlabel_it\tnotes_raw\n0\t-1\t0\tdiagnosi\t\tdiagnosi\t\n"
ROWS = "\n".join(
    f"{node}\t{above}\t0\tdiagnosi\t{code}\t{label}\t{notes}"
    for node, above, code, label, notes in [
        (1, 0, "CH1", "TUMORI (140-239)", ""),
        (2, 1, "162", "Tumori maligni della gradta", r"Canale della gradta\nAdenocarcinoma gradtico\nMimpoma"),
        (3, 1, "214", "Mimpoma", r"Incl.: gradtoma\n       orlo SAI\n       orlo mimpico"),
        (4, 3, "214.0", "sede non specificata", ""),
        (5, 0, "CH2", "TRAUMATISMI (800-999)", ""),
        (6, 5, "820", "Frattura della flumpa", r"Fianco (flumpico)\nFlumpa rotta"),
        (7, 5, "960", "Avvelenamento da flumpine", r"Terchina\nFlumpina mimpica"),
        (8, 0, "CH3", "SINTOMI (780-799)", ""),
        (9, 8, "780", "Terchemia", r"Assenza\nMancanza di terchio\nspecificata\nterchemia"),
        (10, 8, "781", "Flumpemia", r"assenza\nAssenza\nFlumpite"),
        (11, 8, "782", "Flumpite", r"Flumpite acuta"),
    ]
)


def test_sites_substances_and_what_several_codes_share_are_no_names(tmp_path: Path) -> None:
    """Catches "fianco" as a name of one fracture, an antibiotic as that of its poisoning, and "absence" as a disease."""
    (tmp_path / "tree.tsv").write_text(f"{NODES}{ROWS}\n", "utf-8")
    terminology = Terminology.read("icd9cm", tmp_path / "tree.tsv")
    found = {code: names(terminology, f"ICD9CM:{code}")[1:] for code in ("162", "214", "820", "960", "780", "781")}
    assert found == {
        "162": ["Adenocarcinoma gradtico"],
        "214": ["gradtoma", "orlo mimpico"],
        "820": ["Flumpa rotta"],
        "960": [],
        "780": ["Mancanza di terchio"],
        "781": [],
    }
    dropped = terminology.tallies["icd9cm rows"].dropped
    assert dropped["sites and substances, a part of what the title names"] == 5
    assert dropped["names that stand below several codes, or are another's title"] == 4
    assert dropped["lines in lower case, which go on from a title or another line"] == 3
    everything = Terminology.read("icd9cm", tmp_path / "tree.tsv", parts=True)
    assert "Terchina" in names(everything, "ICD9CM:960")


def test_a_title_in_lower_case_goes_on_from_the_one_above(tmp_path: Path) -> None:
    """Catches "complete" as the name of thirty codes."""
    (tmp_path / "tree.tsv").write_text(f"{NODES}{ROWS}\n", "utf-8")
    terminology = Terminology.read("icd9cm", tmp_path / "tree.tsv")
    assert names(terminology, "ICD9CM:214.0") == ["Mimpoma sede non specificata"]


def test_italian_and_english_names_meet_in_one_concept() -> None:
    """Catches two sources of one name, which could not be merged."""
    merged = Terminology.merge(Terminology.read("icd9cm", TABLE), Terminology.read("icd9cm", TREE))
    assert merged.concept_names("ICD9CM:910") == ["Gradthosis", "Gradtosi"]


# ---------------------------------------------------------------- errors

HEADER = "code,billable,short_desc,long_desc,three_digit,major,sub_chapter,chapter\n"
CHAPTER = "1\t0\t1\tdiagnosi\tCH1\tMALATTIE (900-929)\t\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x.txt:1: is not the first line of a code file or tabular list, .*, found ''; set form"),
        ("A000 Mimpic\n", r"x.txt:1: is not the first line of a code file"),
        ("9000 Mimpic\nmimpic\n", r"x.txt:2: expected a code and a name, found 'mimpic'"),
        ("00001 U10     0 Mimpic flumpa\n", r"x.txt:1: expected a code and a name, found '00001 U10"),
        ("9000 Mimpic\n9000 Flumpa\n", r"x.txt:2: code 9000 is listed twice"),
        ("9000 Mimpic\nE90 Flumpa\n", r"x.txt:2: 'E90' is not a diagnosis code of ICD-9-CM \(for ICD-10-CM use"),
        ("9000 Mimpic\n9001 Flumpa\x00\n", r"x.txt:2: contains a NUL character"),
        ("MIMPIC DISEASES (900-909)\nFLUMPA (900-909)\n", r"x.txt:2: 900-909 is the range of two chapters or blocks"),
        (HEADER + "A00,T,a,b,A00,c,d,e\n", r"x.txt:2: 'A00' is not a diagnosis code of ICD-9-CM"),
        (HEADER + "900,T,a,b,900,c,d,e\n900,T,a,b,900,c,d,e\n", r"x.txt:3: code 900 is listed twice"),
        (HEADER + "900,T,a,,900,c,d,e\n", r"x.txt:2: code 900 has an empty long_desc, major or chapter"),
        (HEADER + "9000,T,a,b,901,c,d,e\n", r"x.txt:2: code 9000 does not begin with its three_digit, found '901'"),
        (HEADER + "900,T,a,b,900,c,d,e\n9000,T,a,b,900,c,D,e\n", r"x.txt:3: three_digit 900 has another major"),
        (HEADER + "900,T,a,b\n", r"x.txt:2: 4 cells, expected 8"),
        (NODES + "0\t-1\t0\tdiagnosi\t\tb\t\n", r"x.txt:3: node_id '0' is listed twice"),
        (NODES + "1\t7\t0\tdiagnosi\t\tb\t\n", r"x.txt:3: parent_id '7' is not the node_id of an earlier line"),
        (NODES + "1\t0\t0\tdiagnosi\tCH1\t \t\n", r"x.txt:3: node '1' has an empty label_it"),
        (
            NODES + "1\t0\t0\tdiagnosi\tCH1\tMALATTIE\t\n",
            r"x.txt:3: a chapter's label_it must end with its range, like",
        ),
        (
            NODES + "1\t0\t0\tcure\tCH1\tMALATTIE (900)\t\n",
            r"x.txt:3: section must be one of diagnosi, interventi, found 'c",
        ),
        (NODES + CHAPTER + "2\t1\t2\tdiagnosi\t90\tb\t\n", r"x.txt:4: '90' is not a diagnosis code of ICD-9-CM"),
        (
            NODES + CHAPTER + "2\t1\t2\tinterventi\t900.1\tb\t\n",
            r"x.txt:4: '900.1' is not a procedure code of ICD-9-CM",
        ),
        (NODES + CHAPTER + "2\t1\t2\tdiagnosi\t900-929\tb\t\n", r"x.txt:4: code ICD9CM:900-929 is listed twice"),
    ],
)
def test_malformed_files_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        Terminology.read("icd9cm", tmp_path / "x.txt")


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "CMS99.txt.gz").write_bytes(gzip.compress(CODES.read_bytes())[:-12])
    with pytest.raises(InputError, match=r"CMS99.txt.gz: is not a complete gzip file"):
        Terminology.read("icd9cm", tmp_path / "CMS99.txt.gz")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'icd9cm' needs the path of a code file, a tabular list, a table or a tree"),
        (TABLE, {"form": "csv"}, "unknown form of reader 'icd9cm' 'csv'"),
        (TABLE, {"codes": "both"}, "unknown codes of reader 'icd9cm' 'both'"),
        (TABLE, {"includes": "every"}, "unknown includes of reader 'icd9cm' 'every'"),
        (TREE, {"tabular": TABULAR}, r"tabular of reader 'icd9cm' goes with a code file or a table; .* as a tree"),
        (TABLE, {"tabular": FIXTURES / "nowhere"}, r"nowhere: no such file"),
        (
            TABLE,
            {"form": "tree"},
            r"icd9cm_hierarchy.csv:1: no column 'node_id'.*wrong delimiter\? this line has commas",
        ),
    ],
)
def test_bad_arguments_are_refused(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("icd9cm", path, **options)


@given(data=st.data())
def test_a_damaged_file_is_one_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged_icd9cm"
    source = data.draw(st.sampled_from((CODES, TABULAR, TABLE, TREE)))
    path.write_bytes(data.draw(mutated(source.read_bytes(), b"," if source is TABLE else b"\t")))
    if source is TABULAR:
        check_survives("icd9cm", TABLE, tabular=path)
    check_survives("icd9cm", path, includes="all", tabular=TABULAR if source is TABLE else None)


# ---------------------------------------------------------------- real files


@pytest.mark.realdata
def test_cms_version_32_has_14567_codes(realdata: Path) -> None:
    path = realdata / "hierarchies" / "icd9cm_en_CMS32_DESC_LONG_DX.txt.gz"
    terminology = Terminology.read("icd9cm", path)
    assert terminology.n_concepts == terminology.terms.num_rows == 14_567
    assert terminology.parents.num_rows == 0
    assert terminology.sources["ICD9CM"].version == "32"
    assert any("é" in name for name in terminology.strings)
    assert terminology.tallies["icd9cm rows"].notes == [
        "icd9cm_en_CMS32_DESC_LONG_DX.txt was read as cp1252, since line 622 is not UTF-8"
    ]


@pytest.mark.realdata
def test_hierarchy_table_has_17561_codes_in_19_chapters(realdata: Path) -> None:
    """162 blocks, two of which are whole chapters: 280-289 and 740-759."""
    terminology = Terminology.read("icd9cm", realdata / "hierarchies" / "icd9cm_hierarchy.csv.gz")
    ranges = [code for code in terminology.codes if "-" in code]
    assert terminology.n_concepts - len(ranges) == 17_561
    assert len(ranges) == 19 + 162 - 2
    assert terminology.parents.num_rows == terminology.n_concepts - 19
    assert parents(terminology)["250.00"] == "250.0"
    assert parents(terminology)["249-259"] == "240-279"


@pytest.mark.realdata
def test_tabular_list_lends_10449_inclusion_terms_to_the_table(realdata: Path) -> None:
    """All of its 13,040 codes are in the table; of its 183 chapters and blocks four, which hold blocks, are not.

    12,517 inclusion terms with sites, substances and what several codes share.
    """
    folder = realdata / "hierarchies"
    table, tabular = folder / "icd9cm_hierarchy.csv.gz", folder / "icd9cm_en_Dtab12.txt.gz"
    listed = Terminology.read("icd9cm", tabular)
    both = Terminology.read("icd9cm", table, tabular=tabular)
    alone = Terminology.read("icd9cm", table)
    assert both.terms.num_rows - alone.terms.num_rows == 10_449
    whole = Terminology.read("icd9cm", table, tabular=tabular, parts=True)
    assert whole.terms.num_rows - alone.terms.num_rows == 12_517
    assert listed.n_concepts == 13_223
    assert listed.parents.num_rows == 13_223 - 19
    assert set(both.codes) == set(alone.codes)
    assert sum("-" not in code for code in listed.codes) == 13_040
    assert sorted(set(listed.codes) - set(alone.codes)) == [
        f"ICD9CM:{block}" for block in ("290-299", "800-829", "870-897", "E800-E848")
    ]
    assert names(both, "ICD9CM:006.8")[1:] == ["Amebic appendicitis", "Amebic balanitis", "Ameboma"]


@pytest.mark.realdata
def test_italian_tree_has_19670_codes_below_three_nodes_without_one(realdata: Path) -> None:
    """19,673 nodes; 18 chapters of diagnoses and 17 of procedures."""
    terminology = Terminology.read("icd9cm", realdata / "italian" / "icd9cm_it_tree.tsv.gz")
    assert terminology.n_concepts == 19_673 - 3
    assert sum(code.startswith("ICD9PROC:") for code in terminology.codes) == 4_499 - 1
    assert terminology.parents.num_rows == 19_670 - 18 - 17
    assert terminology.tallies["icd9cm rows"].dropped["nodes without a code"] == 3
    assert terminology.stats()["terms by kind"]["synonym"] == 10_506


@pytest.mark.realdata
def test_italian_and_english_share_their_codes(realdata: Path) -> None:
    """15,032 codes of the table are in the tree; ranges that both have come on top."""
    english = Terminology.read("icd9cm", realdata / "hierarchies" / "icd9cm_hierarchy.csv.gz")
    italian = Terminology.read("icd9cm", realdata / "italian" / "icd9cm_it_tree.tsv.gz")
    shared = set(english.codes) & set(italian.codes)
    assert sum("-" not in code for code in shared) == 15_032
