"""The rule that chooses a share: the largest mean gain of those at which no benchmark loses."""

from __future__ import annotations

import pytest

from st_biomed.averaging.choice import candidate_shares, choose_weight
from st_biomed.errors import InputError

CURVE = {
    0.0: {"in": 0.50, "out": 0.50},
    0.3: {"in": 0.60, "out": 0.52},
    0.6: {"in": 0.70, "out": 0.50},
    0.8: {"in": 0.80, "out": 0.49},
    1.0: {"in": 1.00, "out": 0.32},
}


def test_the_candidates_go_from_the_base_to_the_trained_model():
    """Catches a grid without one of its ends."""
    assert candidate_shares(10) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert candidate_shares(4) == [0, 0.25, 0.5, 0.75, 1]
    assert candidate_shares(1) == [0, 1]


@pytest.mark.parametrize(("tolerance", "chosen"), [(0.0, 0.6), (0.0099, 0.6), (0.02, 0.8), (0.2, 1.0)])
def test_no_benchmark_may_lose_more_than_is_tolerated(tolerance: float, chosen: float):
    """Catches a mean that lets one benchmark pay for another."""
    assert choose_weight(CURVE, tolerance) == chosen


def test_of_equal_gains_the_smaller_share_is_taken_and_the_base_where_nothing_is_gained():
    """Catches a tie that goes to the more changed model, and an equal model that is called better."""
    flat = {weight: {"in": 0.5} for weight in candidate_shares(10)}
    assert choose_weight(flat) == 0
    assert choose_weight({**flat, 0.4: {"in": 0.6}, 0.7: {"in": 0.6}}) == 0.4
    assert choose_weight({0.7: {"in": 0.6}, 0.0: {"in": 0.5}, 0.4: {"in": 0.6}}) == 0.4  # measured in another order
    assert choose_weight({0.0: {"in": 0.5}, 1.0: {"in": 0.45}}, tolerance=0.1) == 0


def test_a_figure_that_is_no_number_is_never_chosen():
    assert choose_weight({0.0: {"in": 0.5, "out": 0.1}, 1.0: {"in": 0.9, "out": float("nan")}}, 1.0) == 0


def test_shares_need_a_step():
    with pytest.raises(InputError, match="steps must be at least 1, found 0"):
        candidate_shares(0)


def test_the_base_has_to_be_measured():
    with pytest.raises(InputError, match="shares: expected figures of the base model, at 0"):
        choose_weight({0.5: {"in": 1.0}})
