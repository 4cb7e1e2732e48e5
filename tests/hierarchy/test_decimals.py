"""The levels of phecodes in HiPrBERT's published code, against a loop over the codes as anchors."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology

PARENTS = {
    "008.51": "008.5",
    "008.52": "008.5",
    "008.61": "008.6",
    "008.5": "008",
    "008.6": "008",
    "008.7": "008",
    "010.1": "010",
}
CODES = sorted({*PARENTS, *PARENTS.values()})


@pytest.fixture(scope="module")
def hierarchy() -> Hierarchy:
    records: list[object] = [Term(f"P:{code}", f"disease {code}") for code in CODES]
    records += [Parent(f"P:{child}", f"P:{parent}") for child, parent in PARENTS.items()]
    return Hierarchy(Terminology.from_records(records, SourceInfo("P", "P")), "decimals")  # type: ignore[arg-type]


def level(hierarchy: Hierarchy, a: str, b: str) -> int:
    ends = [torch.tensor([hierarchy.terminology.strings.index(f"disease {code}")]) for code in (a, b)]
    found = hierarchy.distance(*ends).item()
    assert found == hierarchy.distance(*reversed(ends)).item()
    return int(found)


def above(code: str) -> list[str]:
    return [PARENTS[code], *above(PARENTS[code])] if code in PARENTS else []


def anchored(code: str) -> dict[str, int]:
    """The levels of the other codes with one code as anchor: 3 minus its decimals is the level of what hangs beside it
    and above it, one less that of what hangs below it; a code hangs below its parent and below its grandparent."""
    own = 3 - len(code.partition(".")[2])
    below = {other: own - 1 for other in CODES if code in above(other)}
    if code not in PARENTS:
        return below
    beside = {other: own for other in CODES if PARENTS[code] in above(other) and other != code}
    return {PARENTS[code]: own, **beside, **below}


def test_levels_are_those_with_either_code_as_anchor(hierarchy: Hierarchy):
    """Catches a grandchild, or a nephew, that is far because the other code does not have it at a level."""
    for a, b in combinations(CODES, 2):
        assert level(hierarchy, a, b) == min(anchored(a).get(b, 3), anchored(b).get(a, 3)), (a, b)


@pytest.mark.parametrize(
    ("a", "b", "expected", "by_depth"),
    [
        ("008.51", "008.52", 1, 1),
        ("008.5", "008.51", 1, 1),
        ("008.5", "008.6", 2, 2),
        ("008", "008.5", 2, 2),
        ("008", "008.51", 2, 2),  # grandparent
        ("008.7", "008.51", 2, 2),  # uncle
        ("008.51", "008.61", 3, 2),  # cousins
        ("008.51", "010.1", 3, 3),
        ("008", "010", 3, 3),
    ],
)
def test_only_cousins_are_farther_than_by_depth(hierarchy: Hierarchy, a: str, b: str, expected: int, by_depth: int):
    """Golden."""
    assert level(hierarchy, a, b) == expected
    assert level(Hierarchy(hierarchy.terminology, "lca_depth"), a, b) == by_depth
