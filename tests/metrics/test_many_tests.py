"""Several tests and several seeds: Holm's adjustment and Student's interval, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.metrics import holm, seed_interval


def test_holm_by_hand():
    """The smallest of four times 4, the next times 3, ...; a later one is never below an earlier one."""
    assert holm([0.02, 0.005, 0.03, 0.8]) == pytest.approx([0.06, 0.02, 0.06, 0.8])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([0.04]) == [0.04] and holm([]) == []


def test_equal_p_values_are_adjusted_alike():
    """Would catch ties that are ranked by their place."""
    assert holm([0.01, 0.01, 0.01]) == pytest.approx([0.03, 0.03, 0.03])


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holm_lies_between_the_raw_p_and_bonferroni_and_keeps_the_order(p_values: list[float]):
    adjusted = holm(p_values)
    assert all(raw <= p <= min(1, raw * len(p_values)) or p == 1 for raw, p in zip(p_values, adjusted))
    assert sorted(range(len(p_values)), key=lambda i: (p_values[i], i)) == sorted(
        range(len(p_values)), key=lambda i: (adjusted[i], p_values[i], i)
    )


@pytest.mark.parametrize("wrong", [[-0.1], [0.5, 1.5], [float("nan")]])
def test_what_is_no_p_value_is_refused(wrong: list[float]):
    with pytest.raises(InputError, match="p_values lie between 0 and 1, found"):
        holm(wrong)


def test_the_interval_over_seeds_by_hand():
    """1, 2, 3: s is 1, so that the half width is 4.3027 / sqrt(3); would catch the normal distribution, and s of n."""
    found = seed_interval([1.0, 2.0, 3.0])
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2 - 2.48414, 2 + 2.48414), abs=1e-4)
    narrow = seed_interval([1.0, 2.0, 3.0], level=0.5)
    assert found.low < narrow.low < 2 < narrow.high < found.high
    assert seed_interval([0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_one_seed_has_no_interval():
    with pytest.raises(InputError, match="at least two, found 1"):
        seed_interval([0.5])
    with pytest.raises(InputError, match="level must lie between 0 and 1, found 2"):
        seed_interval([0.5, 0.6], level=2)
