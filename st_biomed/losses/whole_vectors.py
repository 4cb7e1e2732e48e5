"""Losses of whole vectors, inside a loss over parts of the vectors or layers."""

from __future__ import annotations

from typing import NoReturn

from torch import nn

from st_biomed.errors import InputError


def require_whole_vectors(loss: nn.Module, reason: str) -> None:
    """Refuse a loss whose model gives parts of its vectors, as inside MatryoshkaLoss and AdaptiveLayerLoss.

    Args:
        loss: The loss, with a ``model``.
        reason: Why it needs whole vectors, for the message.

    Raises:
        InputError: The forward pass of its model is that of such a loss.
    """
    if type(getattr(loss.model, "forward", None)).__name__ == "ForwardDecorator":
        refuse_parts(loss, reason)


def refuse_parts(loss: nn.Module, reason: str) -> NoReturn:
    """Say that a loss needs whole vectors.

    Raises:
        InputError: Always.
    """
    raise InputError(f"{type(loss).__name__} cannot be wrapped in a loss over parts of the vectors: {reason}")
