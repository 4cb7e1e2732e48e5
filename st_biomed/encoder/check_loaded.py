"""Tests a loaded model on a few terms: the modules must fit together, and the vectors must be valid."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.util import batch_to_device
from torch import Tensor

from st_biomed.encoder.json_files import AGAIN
from st_biomed.errors import InputError

TERMS = ["heart attack", "broken wrist"]


def check_vectors(model: SentenceTransformer, folder: Path) -> None:
    """Check that a model computes vectors of finite numbers that are not all 0.

    A table of words or names may not know the terms: some of its weights must differ from 0.

    Args:
        model: The model; it is not changed.
        folder: Its folder, for the message.

    Raises:
        InputError: The check fails.
    """
    if not isinstance(model[0], (Transformer, Router)):
        if (weights := list(model.parameters())) and not any(bool(tensor.any()) for tensor in weights):
            raise InputError(f"{folder}: all weights are zero: {AGAIN}")
        return
    try:
        with _as_it_was(model), torch.inference_mode():
            vectors = _vectors(model)
    except (torch.cuda.OutOfMemoryError, InputError):
        raise
    except (RuntimeError, ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise InputError(
            f"{folder}: loads, but fails on {TERMS[0]!r} ({type(error).__name__}: {reason}): {AGAIN}"
        ) from error
    if not bool(torch.isfinite(vectors).all()) or not bool(vectors.any()):
        fault = "all zero" if bool(torch.isfinite(vectors).all()) else "NaN or infinite"
        raise InputError(f"{folder}: the vectors of the model are {fault}, for example for {TERMS[0]!r}: {AGAIN}")


def check_vocabulary(where: Path, transformer: Any) -> None:
    """Check that the tokenizer of an encoder knows words, and has no token without a vector in the encoder.

    transformers silently creates an empty tokenizer if the vocabulary is missing.

    Args:
        where: Folder of the encoder.
        transformer: The module with the encoder.

    Raises:
        InputError: The check fails.
    """
    tokenizer, encoder = transformer.tokenizer, transformer.model
    if tokenizer is None:
        return
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise InputError(f"{where}: the tokenizer has only special tokens; its vocabulary is missing: {AGAIN}")
    if hasattr(encoder, "get_input_embeddings"):
        rows = getattr(encoder.get_input_embeddings(), "num_embeddings", None)
    else:  # a graph
        rows = getattr(encoder.config, "vocab_size", None)
    if rows is not None and tokenizer.vocab_size > rows:
        raise InputError(
            f"{where}: the tokenizer has {tokenizer.vocab_size:,} tokens, but the encoder has vectors for {rows:,}: "
            f"they are not of one model: {AGAIN}"
        )
    if rows is not None and (beyond := [token for token, row in tokenizer.get_added_vocab().items() if row >= rows]):
        warnings.warn(
            f"{where}: the encoder has vectors for {rows:,} tokens, and none for {len(beyond):,} added ones of the tokenizer "
            f"({beyond[0]!r}); a text with one cannot be embedded",
            stacklevel=2,
        )


def unused_parameters(model: SentenceTransformer, encoder: Any, names: set[str]) -> set[str]:
    """The parameters of an encoder, among some, that no vector of the model depends on.

    Args:
        model: The model; it is not changed.
        encoder: An encoder of the model.
        names: Names of its parameters.
    """
    chosen = {name: encoder.get_parameter(name) for name in names}
    with _as_it_was(model), torch.enable_grad():
        gradients = torch.autograd.grad(_vectors(model).float().sum(), list(chosen.values()), allow_unused=True)
    return {name for name, gradient in zip(chosen, gradients) if gradient is None}


def _vectors(model: SentenceTransformer) -> Tensor:
    """The vectors of the terms, ``[2, D]``."""
    features = batch_to_device(model.preprocess(TERMS), model.device)
    return model(features)["sentence_embedding"]


@contextmanager
def _as_it_was(model: SentenceTransformer) -> Iterator[None]:
    """Evaluation mode inside, and the previous state afterwards: training mode, truncation and padding."""
    training = [module for module in model.modules() if module.training]
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    left = (backend.truncation, backend.padding) if backend is not None else None
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
        if left is not None:
            _restore(backend, *left)


def _restore(backend: Any, truncation: dict[str, Any] | None, padding: dict[str, Any] | None) -> None:
    backend.no_truncation() if truncation is None else backend.enable_truncation(**truncation)
    backend.no_padding() if padding is None else backend.enable_padding(**padding)
