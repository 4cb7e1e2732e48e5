"""ICD-9-CM as it is published: how many codes and names there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from tests.readers.icd9cm_files import names, parents


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
def test_tabular_list_lends_10394_inclusion_terms_to_the_table(realdata: Path) -> None:
    """All of its 13,040 codes are in the table; of its 183 chapters and blocks four, which hold blocks, are not.

    12,442 inclusion terms with sites, substances and what several codes share.
    """
    folder = realdata / "hierarchies"
    table, tabular = folder / "icd9cm_hierarchy.csv.gz", folder / "icd9cm_en_Dtab12.txt.gz"
    listed = Terminology.read("icd9cm", tabular)
    both = Terminology.read("icd9cm", table, tabular=tabular)
    alone = Terminology.read("icd9cm", table)
    assert both.terms.num_rows - alone.terms.num_rows == 10_394
    whole = Terminology.read("icd9cm", table, tabular=tabular, parts=True)
    assert whole.terms.num_rows - alone.terms.num_rows == 12_442
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
    assert terminology.stats()["terms by kind"]["synonym"] == 10_503


@pytest.mark.realdata
def test_italian_and_english_share_their_codes(realdata: Path) -> None:
    """15,032 codes of the table are in the tree; ranges that both have come on top."""
    english = Terminology.read("icd9cm", realdata / "hierarchies" / "icd9cm_hierarchy.csv.gz")
    italian = Terminology.read("icd9cm", realdata / "italian" / "icd9cm_it_tree.tsv.gz")
    shared = set(english.codes) & set(italian.codes)
    assert sum("-" not in code for code in shared) == 15_032
