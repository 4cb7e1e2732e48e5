"""The tabular list of ICD-9-CM: chapters, items of a list, inclusion terms, and what is no name."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from tests.readers.icd9cm_files import TABULAR, TREE, names, parents


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
