"""``st-biomed show``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from st_biomed.records import Definition, Parent, Relation, SourceInfo, Term, Type, Xref
from st_biomed.terminology import Terminology

RECORDS = [
    Term("ZORB:1", "flumpa disease"),
    Term("ZORB:1", "flumpitis", kind="synonym"),
    Term("ZORB:1", "malattia del flumpa", kind="synonym", language="it"),
    Term("ZORB:2", "gradtha"),
    *(Term(f"ZORB:3{i:02}", f"flumpitis {i}") for i in range(22)),
    *(Parent(f"ZORB:3{i:02}", "ZORB:1") for i in range(22)),
    Type("ZORB:1", "disorder"),
    Parent("ZORB:1", "ZORB:2"),
    Relation("ZORB:1", "has_site", "ZORB:2"),
    Xref("ZORB:1", "ICD10:Z9.9"),
    Xref("ZORB:1", "ICD10:Z9", "mapsTo"),
    Xref("ZORB:2", "MIM:7"),
    Definition("ZORB:1", "A disease of the flumpa.", "en"),
]


def test_all_that_is_known_of_a_concept_is_shown(run: Callable, tmp_path: Path) -> None:
    """Each table once; catches rows of another concept, and a list of thousands of children."""
    Terminology.from_records(RECORDS, SourceInfo(name="ZORB", title="Zorb", license="CC0-1.0")).save(tmp_path / "zorb")
    result = run("show", tmp_path / "zorb", "ZORB:1", "ZORB:300")
    assert result.exit_code == 0, result.output
    first, second = (part.splitlines() for part in result.stdout.split("\n\n"))
    assert first[:6] == [
        "ZORB:1  flumpa disease",
        "  name        flumpa disease (preferred, en, ZORB)",
        "  name        flumpitis (synonym, en, ZORB)",
        "  name        malattia del flumpa (synonym, it, ZORB)",
        "  type        disorder",
        "  parent      ZORB:2 gradtha",
    ]
    assert first[6] == "  child       ZORB:300 flumpitis 0" and first[26] == "  child       and 2 more"
    assert first[27:] == [
        "  relation    has_site ZORB:2 gradtha",
        "  xref        ICD10:Z9 (mapsTo)",
        "  xref        ICD10:Z9.9 (xref)",
        "  definition  A disease of the flumpa. (en)",
    ]
    assert second == [
        "ZORB:300  flumpitis 0",
        "  name        flumpitis 0 (preferred, en, ZORB)",
        "  parent      ZORB:1 flumpa disease",
    ]


def test_an_unknown_code_is_one_line(refused: Callable[..., str]) -> None:
    assert "no concept has code 'TOY:9'; codes look like 'TOY:D0'" in refused("show", "toy", "TOY:D0", "TOY:9")
