"""Groups are dealt to batches in which no owner meets itself."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.samplers.packing import fill_batches, max_batches


def fillable(groups: list[int], size: int, n: int) -> bool:
    """Whether n batches can be filled, by giving each batch of the owners that have most left."""
    left = Counter(dict(enumerate(groups)))
    for _ in range(n):
        chosen = [owner for owner, count in left.most_common(size) if count]
        if len(chosen) < size:
            return False
        left.subtract(chosen)
    return True


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 5), st.integers(0, 3))
def test_as_many_batches_as_can_be_and_each_of_different_owners(groups, size, seed):
    """Would catch an owner that meets itself where its groups lie in two rounds, and batches that are given away."""
    n = max_batches(np.array(groups), size)
    assert fillable(groups, size, n) and not fillable(groups, size, n + 1)
    if not n:
        return
    owners = np.repeat(np.random.default_rng(seed).permutation(len(groups)), groups)
    batches = fill_batches(np.random.default_rng(seed), owners, n, size)
    assert batches.shape == (n, size)
    assert len(set(batches.reshape(-1).tolist())) == n * size
    for batch in batches:
        assert len(set(owners[batch].tolist())) == size


def test_owners_are_new_company_in_every_batch():
    """Would catch rounds dealt in one order: neighbors in the row would travel through the epoch together."""
    owners = np.repeat(np.arange(200), 3)
    met: Counter[frozenset[int]] = Counter()
    for batch in owners[fill_batches(np.random.default_rng(0), owners, 150, 4)].tolist():
        met.update(map(frozenset, combinations(batch, 2)))
    assert np.mean(np.array(list(met.values())) > 1) < 0.1


def test_a_batch_takes_one_group_of_each_round():
    """Would catch an epoch that begins with the owners that come first."""
    batches = fill_batches(np.random.default_rng(0), np.arange(60), 10, 6)
    assert (batches // 10 == np.arange(6)).all()
    assert sorted(batches.reshape(-1).tolist()) == list(range(60))
