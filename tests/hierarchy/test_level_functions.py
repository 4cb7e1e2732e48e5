"""Levels and weights of pairs by functions of a person, and pairs drawn by them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.evaluators import draw_pairs
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology
from tests.hierarchy.chains import chain

TOY = Terminology.read("toy")


def test_a_level_function_sees_depths_and_has_the_last_word():
    """Would catch depths of the wrong side, and a function that is asked before masks are set."""
    terminology = chain(("X:1", "X:0"), ("X:2", "X:0"), ("X:3", "X:1"), ("X:4", "X:1"))

    def deeper_siblings_are_nearer(pairs):
        both_deep = (pairs.depth_a[:, None] == 2) & (pairs.depth_b[None, :] == 2)
        return torch.where(both_deep & (pairs.distance == 1), 0, pairs.distance)

    labels = torch.arange(5)
    plain = Hierarchy(terminology).distance(labels, labels)
    changed = Hierarchy(terminology, level_function=deeper_siblings_are_nearer).distance(labels, labels)
    expected = plain.clone()
    expected[3, 4] = expected[4, 3] = 0
    assert torch.equal(changed, expected) and plain[1, 2] == 1


def swap(pairs):
    """Siblings at 2, parents and children at 1."""
    return torch.tensor([0, 2, 1, 3, -1], dtype=torch.int8)[pairs.distance.long()]


@pytest.mark.long
def test_pairs_are_drawn_by_the_level_function():
    """Would catch candidates that come from the level of the same number before the function."""
    plain, swapped = Hierarchy(TOY), Hierarchy(TOY, level_function=swap)
    for level, before in enumerate((0, 2, 1, 3)):
        pairs, _ = draw_pairs(swapped, distances=[level], pairs_per_class=40)
        found = torch.from_numpy(pairs)
        assert len(pairs) == 40
        assert (plain.distance(found[:, 0], found[:, 1]).diagonal() == before).all()


def test_the_largest_level_of_a_function_is_declared():
    """Would catch a loss without cuts for the levels beyond those of the definition."""
    labels = torch.arange(9)
    for distance in ("sibling_parent", "lca_depth"):
        hierarchy = Hierarchy(TOY, distance, level_function=lambda pairs: pairs.distance + 2, max_distance=6)
        assert (hierarchy.max_distance, hierarchy.far) == (6, 6 if distance == "lca_depth" else 3)
    declared, silent = (
        Hierarchy(TOY, level_function=lambda pairs: pairs.distance + 2, max_distance=largest) for largest in (5, None)
    )
    assert int(declared.distance(labels, labels).max()) == 5
    with pytest.raises(InputError, match="levels up to 5, beyond max_distance 3"):
        silent.distance(labels, labels)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.bool, torch.uint8])
def test_levels_are_integers_that_can_hold_the_mask(dtype):
    """Would catch levels in which -1, the mask, turns into True or 255: the diagonal would count in a loss."""
    labels = torch.arange(9)
    hierarchy = Hierarchy(TOY, level_function=lambda pairs: (pairs.distance > 1).to(dtype))
    with pytest.raises(InputError, match=rf"must give signed integers \[9, 9\], found {dtype} \[9, 9\]"):
        hierarchy.distance(labels, labels)


@pytest.mark.parametrize(("changed", "kind"), [(None, "NoneType"), (np.zeros((9, 9), dtype=np.int8), "ndarray")])
def test_levels_are_a_tensor(changed, kind: str):
    hierarchy = Hierarchy(TOY, level_function=lambda pairs: changed)
    with pytest.raises(InputError, match=f"the result of level_function must be a Tensor, found {kind}"):
        hierarchy.distance(torch.arange(9), torch.arange(9))


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_levels_may_be_any_signed_integers(dtype):
    """Would catch a level function that must know the type of the distances."""
    labels = torch.arange(9)
    levels = Hierarchy(TOY, level_function=lambda pairs: pairs.distance.to(dtype)).distance(labels, labels)
    assert levels.dtype == dtype and levels.tolist() == Hierarchy(TOY).distance(labels, labels).tolist()


def test_weights_reuse_distances(monkeypatch):
    """Would catch a distance matrix that is computed twice for each batch."""
    hierarchy = Hierarchy(TOY, weight_function=lambda pairs: pairs.distance + 2.0)
    labels = torch.arange(9)
    distance = hierarchy.distance(labels, labels)
    expected = hierarchy.weights(labels, labels)
    monkeypatch.setattr(hierarchy, "_levels_of", None)
    assert torch.equal(hierarchy.weights(labels, labels, distance), expected)


def test_a_weight_function_gives_weights_and_none_gives_none():
    terminology = chain(("X:1", "X:0"), ("X:2", "X:0"), ("X:3", "X:1"))
    labels = torch.arange(4)
    assert Hierarchy(terminology).weights(labels, labels) is None
    hierarchy = Hierarchy(
        terminology, weight_function=lambda pairs: 1.0 / (1 + pairs.depth_a[:, None] + pairs.depth_b)
    )
    weights = hierarchy.weights(labels[:3], labels[1:])
    assert (
        weights.tolist()
        == torch.tensor([[1 / 2, 1 / 2, 1 / 3], [1 / 3, 1 / 3, 1 / 4], [1 / 3, 1 / 3, 1 / 4]]).tolist()
    )
