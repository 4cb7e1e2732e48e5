"""The number of tokens after which texts are cut in training; measured and released texts keep the model's own limit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MIN_LENGTH = 3
"""Tokens of the shortest text that is not empty: [CLS], a token and [SEP]."""

_POSITIONS = ("position_embeddings", "wpe")
"""Names of tables of learned positions in encoders of transformers."""


def check_limit(max_length: int, model: SentenceTransformer | None = None) -> None:
    """Check a limit, and whether a model can have it.

    Raises:
        InputError: The limit leaves no room for a token or exceeds the encoder's positions, or the model reads whole
            texts, as static encoders do.
    """
    if max_length < MIN_LENGTH:
        raise InputError(f"max_length must leave room for a token between [CLS] and [SEP], found {max_length}")
    if model is None:
        return
    if model.max_seq_length == math.inf:
        raise InputError(f"max_length {max_length}: {type(model[0]).__name__} reads whole texts and has no limit")
    most = n_positions(model)
    if most is not None and max_length > most:
        raise InputError(f"max_length: the encoder has positions for {most:,} tokens, found {max_length:,}")


def n_positions(model: SentenceTransformer) -> int | None:
    """The number of tokens for which the encoder has learned positions; ``None`` if it has no table of them."""
    most = []
    for name, module in model[0].named_modules():
        if name.endswith(_POSITIONS) and (rows := getattr(module, "num_embeddings", None)) is not None:
            padding = getattr(module, "padding_idx", None)
            # RoBERTa's positions start after the padding's
            most.append(rows if padding is None else rows - padding - 1)
    return min(most, default=None)


def limit_to_positions(model: SentenceTransformer, folder: object) -> None:
    """Cut texts after the encoder's positions, with a warning, if the folder of a model has a larger limit."""
    own, most = model.max_seq_length, n_positions(model)
    if most is not None and isinstance(own, int) and own > most:
        model.max_seq_length = most
        warnings.warn(
            f"{folder}: has a limit of {own:,} tokens and positions for {most:,}; texts are cut after these",
            stacklevel=2,
        )


@contextmanager
def text_limit(model: SentenceTransformer, max_length: int | None) -> Iterator[None]:
    """Cut texts after ``max_length`` tokens, special tokens included, in a block; then restore the model's own limit.

    Args:
        model: The encoder.
        max_length: Maximum number of tokens of a text; ``None`` keeps the model's own limit.

    Raises:
        InputError: As in :func:`check_limit`.
    """
    if max_length is None:
        yield
        return
    check_limit(max_length, model)
    own = model.max_seq_length
    model.max_seq_length = max_length
    try:
        yield
    finally:
        model.max_seq_length = own


def limited_preprocess(model: SentenceTransformer, max_length: int | None) -> Callable[..., dict[str, Any]]:
    """``model.preprocess`` under :func:`text_limit`, for the collator of a training; it can be pickled for its workers.

    Args:
        model: The encoder.
        max_length: As for :func:`text_limit`.
    """
    return partial(_preprocess, model, max_length)


def _preprocess(
    model: SentenceTransformer, max_length: int | None, /, texts: Sequence[Any], *args: Any, **options: Any
) -> dict[str, Any]:
    with text_limit(model, max_length):
        return model.preprocess(texts, *args, **options)
