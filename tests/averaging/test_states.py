"""The average of state dictionaries: exact where it can be, a plain sum elsewhere, and refused where it is none."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from st_biomed.averaging.states import average_states
from st_biomed.errors import InputError

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
WEIGHTS = st.floats(0, 1)
SEEDS = st.integers(0, 2**31 - 1)


def random_state(seed: int, dtype: torch.dtype) -> dict[str, Tensor]:
    """Values of many magnitudes, zeros of both signs, and a tensor without any number."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(64, generator=generator) * 10.0 ** torch.randint(-4, 4, (64,), generator=generator)
    values[:4] = torch.tensor([0.0, -0.0, 1.0, -1.0])
    return {"w": values.to(dtype).reshape(8, 8), "empty": torch.zeros(0, dtype=dtype)}


def bits(state: dict[str, Tensor]) -> dict[str, bytes]:
    return {name: tensor.contiguous().view(torch.uint8).numpy().tobytes() for name, tensor in state.items()}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(seed=SEEDS)
def test_a_weight_of_one_gives_the_bits_of_its_state(dtype: torch.dtype, seed: int):
    """Catches ``base + 1 * (trained - base)``, which rounds, and a negative zero that becomes a positive one."""
    base, trained = random_state(seed, dtype), random_state(seed + 1, dtype)
    trained["w"][0, :2] = -trained["w"][0, :2]
    assert bits(average_states([base, trained], [1, 0])) == bits(base)
    assert bits(average_states([base, trained], [0, 1])) == bits(trained)
    assert bits(average_states([base, trained, base], [0, 1, 0])) == bits(trained)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(seed=SEEDS, weight=WEIGHTS)
def test_the_average_of_a_state_with_itself_is_itself(dtype: torch.dtype, seed: int, weight: float):
    """Catches ``(1 - a) x + a x``, which is not x for most a."""
    state = random_state(seed, dtype)
    assert bits(average_states([state, state], [1 - weight, weight])) == bits(state)
    assert bits(average_states([state] * 3, [weight / 2, weight / 2, 1 - weight])) == bits(state)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(seed=SEEDS, weight=WEIGHTS)
def test_every_value_is_the_weighted_sum(dtype: torch.dtype, seed: int, weight: float):
    """Catches weights that are exchanged, and sums in half precision."""
    first, second, third = (random_state(seed + i, dtype) for i in range(3))
    weights = [weight / 2, 1 - weight, weight / 2]
    found = average_states([first, second, third], weights)["w"]
    exact = sum(share * state["w"].double() for share, state in zip(weights, (first, second, third)))
    largest = torch.stack([state["w"].double().abs() for state in (first, second, third)]).amax(0)
    assert found.dtype == dtype
    assert ((found.double() - exact).abs() <= 2 * torch.finfo(dtype).eps * largest + 1e-6 * largest).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_sum_of_half_precision_is_rounded_once(dtype: torch.dtype):
    """Catches differences and products that are each rounded to half precision: a third of the values would be others."""
    generator = torch.Generator().manual_seed(0)
    states = [{"w": torch.randn(2000, generator=generator).to(dtype)} for _ in range(3)]
    weights = [0.3, 0.5, 0.2]
    exact = sum(share * state["w"].double() for share, state in zip(weights, states))
    assert (average_states(states, weights)["w"] == exact.to(dtype)).double().mean() > 0.99


def test_a_state_without_a_share_may_hold_anything():
    """Catches zero times infinity, which is no number."""
    states = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([float("inf"), float("nan")])}]
    assert average_states(states, [1.0, 0.0])["w"].tolist() == [1.0, 2.0]


def test_golden_values():
    base, trained = {"w": torch.tensor([1.0, 2.0, -4.0])}, {"w": torch.tensor([2.0, 2.0, 4.0])}
    assert average_states([base, trained], [0.75, 0.25])["w"].tolist() == [1.25, 2.0, -2.0]
    assert average_states([base, trained, base], [0.25, 0.5, 0.25])["w"].tolist() == [1.5, 2.0, 0.0]


def test_nothing_that_was_given_is_changed():
    """Catches an average that is written into a model that is still needed."""
    base, trained = random_state(0, torch.float32), random_state(1, torch.float32)
    before = bits(base), bits(trained)
    average_states([base, trained], [0.5, 0.5])["w"].fill_(7)
    average_states([base, trained], [1.0, 0.0])["w"].fill_(7)
    assert (bits(base), bits(trained)) == before


def test_of_two_dtypes_the_result_has_the_one_that_holds_both():
    states = [{"w": torch.ones(2, dtype=torch.bfloat16)}, {"w": torch.zeros(2)}]
    assert average_states(states, [0.5, 0.5])["w"].dtype == torch.float32


def test_integers_and_fixed_tensors_are_copied_where_they_are_equal():
    """Catches positions that are averaged, and a table that is taken from one of two silently."""
    first = {"ids": torch.arange(3), "table": torch.tensor([1.0])}
    found = average_states(
        [first, {"ids": torch.arange(3), "table": torch.tensor([1.0])}], [0.5, 0.5], fixed=["table"]
    )
    assert found["ids"].tolist() == [0, 1, 2] and found["table"].tolist() == [1.0]
    for other in (
        {"ids": torch.arange(3) + 1, "table": first["table"]},
        {"ids": first["ids"], "table": torch.ones(1) * 2},
    ):
        with pytest.raises(
            InputError, match="B: cannot be averaged with A: (ids|table) is not a parameter, and its values"
        ):
            average_states([first, other], [0.5, 0.5], fixed=["table"], names=["A", "B"])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "weights: expected one for each of 2 models, found 0 (none)"),
        ([1.0], "weights: expected one for each of 2 models, found 1 (1)"),
        ([0.5, 0.6], "weights must add up to 1, found 0.5, 0.6 with the sum 1.1"),
        ([0.5, 0.499], "weights must add up to 1, found 0.5, 0.499 with the sum 0.999"),
        ([1.5, -0.5], "weights must be at least 0, found 1.5, -0.5"),
        ([float("nan"), 1.0], "weights must be at least 0, found nan, 1"),
    ],
)
def test_weights_that_make_no_average_are_refused(weights: list[float], message: str):
    state = {"w": torch.zeros(1)}
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        average_states([state, state], weights)


@pytest.mark.parametrize(
    ("first", "other", "message"),
    [
        ({"a": 2}, {"a": 3}, "B: cannot be averaged with A: a is [3], in A [2]"),
        ({"a": 2, "b": 2}, {"a": 2}, "B: cannot be averaged with A: A has b, B has not"),
        ({"a": 2}, {"a": 2, "b": 2}, "B: cannot be averaged with A: B has b, A has not"),
    ],
)
def test_other_tensors_are_refused(first: dict[str, int], other: dict[str, int], message: str):
    states = [{name: torch.zeros(size) for name, size in sizes.items()} for sizes in (first, other)]
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        average_states(states, [0.5, 0.5], names=["A", "B"])
