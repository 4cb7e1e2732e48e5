"""The number of tokens after which texts are cut in training; measured and released texts keep the model's own limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LEAST = 3
"""Tokens of the shortest text that is not empty: [CLS], a token and [SEP]."""


def check_limit(max_length: int) -> None:
    """Raise InputError if a limit leaves no room for a token."""
    if max_length < LEAST:
        raise InputError(f"max_length must leave room for a token between [CLS] and [SEP], found {max_length}")


@contextmanager
def text_limit(model: SentenceTransformer, max_length: int | None) -> Iterator[None]:
    """Cut texts after ``max_length`` tokens, special tokens included, in a block; then restore the model's own limit.

    Args:
        model: The encoder.
        max_length: Maximum number of tokens of a text; ``None`` keeps the model's own limit.

    Raises:
        InputError: The limit leaves no room for a token.
    """
    if max_length is not None:
        check_limit(max_length)
    own = model.max_seq_length
    model.max_seq_length = own if max_length is None else max_length
    try:
        yield
    finally:
        model.max_seq_length = own


def limited_preprocess(model: SentenceTransformer, max_length: int | None) -> Callable[..., dict[str, Any]]:
    """``model.preprocess`` under :func:`text_limit`, for the collator of a training.

    Args:
        model: The encoder.
        max_length: As for :func:`text_limit`.
    """

    def preprocess(texts: Sequence[Any], *args: Any, **options: Any) -> dict[str, Any]:
        with text_limit(model, max_length):
            return model.preprocess(texts, *args, **options)

    return preprocess
