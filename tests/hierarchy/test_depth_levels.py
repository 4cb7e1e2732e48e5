"""Levels weighted by depth, and by hierarchy."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.hierarchy.level_functions import LEVEL_FUNCTIONS, by_depth, by_hierarchy, largest_split
from st_biomed.losses import OrdinalMultiSimilarityLoss
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.samplers import HierarchyBatches
from st_biomed.samplers import hierarchy as module
from st_biomed.terminology import Terminology
from st_biomed.training.parts import PartArguments
from st_biomed.training_data import names_dataset

DEEP = ("a1", "a0"), ("b1", "a0"), ("a2", "a1"), ("b2", "a1"), ("a3", "a2"), ("b3", "a2"), ("a4", "a3"), ("b4", "a3")
FLAT = ("d1", "d0"), ("e1", "d0"), ("d2", "d1"), ("e2", "d1")


@pytest.fixture(scope="module")
def terminology() -> Terminology:
    """A hierarchy of depth 4 and one of depth 2; the number of a code is its depth."""
    records: list[object] = [SourceInfo("DEEP", "DEEP"), SourceInfo("FLAT", "FLAT")]
    for source, parents in (("DEEP", DEEP), ("FLAT", FLAT)):
        records += [
            Term(f"{source}:{code}", code, source=source) for code in sorted({c for edge in parents for c in edge})
        ]
        records += [Parent(f"{source}:{child}", f"{source}:{parent}", source) for child, parent in parents]
    records += [
        Term("DEEP:a4", "a4 again", "synonym", source="DEEP"),
        Term("DEEP:a0", "a0 again", "synonym", source="DEEP"),
    ]
    return Terminology.from_records(records, SourceInfo("DEEP", "DEEP"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "depth", "own"),
    [
        ("a4", "b4", 1, 1),  # siblings at the leaves: nearer than any others
        ("a3", "b3", 1, 1),
        ("a2", "b2", 2, 2),  # half the depth is not over half
        ("a1", "b1", 2, 2),
        ("a3", "a4", 3, 3),  # a parent and its child, both deep
        ("a2", "a3", 4, 4),  # the depth of a pair is that of the shallower one
        ("a0", "a1", 4, 4),
        ("a4", "a1", 5, 5),  # everything else
        ("d2", "e2", 2, 1),  # at the leaves of a flat hierarchy, at half the depth of the deep one
        ("d1", "e1", 2, 2),
        ("d1", "d2", 4, 4),
        ("d2", "e1", 5, 5),
        ("a4", "a4 again", 0, 0),
        ("a0", "a0 again", 0, 0),
        ("a4", "a4", -1, -1),
        ("a4", "d2", -1, -1),  # of different sources
    ],
)
def test_golden_levels(terminology: Terminology, a: str, b: str, depth: int, own: int):
    label = [torch.tensor([terminology.strings.index(name)]) for name in (a, b)]
    for function, expected in ((by_depth, depth), (by_hierarchy, own)):
        hierarchy = Hierarchy(terminology, level_function=function, max_distance=5)
        assert int(hierarchy.distance(*label)) == int(hierarchy.distance(*reversed(label))) == expected, function


@pytest.mark.parametrize("function", LEVEL_FUNCTIONS.values())
def test_the_order_of_the_levels_stays(function: Callable):
    """Catches a deep pair that passes a pair of a nearer level."""
    toy = Terminology.read("toy")
    for levels in (("sibling", "parent_child"), ("sibling", "parent_child", "grandparent_child", "cousin")):
        plain = Hierarchy(toy, levels=levels)
        split = Hierarchy(toy, levels=levels, level_function=function, max_distance=largest_split(plain.far))
        labels = torch.arange(toy.n_texts)
        before, after = plain.distance(labels, labels), split.distance(labels, labels)
        largest = [int(after[before == level].max()) for level in range(plain.far + 1)]
        smallest = [int(after[before == level].min()) for level in range(plain.far + 1)]
        assert all(a < b for a, b in zip(largest, smallest[1:])) and largest[-1] == split.max_distance
        assert len(after.unique()) > len(before.unique()) and after.dtype == before.dtype


@pytest.mark.parametrize("name", LEVEL_FUNCTIONS)
def test_a_recipe_reaches_them_by_name(name: str, tiny_bert: SentenceTransformer, tmp_path):
    """Catches a name that another process cannot import, and a loss without cuts for the levels that are added."""
    toy = Terminology.read("toy")
    part = PartArguments(max_length=16, level_function=name).part(
        "hierarchy", tiny_bert, toy, toy.save(tmp_path / "t"), 0
    )
    assert isinstance(part.loss, OrdinalMultiSimilarityLoss) and part.loss.cuts == (0, 1, 2, 3, 4)
    rows = names_dataset(toy)
    batches = list(part.batches(rows, 21, True))
    plain = HierarchyBatches.of(Hierarchy(toy), partners=[5, 5, 5, 5])
    assert list(plain(rows, 21, True)) == batches  # the members of a group are those of the levels before
    module._HIERARCHIES.clear()
    assert list(pickle.loads(pickle.dumps(part.batches))(rows, 21, True)) == batches


@pytest.mark.long
@pytest.mark.parametrize("distance", ["lca_depth", "hops"])
@pytest.mark.parametrize("name", LEVEL_FUNCTIONS)
def test_every_distance_is_weighted(name: str, distance: str, tiny_bert: SentenceTransformer, tmp_path):
    """Catches levels that are declared as the distance before the function, which then gives larger ones."""
    toy, labels = Terminology.read("toy"), torch.arange(Terminology.read("toy").n_texts)
    for far in (None, 2, 4):
        plain = Hierarchy(toy, distance, max_distance=far).distance(labels, labels)
        own = {"distance": distance, "max_distance": far, "partners": [2] * ((far or 3) + 1)}
        arguments = PartArguments(max_length=16, level_function=name, **own)
        split = arguments.trained_hierarchy(toy)
        assert (split.far, split.max_distance) == (far or 3, largest_split(far or 3))
        after = split.distance(labels, labels)
        assert torch.equal(torch.where(after > 0, (after + 1) // 2, after), plain)  # d became 2 d - 1 or 2 d
        assert far == 2 or len(after.unique()) > len(plain.unique())
        part = arguments.part("hierarchy", tiny_bert, toy, toy.save(tmp_path / f"{far}"), 0)
        assert isinstance(part.loss, OrdinalMultiSimilarityLoss) and len(part.loss.cuts) == split.max_distance
        rows = names_dataset(toy)
        batches = list(part.batches(rows, 21, True))
        module._HIERARCHIES.clear()
        assert list(pickle.loads(pickle.dumps(part.batches))(rows, 21, True)) == batches


def test_a_source_of_its_own_distance_is_weighted(terminology: Terminology):
    """Catches the levels of the kinships where no source has them."""
    labels = torch.arange(terminology.n_texts)
    for source_distances in (["DEEP=hops"], ["DEEP=hops", "FLAT=lca_depth"]):
        split = PartArguments(level_function="depth", source_distances=source_distances).trained_hierarchy(terminology)
        assert (split.far, split.max_distance) == (3, 5) and int(split.distance(labels, labels).max()) == 5


def test_levels_that_the_function_cannot_give_are_one_line(terminology: Terminology):
    for distance, largest, message in (
        ("sibling_parent", 4, r"max_distance follows from levels \(5\) for sibling_parent, found 4"),
        ("hops", 6, "max_distance must be odd with by_depth, which makes 2 D - 1 levels of D, found 6"),
    ):
        with pytest.raises(InputError, match=message):
            Hierarchy(terminology, distance, max_distance=largest, level_function=by_depth)
    with pytest.raises(InputError, match=r"max_distance follows from levels \(3\) for sibling_parent, found 4"):
        PartArguments(level_function="depth", max_distance=4).check_distances()
    with pytest.raises(InputError, match="max_distance must be at most 64 with level_function, found 65"):
        PartArguments(level_function="depth", distance="hops", max_distance=65).check_distances()
