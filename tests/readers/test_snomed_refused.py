"""SNOMED CT: damaged files, missing files and options that nothing answers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.records import Rows
from tests.readers.mutations import check_contract, check_survives, mutated
from tests.readers.snomed_folder import BOTH, DISORDER, FILES, INTERNATIONAL, MIMPIC, NATIONAL, change, names, read


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The two editions in a folder of one's own, to be changed."""
    return Path(shutil.copytree(BOTH, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("Concept", "9900003006|", "9900003007|", r"_20310101.txt:4: id must be an identifier of concepts with .*, found '9900003007'"),
        ("Concept", "9900003006|", "9900001017|", r":4: id must be an identifier of concepts .* found '9900001017'"),
        ("Concept", "9900003006|", "C9900003|", r":4: id must be a number up to 9+, found 'C9900003'"),
        ("Concept", "9900003006|20290731", "9900003006|2029", r":4: effectiveTime must be a date like 20240131, found '2029'"),
        ("Concept", "9900003006|20290731|1", "9900003006|20290731|2", r":4: active must be 0 or 1, found '2'"),
        ("Concept", "effectiveTime|", "time|", r"INT_20310101.txt:1: 0 columns are called 'effectiveTime'"),
        ("Description", "Mimpic thing", "Mimpic|thing", r"Snapshot-en_INT_20310101.txt:10: 10 cells, expected 9 separated by tabs"),
        ("Description", "Mimpic thing", "Mimpic\xe9thing", r"_INT_20310101.txt:10: is not UTF-8"),
        ("Relationship", "|1|9900005004", "||9900005004", None),
        ("Relationship", "|9900005004|", "||", r"Relationship_Snapshot_INT_20310101.txt:8: typeId must be a number up to 9+, found ''"),
        ("Language", "-", "_", r"LanguageSnapshot-en_INT_20310101.txt:2: id must be a UUID, found '"),
        ("ExtendedMap", "|2|1|TRUE", "|two|1|TRUE", r"ExtendedMapSnapshot_INT_20310101.txt:4: mapGroup must be a number up to 9+, found 'two'"),
    ],
)  # fmt: skip
def test_bad_rows_are_named_by_line(copy: Path, kind: str, old: str, new: str, message: str | None) -> None:
    """An id with a wrong digit, a row of another width and a cell of another kind are refused; unread cells are not."""
    change(copy / FILES[kind], old, new)
    if message is None:
        assert read(copy).digest == read().digest
        return
    with pytest.raises(InputError, match=message) as error:
        read(copy)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("missing", "options", "message"),
    [
        ("Concept", {}, "no sct2_Concept_Snapshot file in it or below .only Delta files, and a snapshot is read."),
        ("Description", {}, "no sct2_Description_Snapshot file in it or below"),
        (
            "Relationship",
            {},
            "no sct2_Relationship_Snapshot file in it or below, which view=inferred needs; view=none",
        ),
        ("StatedRelationship", {"view": "stated"}, "no sct2_StatedRelationship_Snapshot file"),
        (
            "Language",
            {"dialect": "900000000000509007"},
            r"no der2_\*Refset_LanguageSnapshot file .* which dialect needs",
        ),
    ],
)
def test_missing_files_are_named(copy: Path, missing: str, options: dict[str, Any], message: str) -> None:
    (copy / FILES[missing]).unlink()
    with pytest.raises(InputError, match=message):
        read(copy / INTERNATIONAL, **options)


def test_names_alone_are_enough_where_nothing_else_is_asked_for(copy: Path) -> None:
    """Catches a release without reference sets that cannot be read, and that nobody is told of it."""
    for kind, file in FILES.items():
        if kind not in ("Concept", "Description"):
            (copy / file).unlink()
    terminology = read(copy / INTERNATIONAL, view="none")
    assert names(terminology) == names(read(BOTH / INTERNATIONAL))
    assert [note for note in terminology.tallies["snomed rows"].notes if note.startswith("no ")] == [
        "no language reference set: fully specified names are the preferred ones",
        "no sct2_TextDefinition_Snapshot file: no text definitions were read",
        "no map to ICD10, ICD10CM: no map reference set",
    ]


def test_a_default_map_without_a_row_is_told() -> None:
    """Catches a release without the map to ICD-10-CM, and nothing that says so."""
    notes = read(BOTH / INTERNATIONAL).tallies["snomed rows"].notes
    assert "no map to ICD10CM: no active row of its reference set" in notes
    assert not any(note.startswith("no map") for note in read().tallies["snomed rows"].notes)


@pytest.mark.parametrize("kind", ["Concept", "ExtendedMap", "TextDefinition"])
def test_a_file_that_ends_within_its_last_cell_is_refused(copy: Path, kind: str) -> None:
    """Catches a half of the last row taken for the whole, also in a column that nobody reads and in the header."""
    file = copy / FILES[kind]
    data = file.read_bytes()
    for cut in (data[:-4], data[:-2], data.partition(b"\r\n")[0][:-1]):
        file.write_bytes(cut)
        line = 1 + cut.count(b"\n")
        with pytest.raises(
            InputError, match=rf"{file.name}:{line}: the file is truncated: its last line has no line break"
        ):
            read(copy)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'snomed' needs the path of the unpacked folder of a release"),
        (BOTH / "nowhere", {}, "nowhere: no such folder"),
        (BOTH, {"also": "nowhere"}, "nowhere: no such folder"),
        (BOTH, {"view": "owl"}, "unknown view of reader 'snomed' 'owl'"),
        (BOTH, {"languages": "ita"}, "unknown value of option languages .no active description has it. 'ita'"),
        (BOTH, {"dialect": "en"}, "dialect of reader 'snomed' must be the identifier of a language .* found 'en'"),
        (BOTH, {"dialect": MIMPIC}, f"unknown value of option dialect .no active row has it. '{MIMPIC}'"),
        (BOTH, {"maps": "ICD9"}, "unknown map of reader 'snomed' .* 'ICD9'"),
        (BOTH, {"maps": "OWN=1"}, "maps of reader 'snomed' must be PREFIX=identifier of a reference set, found 'OWN=1'"),
        (BOTH, {"maps": "ICDO"}, "unknown reference set of option maps .no active row has that of .*. '446608001'"),
        (BOTH, {"maps": f"OWN={DISORDER}"}, "unknown reference set of option maps"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(path, **options)  # type: ignore[arg-type]


def test_stated_relationships_that_are_all_inactive_are_told(copy: Path) -> None:
    """Catches a hierarchy without parents: releases since 2019 state them as OWL axioms."""
    file = copy / FILES["StatedRelationship"]
    file.write_text(file.read_text("utf-8").replace("\t1\t9", "\t0\t9"), "utf-8")
    with pytest.raises(
        InputError, match="no active row in the StatedRelationship files; stated .* take view=inferred"
    ):
        read(copy, view="stated")


def test_an_edition_without_descriptions_has_no_names(copy: Path) -> None:
    """Catches a traceback of files that hold their header alone."""
    for file in copy.rglob("*Description*.txt"):
        file.write_text(file.read_text("utf-8").partition("\n")[0] + "\n", "utf-8")
    with pytest.raises(InputError, match="no term was read .74 read"):
        read(copy)


def test_an_extension_alone_is_told_what_it_needs(copy: Path) -> None:
    """Catches an error that names neither the folder that is missing nor the option."""
    file = copy / FILES["Relationship"]
    file.write_text(file.read_text("utf-8").partition("\n")[0] + "\n", "utf-8")
    shutil.rmtree(copy / NATIONAL)
    with pytest.raises(InputError, match="no active row in the Relationship files; an extension is .* also=FOLDER"):
        read(copy)


@pytest.mark.parametrize("block", [60, 700])
def test_small_blocks_and_blank_lines_change_nothing(copy: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a header taken for a row, rows that two blocks lose, and lines that are counted nowhere."""
    whole = read()
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", block)
    assert read().digest == whole.digest
    for kind in FILES:
        file = copy / FILES[kind]
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:2]) + b"\r\n" + b"".join(lines[2:]))
    spaced = read(copy)
    assert spaced.digest == whole.digest
    assert sum(n for reason, n in spaced.tallies["snomed rows"].dropped.items() if "blank" in reason) == len(FILES) - 1


@pytest.mark.long
@given(data=st.data())
def test_a_damaged_file_is_one_line_or_read_by_the_contract(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged_snomed"
    shutil.copytree(BOTH, folder, dirs_exist_ok=True)
    file = data.draw(st.sampled_from(sorted(FILES.values())))
    (folder / file).write_bytes(data.draw(mutated((BOTH / file).read_bytes(), b"\t")))
    records = check_survives(
        "snomed", folder, maps="ICD10,CTV3", view=data.draw(st.sampled_from(("inferred", "stated")))
    )
    check_contract("snomed", [one for r in records for one in (r.one_by_one() if isinstance(r, Rows) else [r])])
