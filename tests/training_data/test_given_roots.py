"""Sub-trees of test whose roots are given, in place of a draw."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import split_by_subtree
from st_biomed.training_data.held_out_concepts import DEV, TEST


def forest() -> Terminology:
    """One top, twelve categories below it, two concepts below each."""
    records: list[Term | Parent] = [Term("X:top", "top")]
    for r in range(12):
        records += [Term(f"X:{r:02}", f"category {r}"), Parent(f"X:{r:02}", "X:top")]
        for leaf in "ab":
            records += [Term(f"X:{r:02}.{leaf}", f"leaf {r} {leaf}"), Parent(f"X:{r:02}.{leaf}", f"X:{r:02}")]
    return Terminology.from_records(records, SourceInfo("X", "X"))


@pytest.mark.parametrize("seed", range(5))
def test_given_roots_are_test_and_dev_is_drawn_from_the_others(seed: int):
    """Would catch a given root that the draw of dev takes as well, and a draw of test beside the given ones."""
    terminology = forest()
    split = split_by_subtree(terminology, depth=1, test_roots=["X:07", "X:03"], test=4, dev=9, seed=seed)
    held_out = {at: {terminology.codes[c] for c in np.flatnonzero(split.concept_split == at)} for at in (DEV, TEST)}
    assert held_out[TEST] == {f"X:{root}{leaf}" for root in ("03", "07") for leaf in ("", ".a", ".b")}
    assert len(held_out[DEV]) == 9 * 3 and not held_out[DEV] & held_out[TEST]
    text = terminology.strings.index("leaf 7 a")
    assert split.text_subtree[text] == 0, "sub-trees are numbered in the order given"


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (["X:03", "X:99"], "test_roots: 'X:99' is none of the 12 roots of sub-trees"),
        (["X:03.a"], "test_roots: 'X:03.a' is none of the 12 roots"),
        (["X:03", "X:03"], "test_roots: 'X:03' is given twice"),
    ],
)
def test_a_wrong_given_root_is_refused(codes: list[str], message: str):
    with pytest.raises(InputError, match=message):
        split_by_subtree(forest(), depth=1, test_roots=codes)
