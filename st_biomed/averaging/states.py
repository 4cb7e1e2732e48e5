"""The average of state dictionaries: WiSE-FT for two of them, a model soup for several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from st_biomed.averaging.weights import check_weights
from st_biomed.errors import InputError

State = Mapping[str, Tensor]


def average_states(
    states: Sequence[State], weights: Sequence[float], *, fixed: Collection[str] = (), names: Sequence[str] = ()
) -> dict[str, Tensor]:
    r"""The weighted average of every tensor.

    For a base model and a model trained from it this is WiSE-FT, :math:`(1 - a)\,\theta_0 + a\,\theta_1`; for several
    models it is a uniform or weighted soup. It is computed from the state :math:`r` with the largest weight (the first
    of equal ones) as :math:`\theta_r + \sum_i w_i (\theta_i - \theta_r)`, in float32 (float64 for float64 tensors),
    and converted to the tensor's dtype. A weight of 1 therefore gives exactly its state, and equal states give exactly
    their values.

    Args:
        states: S dictionaries with the same names and shapes. If dtypes differ, the result has the promoted dtype.
        weights: S non-negative numbers that add up to 1.
        fixed: Names of tensors that are not averaged, such as buffers. They and tensors of integers or booleans must
            be equal in all states, and are copied.
        names: Names of the states in messages; numbers by default.

    Returns:
        New tensors, on the devices of the first state.

    Raises:
        InputError: No state, invalid weights, a name or a shape that one state lacks, or a fixed tensor that differs.

    References:
        Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", arXiv:2109.01903 (section 3, WiSE-FT); Wortsman
        et al. 2022, "Model soups", arXiv:2203.05482 (section 2).
    """
    names = names or [f"state {i}" for i in range(len(states))]
    check_weights(weights, len(states))
    check_tensors(states, names)
    reference = max(range(len(states)), key=lambda i: weights[i])
    averaged: dict[str, Tensor] = {}
    for name, first in states[0].items():
        tensors = [state[name].detach().to(first.device) for state in states]
        if name in fixed or not first.is_floating_point():
            _check_equal(name, tensors, names)
            averaged[name] = tensors[0].clone()
        else:
            averaged[name] = _average(tensors, weights, reference)
    return averaged


def check_tensors(states: Sequence[State], names: Sequence[str]) -> None:
    """Reject states with different tensors.

    Raises:
        InputError: With the first tensor that another state lacks or has in another shape.
    """
    for state, name in zip(states[1:], names[1:]):
        for tensor in [*states[0], *state]:
            if tensor not in state or tensor not in states[0]:
                has, lacks = (names[0], name) if tensor in states[0] else (name, names[0])
                raise InputError(f"{name}: cannot be averaged with {names[0]}: {has} has {tensor}, {lacks} has not")
            here, there = (list(values[tensor].shape) for values in (state, states[0]))
            if here != there:
                why = f"{tensor} is {here}, in {names[0]} {there}"
                raise InputError(f"{name}: cannot be averaged with {names[0]}: {why}")


def _check_equal(name: str, tensors: Sequence[Tensor], names: Sequence[str]) -> None:
    for other, called in zip(tensors[1:], names[1:]):
        if not torch.equal(tensors[0], other):
            why = f"{name} is not a parameter, and its values differ"
            raise InputError(f"{called}: cannot be averaged with {names[0]}: {why}")


def _average(tensors: Sequence[Tensor], weights: Sequence[float], reference: int) -> Tensor:
    """The average of one tensor."""
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = torch.promote_types(dtype, tensor.dtype)
    precise = torch.promote_types(dtype, torch.float32)
    start = tensors[reference].to(precise)
    step = torch.zeros_like(start)
    for i, (tensor, weight) in enumerate(zip(tensors, weights)):
        if i != reference and weight:
            step += weight * (tensor.to(precise) - start)
    # A zero step keeps the bits, including those of a negative zero.
    return torch.where(step == 0, start, start + step).to(dtype)
