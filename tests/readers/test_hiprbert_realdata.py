"""The trees of HiPrBERT that open files give: PheCodes with the titles of their ICD codes, codes below nameless categories."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology
from st_biomed.training_data import split_by_subtree

pytestmark = pytest.mark.realdata

INTEGER = r"PHECODE:\d{3,4}"


@pytest.fixture(scope="module")
def phecodes(realdata: Path) -> Terminology:
    folder = realdata / "hierarchies"
    return Terminology.read(
        "phecode",
        folder / "phecode1.2_pheinfo.csv.gz",
        icd_map=folder / "phecode1.2_map_icd9cm_icd10cm.csv.gz",
        icd9cm_titles=folder / "icd9cm_hierarchy.csv.gz",
        icd10cm_titles=folder / "icd10cm2019.csv.gz",
    )


def test_phecodes_have_40259_titles_of_icd_codes(phecodes: Terminology) -> None:
    """Of 73,393 mapped codes 28,920 have no title, most of them seventh-character extensions; 4,214 titles repeat."""
    codes = [code.removeprefix("PHECODE:") for code in phecodes.codes]
    assert len(codes) == 1_817
    assert sum("." not in code for code in codes) == 543
    assert len({code.partition(".")[0] for code in codes}) == 544
    assert phecodes.stats()["terms by kind"] == {"preferred": 1_817, "synonym": 40_259}
    assert phecodes.n_texts == 40_504
    assert phecodes.parents.num_rows == 1_273
    assert len(phecodes.ambiguous_texts) == 1_485
    assert phecodes.stats()["concepts with synonyms"] == 1_663
    tally = phecodes.tallies["phecode rows"]
    assert tally.dropped["ICD codes without a title"] == 28_920
    assert tally.dropped["repeated names of a phecode"] == 4_214
    assert tally.adds_up()
    assert 73_393 - 28_920 - 4_214 == 40_259


def test_1612_phecodes_are_in_trees_of_two_or_more(phecodes: Terminology) -> None:
    """The paper has 1,601 nodes (3.1), of a version and by a count that it does not state."""
    ends = [phecodes.parents[end].to_numpy() for end in ("child", "parent")]
    assert len(np.union1d(*ends)) == 1_612


def test_100_integer_phecodes_are_held_out_with_all_their_names(phecodes: Terminology) -> None:
    """The size of the paper's test ("randomly selected evaluation pairs from hierarchies that were not used", 4.2)."""
    splits = split_by_subtree(phecodes, pattern=INTEGER, dev=20, test=100, seed=0)
    assert sum(re.fullmatch(INTEGER, code) is not None for code in splits.test.codes) == 100
    assert (splits.test.n_concepts, splits.test.n_texts) == (334, 6_417)
    assert not set(splits.train.codes) & set(splits.test.codes)
    assert not {text.lower() for text in splits.train.strings} & {text.lower() for text in splits.test.strings}


def test_727_nameless_categories_of_ccs_hold_icd_codes_together(realdata: Path, tmp_path: Path) -> None:
    """As CPT's procedures hang under categories that are a number alone; without these no code has a parent.

    25 of 15,781 edges have an ICD code that the table of names lacks.
    """
    folder = realdata / "hierarchies"
    ccs = Terminology.read("ccs", folder / "ccs_multi_dx_tool_2015.csv.gz")
    edges = [(ccs.codes[row["parent"]], ccs.codes[row["child"]]) for row in ccs.parents.to_pylist()]
    for row in ccs.xrefs.to_pylist():
        if row["predicate"] == "contains":
            edges.append((ccs.codes[row["concept"]], row["target"].removeprefix("ICD9CM:").replace(".", "")))
    (tmp_path / "map.csv").write_text("parent,child\n" + "".join(f"{above},{below}\n" for above, below in edges))
    options = {"strings": folder / "icd9cm_hierarchy.csv.gz", "string": "long_desc", "name": "ICD9"}
    terminology = Terminology.read("parent_child", tmp_path / "map.csv", missing="group", **options)
    assert len(edges) == 15_781
    assert (terminology.n_nameless, terminology.parents.num_rows) == (727, 15_756)
    assert terminology.tallies["parent_child rows"].dropped["map rows of a code without a string"] == 25
    assert terminology.tallies["records"].notes == ["727 nameless grouping nodes"]
    hierarchy = Hierarchy(terminology)
    assert len(hierarchy.graph.roots) == 18
    placed = hierarchy.parents.counts > 0
    assert np.bincount(hierarchy.depth[placed]).tolist() == [0, 1_724, 3_740, 7_709, 2_583]
    with pytest.raises(InputError, match="the hierarchy is empty"):
        Terminology.read("parent_child", tmp_path / "map.csv", missing="drop", **options)
