"""Which parameters of an encoder are trained, and its dropout in training."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch import nn

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_RATE = re.compile(r"((attention|attn|activation|hidden)_)?dropout(_p|_prob|_rate)?")
"""Attributes of modules of transformers with a rate, e.g. ``dropout`` of T5 and ``attention_dropout`` of Qwen3."""


def prepare_encoder(model: SentenceTransformer, dropout: float | None, frozen: str) -> None:
    """Set the dropout and freeze parameters.

    Args:
        dropout: Share of values dropped in training; ``None`` keeps the model's dropout.
        frozen: Regular expression of the names of parameters to freeze; empty for none.

    Raises:
        InputError: No parameter's name matches, or the encoder has no dropout that could be above 0.
    """
    if dropout is not None:
        _set_dropout(model, dropout)
    names = [name for name, _ in model.named_parameters() if frozen and re.search(frozen, name)]
    if frozen and not names:
        raise InputError(f"frozen: no parameter's name matches {frozen!r}")
    for name in names:
        model.get_parameter(name).requires_grad_(False)


def _set_dropout(model: nn.Module, rate: float) -> None:
    """Set the rate of layers of dropout, and the rates that modules such as attentions pass to functions."""
    found = False
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p, found = rate, True
        for name, value in vars(module).items():
            if _RATE.fullmatch(name) and isinstance(value, float | int) and not isinstance(value, bool):
                setattr(module, name, float(rate))
                found = True
    if rate and not found:
        raise InputError(f"dropout: the encoder has no dropout to set, found {rate}; expected 0 or none given")


def check_trainable(model: SentenceTransformer, frozen: str) -> None:
    """Check that a parameter is left to train.

    Args:
        model: A model with all parameters that its training adds.
        frozen: The regular expression of frozen parameters, for the message.

    Raises:
        InputError: All parameters are frozen.
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError(f"frozen: {frozen!r} matches all parameters, so that none is left to train")


def freeze_adapters(model: SentenceTransformer, frozen: str) -> None:
    """Freeze the adapters that belong to frozen parameters: their names match, or that of the matrix that they update.

    Args:
        model: A model to which adapters were added.
        frozen: Regular expression of the names of parameters to freeze; empty for none.

    Raises:
        InputError: No parameter is left to train.
    """
    for name, parameter in model.named_parameters() if frozen else ():
        module, low_rank, _ = name.partition(".lora_")
        if re.search(frozen, name) or (low_rank and re.search(frozen, f"{module}.weight")):
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError(f"frozen: {frozen!r} matches all adapters, so that no parameter is left to train")
