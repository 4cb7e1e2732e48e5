"""PheCodes 1.2 and X: the tree is in the decimals of the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_survives, mutated

TABLES = {
    "path": FIXTURES / "phecode_1.2.csv",
    "icd_names": FIXTURES / "phecode_icd_names.csv",
    "icd_map": FIXTURES / "phecode_icd_map.csv",
}


class TestPhecode12(ReaderContract):
    reader = "phecode"
    path = FIXTURES / "phecode_1.2.csv"
    options = {"icd_names": TABLES["icd_names"], "icd_map": TABLES["icd_map"]}


class TestPhecodeX(ReaderContract):
    """The official files of version X (1.1), which are cp1252, with their codes that have a letter in front."""

    reader = "phecode"
    path = FIXTURES / "phecodeX_info.csv"
    options = {
        "icd_names": FIXTURES / "phecodeX_ICD_CM_map_flat.csv",
        "icd_map": FIXTURES / "phecodeX_unrolled_ICD_CM.csv",
    }


def parents(terminology: Terminology) -> dict[str, str]:
    rows = terminology.parents.to_pylist()
    return {terminology.codes[row["child"]]: terminology.codes[row["parent"]] for row in rows}


def test_parent_is_the_longest_shorter_code_that_is_defined() -> None:
    """Catches parents by number: 008.50 is not 8.5, and 008.61 has no 008.6 to be below."""
    assert parents(Terminology.read("phecode", FIXTURES / "phecode_1.2.csv")) == {
        "PHECODE:008.5": "PHECODE:008",
        "PHECODE:008.50": "PHECODE:008.5",
        "PHECODE:008.61": "PHECODE:008",
    }


def test_version_x_is_told_by_its_codes_and_loses_its_asterisks() -> None:
    """Catches the column "phenotype", which is the name in one version and the code in the other."""
    terminology = Terminology.read("phecode", FIXTURES / "phecodeX_R_labels.csv")
    assert parents(terminology) == {
        "PHECODEX:FL_705.1": "PHECODEX:FL_705",
        "PHECODEX:FL_705.11": "PHECODEX:FL_705.1",
        "PHECODEX:FL_705.123": "PHECODEX:FL_705.1",
    }
    assert terminology.concept_names("PHECODEX:FL_705.1") == ["Mimpic flumpa disease"]
    assert terminology.sources["PHECODEX"].version == "X"


@pytest.mark.parametrize("name", ["phecodeX_info.csv", "phecodeX_info_1.0.csv"])
def test_the_official_files_of_version_x_are_cp1252_and_the_tally_says_so(name: str) -> None:
    """Catches the official files refused, and a name with another letter: "MimpiÃ¨re"."""
    terminology = Terminology.read("phecode", FIXTURES / name)
    assert terminology.concept_names("PHECODEX:FL_008") == ["Mimpière flumpa [M. flumpa]"]
    note = f"{name} was read as cp1252, since line 2 is not UTF-8"
    assert terminology.tallies["phecode rows"].notes == [note]
    assert note in str(terminology.tallies["phecode rows"])


def test_some_codes_of_version_x_have_a_letter_in_front_of_the_number() -> None:
    """Catches ``NB_N000.71`` refused, or without the code above it."""
    terminology = Terminology.read("phecode", FIXTURES / "phecodeX_info.csv")
    assert {"PHECODEX:NB_N000.71", "PHECODEX:NB_N000.4", "PHECODEX:PP_P000.1"} < set(terminology.codes)
    assert parents(terminology)["PHECODEX:NB_N000.71"] == "PHECODEX:NB_N000.7"
    assert terminology.concept_names("PHECODEX:PP_P000.1") == ['Drodthic – "terkic" – delivery of the flumpa']


def test_the_maps_of_version_x_are_read_in_their_own_encodings() -> None:
    """Catches the encoding of one table taken for that of another, and codes that R writes as numbers."""
    terminology = Terminology.read(
        "phecode",
        FIXTURES / "phecodeX_info.csv",
        icd_names=FIXTURES / "phecodeX_ICD_CM_map_flat.csv",
        icd_map=FIXTURES / "phecodeX_unrolled_ICD_CM.csv",
    )
    assert "Mimpière's flumpa, unspecified" in terminology.concept_names("PHECODEX:FL_008")
    assert ("PHECODEX:FL_705.1", "contains", "ICD9CM:805.40") in xrefs(terminology)
    assert [note.split()[0] for note in terminology.tallies["phecode rows"].notes] == [
        "phecodeX_info.csv",
        "phecodeX_ICD_CM_map_flat.csv",
    ]


def test_the_beta_map_of_icd_10_cm_gives_names_and_codes() -> None:
    """Catches its column ``icd10cm_str``, its encoding, and its rows without a phecode."""
    beta = FIXTURES / "Phecode_map_icd10cm_beta.csv"
    terminology = Terminology.read("phecode", TABLES["path"], icd_names=beta, icd_map=beta)
    assert "Mimpière's flumpa, unspecified" in terminology.concept_names("PHECODE:008.5")
    assert [target for _, _, target in xrefs(terminology)] == ["ICD10CM:U08.0", "ICD10CM:U08.1"]
    assert len(terminology.tallies["phecode rows"].notes) == 1


def test_a_damaged_utf_8_file_is_not_taken_for_cp1252(tmp_path: Path) -> None:
    """Catches "MimpiÃ¨re" in a terminology, because one byte further down was broken."""
    text = (FIXTURES / "phecodeX_info.csv").read_text("cp1252").encode()
    (tmp_path / "x.csv").write_bytes(text.replace(b"Triplet flumpa", b"Triplet\xe8 flumpa"))
    with pytest.raises(InputError, match=r"x.csv:6: is not UTF-8; convert the file"):
        Terminology.read("phecode", tmp_path / "x.csv")


def test_an_encoding_that_is_asked_for_is_taken(tmp_path: Path) -> None:
    terminology = Terminology.read("phecode", FIXTURES / "phecodeX_info.csv", encoding="latin-1")
    assert terminology.tallies["phecode rows"].notes == ["phecodeX_info.csv was read as latin-1"]
    with pytest.raises(InputError, match=r"phecodeX_info.csv:2: is not UTF-8; convert the file"):
        Terminology.read("phecode", FIXTURES / "phecodeX_info.csv", encoding="UTF8")


def test_category_is_the_type_and_null_is_none() -> None:
    """Catches a type called "NULL"."""
    terminology = Terminology.read("phecode", FIXTURES / "phecode_1.2.csv")
    assert terminology.types["type"].to_pylist() == ["flumpal"] * 4


def test_icd_names_become_synonyms_and_damaged_codes_are_counted() -> None:
    terminology = Terminology.read(
        "phecode", FIXTURES / "phecode_1.2.csv", icd_names=FIXTURES / "phecode_icd_names.csv"
    )
    assert terminology.concept_names("PHECODE:008.5") == ["Mimpic flumpa NOS", "Mimpic flumpa disease"]
    assert terminology.tallies["phecode rows"].dropped == {
        "ICD names of no defined phecode": 1,
        "empty ICD names": 1,
        "repeated names of a phecode": 1,
    }


def xrefs(terminology: Terminology) -> list[tuple[str, str, str]]:
    rows = terminology.xrefs.to_pylist()
    return [(terminology.codes[row["concept"]], row["predicate"], row["target"]) for row in rows]


def test_icd_codes_become_cross_references_and_damaged_phecodes_are_counted() -> None:
    """Catches 8.5 taken for 008.5, and a placeholder in lower case as another code."""
    terminology = Terminology.read("phecode", TABLES["path"], icd_map=TABLES["icd_map"])
    assert xrefs(terminology) == [
        ("PHECODE:008.5", "contains", "ICD10CM:U20.1XXA"),
        ("PHECODE:008.5", "contains", "ICD9CM:009.9"),
        ("PHECODE:008.50", "contains", "ICD10CM:U40"),
    ]
    assert terminology.tallies["phecode rows"].dropped == {
        "ICD codes of no defined phecode": 2,
        "empty ICD codes": 1,
        "repeated ICD codes of a phecode": 1,
    }


def test_titles_of_icd_codes_become_synonyms(tmp_path: Path) -> None:
    """Catches a code of ICD-9 named by ICD-10, a code of either without a title, and a title that is the name already."""
    (tmp_path / "icd9.txt").write_text("0099   Mimpic flumpa, unspecified\nE8000  Terkic flumpa\n")
    (tmp_path / "icd10.txt").write_text("U201   Mimpic flumpa disease\nE800   Drodthic gradtha\n")
    (tmp_path / "map.csv").write_text(
        "vocabulary_id,code,phecode\nICD9CM,009.9,008.5\nICD10CM,U20.1,008.5\nICD10CM,E80.0,008.50\n"
        "ICD9CM,E800.0,008\nICD10CM,U20.1,008\nICD10CM,U99,008\nICD10,U20.1,008\n"
    )
    files = {"icd9cm_titles": tmp_path / "icd9.txt", "icd10cm_titles": tmp_path / "icd10.txt"}
    terminology = Terminology.read("phecode", TABLES["path"], icd_map=tmp_path / "map.csv", **files)
    assert terminology.concept_names("PHECODE:008") == ["Flumpa disease", "Mimpic flumpa disease", "Terkic flumpa"]
    assert terminology.concept_names("PHECODE:008.5") == ["Mimpic flumpa disease", "Mimpic flumpa, unspecified"]
    assert terminology.concept_names("PHECODE:008.50") == ["Drodthic gradtha", "Mimpic flumpa disease, left"]
    assert list(terminology.sources) == ["PHECODE"]
    tally = terminology.tallies["phecode rows"]
    assert tally.dropped == {"ICD codes without a title": 1, "repeated names of a phecode": 1}
    assert tally.adds_up()
    assert tally.notes == [f"titles of icd{n}.txt: 2 read, 2 kept, 0 dropped" for n in (9, 10)]
    assert len(xrefs(terminology)) == 7
    with pytest.raises(InputError, match="icd10cm_titles of reader 'phecode' needs icd_map"):
        Terminology.read("phecode", TABLES["path"], icd10cm_titles=tmp_path / "icd10.txt")


@pytest.mark.parametrize(
    ("rows", "target"),
    [
        ("ICD10CM,icd_str,PheCode\nU40,a,008\n", "ICD10CM:U40"),
        ("ICD9,ICD9 String,PheCode\n009.9,a,008\n", "ICD9CM:009.9"),
        ("icd,flag,phecode\nU40,10,008\n", "ICD10CM:U40"),
        ("phecode,Vocabulary ID,code\n008,ICD10,U40\n", "ICD10:U40"),
    ],
)
def test_the_vocabulary_of_a_map_is_in_a_column_or_its_name(tmp_path: Path, rows: str, target: str) -> None:
    (tmp_path / "map.csv").write_text(rows)
    terminology = Terminology.read("phecode", TABLES["path"], icd_map=tmp_path / "map.csv")
    assert xrefs(terminology) == [("PHECODE:008", "contains", target)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "vocabulary_id,code,phecode\nSNOMED,1,008\n",
            r"map.csv:2: vocabulary must be one of ICD9CM, .*, found 'SNOMED'",
        ),
        ("code,phecode\nU40,008\n", r"map.csv:1: no column 'vocabulary_id' or 'vocabulary' or 'flag'"),
        ("vocabulary_id,phecode\nICD10,008\n", r"map.csv:1: no column 'code' or 'icd'"),
    ],
)
def test_bad_maps_are_named_by_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "map.csv").write_text(rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("phecode", TABLES["path"], icd_map=tmp_path / "map.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("008,a\n8.5,b\n", r"x.csv:3: '8.5' is not a phecode of version 1.2"),
        ("8.5,b\n", r"x.csv:2: '8.5' is not a phecode"),
        ("008,a\nCM_705,b\n", r"x.csv:3: 'CM_705' is not a phecode of version 1.2"),
        ("008,a\n008,b\n", r"x.csv:3: phecode '008' is defined twice"),
        ("008,\n", r"x.csv:2: phecode '008' has an empty name"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "x.csv").write_text("phecode,description\n" + rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("phecode", tmp_path / "x.csv")


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="needs the path of the definitions"):
        Terminology.read("phecode")


@given(data=st.data())
def test_a_damaged_file_is_one_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    damaged = tmp_path_factory.getbasetemp() / "damaged_phecode.csv"
    which = data.draw(st.sampled_from(sorted(TABLES)))
    damaged.write_bytes(data.draw(mutated(TABLES[which].read_bytes(), b",")))
    tables = {**TABLES, which: damaged}
    check_survives("phecode", tables.pop("path"), **tables)


@pytest.mark.realdata
def test_map_of_phecode_1_2_links_73393_icd_codes(realdata: Path) -> None:
    """84,532 rows, of which 11,012 name a phecode that is not defined and 127 repeat a code in lower case."""
    folder = realdata / "hierarchies"
    terminology = Terminology.read(
        "phecode",
        folder / "phecode1.2_pheinfo.csv.gz",
        icd_map=folder / "phecode1.2_map_icd9cm_icd10cm.csv.gz",
    )
    assert terminology.n_concepts == 1_817
    assert terminology.tallies["phecode rows"].n_read == 1_817 + 84_532
    assert terminology.tallies["phecode rows"].dropped == {
        "ICD codes of no defined phecode": 11_012,
        "repeated ICD codes of a phecode": 127,
    }
    assert terminology.xrefs.num_rows == 84_532 - 11_012 - 127
