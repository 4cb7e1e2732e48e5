"""Folds modules exactly into built-in modules, so that a model loads without ``trust_remote_code=True``."""

from __future__ import annotations

from copy import copy
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordWeights

from st_biomed.errors import InputError
from st_biomed.modules.adapters import encoder_of
from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer
from st_biomed.modules.mention_pooling import MentionPooling, special_ids
from st_biomed.modules.name_vectors import NameVectors
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.release.fold_residual import fold_residual


def fold_modules(model: SentenceTransformer) -> SentenceTransformer:
    """A model of built-in modules with the same vectors of bare terms.

    Mention pooling becomes weights of words, 0 for special tokens and markers, and mean pooling. This is exact only
    for bare terms: for text with markers it gives the mean of all tokens, not of those between the markers. An encoder
    with knowledge injection turned off becomes a plain encoder. Each few-shot encoder becomes two ``Dense`` modules; a
    ``Normalize`` before it stays.

    Args:
        model: The model; it is not changed, and the new one shares its encoder.

    Returns:
        A new model.

    Raises:
        InputError: Injection is on, which built-in modules cannot do, or vectors come from a table of names.
    """
    transformer: Any = encoder_of(model) if isinstance(model[0], Transformer) else None
    modules: list[Any] = []
    module: Any
    for module in model:
        name = type(module).__name__  # a model loaded with its own file of code has its own classes
        if name == KnowledgeInjectedTransformer.__name__:
            try:
                modules.append(module.export_plain())
            except ValueError as error:
                raise InputError(str(error)) from error
        elif name == MentionPooling.__name__:
            width = transformer.get_embedding_dimension()
            modules += [_word_weights(transformer.tokenizer, module.markers), Pooling(width, "mean")]
        elif name == ResidualFeedForward.__name__:
            modules += fold_residual(module)
        elif name == NameVectors.__name__:
            raise InputError(
                "NameVectors is a table for training: put the trained modules after the encoder of its vectors"
            )
        else:
            modules.append(module)
    if transformer is not None and any(isinstance(module, WordWeights) for module in modules):
        modules[0] = copy(modules[0])
        modules[0].unpad_inputs = False  # WordWeights reads padded text
    return SentenceTransformer(
        modules=modules,
        device=str(model.device),
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt},
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
        truncate_dim=model.truncate_dim,
    )


def folded_markers(model: SentenceTransformer) -> list[str]:
    """The markers of a mention pooling that :func:`fold_modules` folded; none if there was none."""
    for module in model:
        if isinstance(module, WordWeights):
            ids = special_ids(model.tokenizer, ())
            added = getattr(model.tokenizer, "added_tokens_encoder", {})
            zero = [word for word, weight in module.word_weights.items() if weight == 0]
            return [word for word in zero if word in added and added[word] not in ids]
    return []


def _word_weights(tokenizer: Any, markers: list[str]) -> WordWeights:
    """Weight 1 for every token except special ones."""
    ids = special_ids(tokenizer, markers)
    count = max(tokenizer.get_vocab().values()) + 1
    vocabulary = [token or "" for token in tokenizer.convert_ids_to_tokens(list(range(count)))]
    weights = {vocabulary[id_]: 0.0 for id_ in ids}
    # sentence-transformers looks up a word in lower case if it is not listed itself.
    weights |= {word: 1.0 for word in vocabulary if word not in weights and word.lower() in weights}
    module = WordWeights(vocabulary, weights, 1.0)
    module.requires_grad_(False)
    return module
