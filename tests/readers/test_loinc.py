"""LOINC: codes with their status, parts as ancestors, and the places of a release where its tables lie."""

from __future__ import annotations

import csv
import gzip
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_survives, mutated

FOLDER = FIXTURES / "loinc"
TABLE = "LoincTableCore/LoincTableCore.csv"
VARIANTS = "AccessoryFiles/LinguisticVariants"
ITALIAN, LISTED = f"{VARIANTS}/itIT91LinguisticVariant.csv", f"{VARIANTS}/LinguisticVariants.csv"
HIERARCHY = "AccessoryFiles/ComponentHierarchyBySystem/ComponentHierarchyBySystem.csv"


class TestLoinc(ReaderContract):
    reader = "loinc"
    path = FOLDER
    options = {"synonyms": "SHORTNAME,COMPONENT"}


class TestLoincInAllLanguages(ReaderContract):
    reader = "loinc"
    path = FOLDER
    options = {"languages": "all"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The release in a folder of one's own, to be changed."""
    shutil.copytree(FOLDER, tmp_path / "copy")
    return tmp_path / "copy"


def parents(terminology: Terminology) -> set[tuple[str, str]]:
    codes = [code.split(":")[1] for code in terminology.codes]
    return {(codes[row["child"]], codes[row["parent"]]) for row in terminology.parents.to_pylist()}


def test_hierarchy_has_parts_above_codes_and_several_parents() -> None:
    """Catches one parent per code, and a path read instead of the immediate parent."""
    terminology = Terminology.read("loinc", FOLDER)
    assert parents(terminology) == {
        ("LP900002-3", "LP900001-5"),
        ("LP900004-9", "LP900001-5"),
        ("LP900003-1", "LP900002-3"),
        ("LP900003-1", "LP900004-9"),
        ("90001-1", "LP900003-1"),
        ("90001-1", "LP900004-9"),
        ("90002-9", "LP900003-1"),
    }
    assert terminology.concept_names("LOINC:LP900003-1") == ["Flumpate | Serum or Plasma"]


def test_deprecated_codes_are_dropped_and_counted_in_both_tables() -> None:
    terminology = Terminology.read("loinc", FOLDER)
    assert "LOINC:90004-5" not in terminology.codes
    assert terminology.tallies["loinc rows"].dropped == {
        "deprecated codes": 1,
        "hierarchy rows of a code that is left out": 1,
        "hierarchy rows below a code without a name": 1,
        "repeated hierarchy rows": 1,
    }
    chosen = Terminology.read("loinc", FOLDER, statuses="DEPRECATED, ACTIVE")
    assert [code for code in chosen.codes if "LP" not in code] == ["LOINC:90001-1", "LOINC:90004-5", "LOINC:90005-2"]
    assert ("90004-5", "LP900003-1") in parents(chosen)


def test_long_common_name_is_preferred_and_other_columns_are_synonyms_on_request() -> None:
    """Catches an empty short name as a text, and one that repeats the long name."""
    terminology = Terminology.read("loinc", FOLDER)
    assert terminology.concept_names("LOINC:90002-9") == [
        "Flumpate Free Plsm-mCnc",
        'Flumpate Free [Mass/volume] in Serum, Plasma or "gradtha"',
    ]
    assert terminology.concept_names("LOINC:90003-7") == ["Terkin [Interpretation] in Blood"]
    assert terminology.concept_names("LOINC:90005-2") == ["Mimpic panel"]
    component = Terminology.read("loinc", FOLDER, synonyms=["COMPONENT"])
    assert component.concept_names("LOINC:90001-1") == ["Flumpate", "Flumpate [Mass/volume] in Serum or Plasma"]
    assert Terminology.read("loinc", FOLDER, synonyms="").stats()["terms by kind"] == {"preferred": 8}


def names_in(language: str, terminology: Terminology) -> set[tuple[str, str, str]]:
    """Code, name and kind of the names in a language."""
    return {
        (terminology.codes[row["concept"]].split(":")[1], terminology.strings[row["text"]], row["kind"])
        for row in terminology.terms.to_pylist()
        if row["language"] == language
    }


def test_variants_are_synonyms_in_their_language() -> None:
    """Catches names in other languages called English or preferred, and parts and related names taken for names."""
    terminology = Terminology.read("loinc", FOLDER, languages="it")
    short = {("90001-1", "Flumpato SP-mCnc", "synonym")}
    long = {
        ("90001-1", "Flumpato [Massa/volume] in Siero o Plasma", "synonym"),
        ("90001-1", 'Flumpato, siero o "plasma"', "synonym"),
        ("90003-7", "Terkina [Interpretazione] nel Sangue", "synonym"),
    }
    assert names_in("it", terminology) == short | long
    assert names_in("it", Terminology.read("loinc", FOLDER, languages="it", synonyms="")) == long
    components = names_in("it", Terminology.read("loinc", FOLDER, languages="it-IT", synonyms="COMPONENT"))
    assert ("90002-9", "Flumpato.libero", "synonym") in components
    plain = Terminology.read("loinc", FOLDER)
    assert names_in("en", terminology) == names_in("en", plain)
    assert names_in("it", plain) == set()


def test_variants_of_several_countries_repeat_no_name() -> None:
    """Catches a name twice in one language, and a row that no count has."""
    terminology = Terminology.read("loinc", FOLDER, languages="all")
    spanish = {("90001-1", "Flumpata en suero", "synonym"), ("90003-7", "Terkina", "synonym")}
    assert names_in("es", terminology) == spanish | {
        ("90003-7", "Terkina en sangre", "synonym"),
        ("90003-7", "Terkina sanguínea", "synonym"),
    }
    assert names_in("es", Terminology.read("loinc", FOLDER, languages=["es-MX"])) == spanish | {
        ("90003-7", "Terkina en sangre", "synonym")
    }
    tally = terminology.tallies["loinc rows"]
    assert tally.adds_up()
    variants = {reason: n for reason, n in tally.dropped.items() if reason.startswith("variant")}
    assert variants == {
        "variant rows of a code that is left out": 1,
        "variant rows without a name": 1,
        "variant rows of repeated names": 1,
    }


def test_variants_before_the_display_name_are_read(copy: Path) -> None:
    with (copy / ITALIAN).open(encoding="utf-8", newline="") as file:
        rows = [row[:-1] for row in csv.reader(file)]
    with (copy / ITALIAN).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    assert len(names_in("it", Terminology.read("loinc", copy, languages="it"))) == 3


def test_variants_that_are_not_there_are_named(copy: Path) -> None:
    with pytest.raises(InputError, match="unknown language of reader 'loinc' 'ita'.*'es-AR', 'es-MX', 'it'"):
        Terminology.read("loinc", copy, languages="ita")
    (copy / ITALIAN).unlink()
    assert Terminology.read("loinc", copy, languages="es").n_concepts == 8
    with pytest.raises(
        InputError, match="contains no itIT91LinguisticVariant.csv, which LinguisticVariants.csv lists"
    ):
        Terminology.read("loinc", copy, languages="it")
    (copy / LISTED).unlink()
    with pytest.raises(InputError, match="contains no LinguisticVariants.csv, which languages need; looked in Acc"):
        Terminology.read("loinc", copy, languages="es")


def test_version_is_the_newest_change_by_number() -> None:
    """Catches versions compared as strings: "3.9" is older than "3.10"."""
    assert Terminology.read("loinc", FOLDER).sources["LOINC"].version == "3.10"


@pytest.mark.parametrize(
    ("table", "hierarchy"),
    [
        ("LoincTable/Loinc.csv", "AccessoryFiles/MultiAxialHierarchy/MultiAxialHierarchy.csv"),
        ("LoincTableCore.csv.gz", "ComponentHierarchyBySystem.csv.gz"),
        ("LoincTable/LoincTableCore.csv", "MultiAxialHierarchy.csv"),
    ],
)
def test_tables_are_found_where_releases_have_them(tmp_path: Path, table: str, hierarchy: str) -> None:
    for source, place in ((TABLE, table), (HIERARCHY, hierarchy)):
        content = (FOLDER / source).read_bytes()
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(gzip.compress(content) if place.endswith(".gz") else content)
    assert Terminology.read("loinc", tmp_path).digest == Terminology.read("loinc", FOLDER).digest


def test_columns_of_the_whole_table_are_read_from_it_in_a_complete_release(copy: Path) -> None:
    """Catches the table of core columns taken first, which has neither display nor consumer names."""
    with (copy / TABLE).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    (copy / "LoincTable").mkdir()
    with (copy / "LoincTable/Loinc.csv").open("w", encoding="utf-8", newline="") as file:
        more = [[*row, f"Display {i}", f"Consumer {i}"] for i, row in enumerate(rows)]
        csv.writer(file).writerows([[*header, "DisplayName", "CONSUMER_NAME"], *more])
    for column, name in (("DisplayName", "Display 0"), ("CONSUMER_NAME", "Consumer 0")):
        terminology = Terminology.read("loinc", copy, synonyms=column)
        assert name in terminology.concept_names("LOINC:90001-1")
    assert Terminology.read("loinc", copy).digest == Terminology.read("loinc", FOLDER).digest
    with pytest.raises(InputError, match="LoincTableCore.csv:1: no column 'DisplayName'"):
        Terminology.read("loinc", FOLDER, synonyms="DisplayName")


def test_without_a_hierarchy_codes_are_read_alone_when_asked(copy: Path, tmp_path: Path) -> None:
    (copy / HIERARCHY).unlink()
    with pytest.raises(
        InputError, match=r"contains none of .*MultiAxialHierarchy.csv; hierarchy=False reads only the codes"
    ):
        Terminology.read("loinc", copy)
    assert Terminology.read("loinc", copy, hierarchy=False).n_concepts == 4
    with pytest.raises(InputError, match=r"contains none of LoincTableCore/LoincTableCore.csv, "):
        Terminology.read("loinc", tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (TABLE, '"90002-9"', '"9000X"', r"Core.csv:3: '9000X' is not a LOINC code; they look like 2345-7"),
        (TABLE, '"90002-9"', '"90001-1"', r"Core.csv:3: LOINC code 90001-1 is listed twice"),
        (TABLE, '"TRIAL"', '"OLD"', r"Core.csv:3: STATUS must be one of ACTIVE, .*, found 'OLD'"),
        (TABLE, '"Terkin [Interpretation] in Blood"', '" "', r"Core.csv:4: LOINC code 90003-7 has an empty LONG_C"),
        (TABLE, '"STATUS",', "", r"Core.csv:1: no column 'STATUS'"),
        (TABLE, '"MCnc","Pt"', '"Pt"', r"Core.csv:2: 14 cells, expected 15"),
        (HIERARCHY, '"LP900002-3","Flump', '"XX","Flump', r"System.csv:3: CODE must be a part like .* found 'XX'"),
        (HIERARCHY, '"Flumpology"', '""', r"System.csv:3: part LP900002-3 has an empty CODE_TEXT"),
        (ITALIAN, '"90003-7"', '"LP9-7"', r"itIT91LinguisticVariant.csv:4: 'LP9-7' is not a LOINC code"),
        (ITALIAN, '"LONG_COMMON_NAME"', '"LONG"', r"itIT91LinguisticVariant.csv:1: no column 'LONG_COMMON_NAME'"),
        (
            LISTED,
            '"92"',
            '"X"',
            r"LinguisticVariants.csv:3: a variant has an ID, a language and .* \['X', 'es', 'MX'\]",
        ),
        (HIERARCHY, '"LP900009-8","90003-7"', '"90003-7","90003-7"', r"System.csv:12: code '90003-7' is its own par"),
    ],
)
def test_bad_rows_are_named_by_line(copy: Path, file: str, old: str, new: str, message: str) -> None:
    text = (copy / file).read_text("utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        Terminology.read("loinc", copy, languages="it")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'loinc' needs the path of the unpacked folder"),
        (FOLDER / TABLE, {}, r"LoincTableCore.csv: no such folder"),
        (
            FOLDER,
            {"synonyms": "SHORTNAMES"},
            "unknown synonyms of reader 'loinc' 'SHORTNAMES'.*did you mean 'SHORTNAME'",
        ),
        (FOLDER, {"statuses": "active"}, "unknown statuses of reader 'loinc' 'active'"),
    ],
)
def test_bad_arguments_are_refused(path: Path | None, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("loinc", path, **options)


@pytest.mark.long
@given(data=st.data())
def test_a_damaged_file_is_one_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged_loinc"
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    file = data.draw(st.sampled_from((TABLE, HIERARCHY, ITALIAN, LISTED)))
    (folder / file).write_bytes(data.draw(mutated((FOLDER / file).read_bytes(), b",")))
    check_survives("loinc", folder, synonyms="SHORTNAME,COMPONENT", languages="it")
