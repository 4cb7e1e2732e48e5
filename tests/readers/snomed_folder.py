"""Two editions of invented concepts, what the tests look at in them, and how they spoil them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

BOTH = FIXTURES / "snomed"
INTERNATIONAL = "SnomedCT_InternationalRF2_PRODUCTION_20310101T120000Z"
NATIONAL = "SnomedCT_ManagedServiceZZ_PRODUCTION_ZZ1000999_20310301T120000Z"
TERMINOLOGY, REFSET = f"{INTERNATIONAL}/Snapshot/Terminology", f"{INTERNATIONAL}/Snapshot/Refset"
FILES = {
    "Concept": f"{TERMINOLOGY}/sct2_Concept_Snapshot_INT_20310101.txt",
    "Description": f"{TERMINOLOGY}/sct2_Description_Snapshot-en_INT_20310101.txt",
    "TextDefinition": f"{TERMINOLOGY}/sct2_TextDefinition_Snapshot-en_INT_20310101.txt",
    "Relationship": f"{TERMINOLOGY}/sct2_Relationship_Snapshot_INT_20310101.txt",
    "StatedRelationship": f"{TERMINOLOGY}/sct2_StatedRelationship_Snapshot_INT_20310101.txt",
    "Language": f"{REFSET}/Language/der2_cRefset_LanguageSnapshot-en_INT_20310101.txt",
    "ExtendedMap": f"{REFSET}/Map/der2_iisssccRefset_ExtendedMapSnapshot_INT_20310101.txt",
    "SimpleMap": f"{REFSET}/Map/der2_sRefset_SimpleMapSnapshot_INT_20310101.txt",
}
"""Kind to the file of the international edition."""

ROOT, DISORDER, MIMPIC, FLUMPA, SEEN_IN, OLD, TERKIA, BELZOR, QUIZOR = (
    *("9900001008", "9900002001", "9900003006", "9900004000", "9900005004", "9900006003", "9900007007", "9900008002"),
    "121000999106",
)
ITALIAN = "111000999104"
"""The language reference set of the national edition."""


def read(path: Path = BOTH, **options: Any) -> Terminology:
    return Terminology.read("snomed", path, **options)


def bare(code: str) -> str:
    return code.removeprefix("SNOMEDCT:")


def names(terminology: Terminology) -> dict[str, set[str]]:
    return {bare(code): set(terminology.concept_names(code)) for code in terminology.codes}


def preferred(terminology: Terminology) -> dict[str, str]:
    rows = [row for row in terminology.terms.to_pylist() if row["kind"] == "preferred"]
    return {bare(terminology.codes[row["concept"]]): terminology.strings[row["text"]] for row in rows}


def rows(terminology: Terminology, table: str) -> set[tuple[str, ...]]:
    """The rows of a table without their sources, concepts by their identifiers."""
    ends = ("concept", "child", "parent", "head", "tail")
    return {
        tuple(
            bare(terminology.codes[value]) if name in ends else value
            for name, value in row.items()
            if name != "source"
        )
        for row in getattr(terminology, table).to_pylist()
    }


def change(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file, with ``|`` for the tabs."""
    data = path.read_bytes()
    old, new = old.replace("|", "\t"), new.replace("|", "\t")
    assert old.encode() in data, old
    path.write_bytes(data.replace(old.encode(), new.encode("latin-1"), 1))
