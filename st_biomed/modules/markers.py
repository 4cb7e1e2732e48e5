"""Mention markers of a model: its tokenizer, its word embeddings and its pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from st_biomed.errors import InputError
from st_biomed.modules.adapters import encoder_of
from st_biomed.modules.mention_pooling import MARKERS, MentionPooling


def add_markers(model: SentenceTransformer, markers: Sequence[str] = MARKERS) -> SentenceTransformer:
    """Add mention markers to a model, in place.

    The markers become special tokens, which no tokenizer splits or lower-cases, with new rows of the word embeddings.
    As in transformers, the rows are drawn from a normal distribution with the mean and covariance of the existing
    rows. The vectors of other texts do not change.

    Args:
        model: A model whose first module is an encoder of transformers.
        markers: Start and end of a mention, each without a space.

    Returns:
        The model.

    Raises:
        InputError: The markers are not two different strings, or the model has no encoder of transformers.
    """
    if isinstance(markers, str) or len(set(markers)) != 2 or len(markers) != 2:
        raise InputError(f"markers must be two different strings, found {markers!r}")
    if any(not marker or marker.split() != [marker] for marker in markers):
        raise InputError(f"markers must be strings without a space, found {markers!r}")
    transformer: Any = encoder_of(model)
    transformer.tokenizer.add_tokens(list(markers), special_tokens=True)
    if len(transformer.tokenizer) > transformer.model.get_input_embeddings().num_embeddings:
        transformer.model.resize_token_embeddings(len(transformer.tokenizer))
    return model


def pool_mentions(model: SentenceTransformer, markers: Sequence[str] = MARKERS) -> SentenceTransformer:
    """Replace a model's pooling with :class:`~st_biomed.modules.mention_pooling.MentionPooling`, in place.

    Args:
        model: A model with one ``Pooling``.
        markers: Start and end of a mention; added if the tokenizer does not have them.

    Returns:
        The model.

    Raises:
        InputError: As in :func:`add_markers`, or a model without exactly one pooling.
    """
    places = [i for i, module in enumerate(model) if isinstance(module, Pooling)]
    if len(places) != 1:
        raise InputError(f"a model with one Pooling is needed, found {[type(module).__name__ for module in model]}")
    add_markers(model, markers)
    pooling = MentionPooling((markers[0], markers[1])).to(model.device)
    pooling.on_model_ready(model)
    model[places[0]] = pooling
    return model
