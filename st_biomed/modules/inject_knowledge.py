"""Insert knowledge injection into the encoder of a model."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.modules.adapters import encoder_of
from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer, KnowledgeInjection


def inject_knowledge(
    model: SentenceTransformer, entities: KGETable | Tensor, *, half: bool = False, **settings: Any
) -> SentenceTransformer:
    """Replace the first module of a model, in place, with a
    :class:`~st_biomed.modules.knowledge_injected_transformer.KnowledgeInjectedTransformer`.

    The model must be trained (:class:`st_biomed.losses.KnowledgeInjectionLoss`) before its vectors are useful. A saved
    model contains the table and the code, and loads with ``trust_remote_code=True``, without this package.

    Args:
        model: A model whose first module is a BERT, RoBERTa, XLM-R, CamemBERT or DistilBERT.
        entities: A table, or its vectors ``[N, E]``; labels for entity linking are rows of it.
        half: Store the vectors in float16, with half the memory.
        **settings: ``layer``, ``mention``, ``markers``, ``candidates``, ``temperature`` and ``inject`` of the module.

    Returns:
        The model.

    Raises:
        InputError: An encoder of another kind, entities of another class, or an argument out of range.
    """
    transformer = encoder_of(model)
    if isinstance(transformer, KnowledgeInjectedTransformer):
        raise InputError("the encoder already has knowledge injection")
    vectors = entity_vectors(entities)
    if vectors is entities:
        vectors = vectors.detach().clone()
    try:
        model[0] = KnowledgeInjectedTransformer(transformer, vectors.half() if half else vectors, **settings)
    except ValueError as error:
        raise InputError(str(error)) from error
    return model


def entity_vectors(entities: KGETable | Tensor) -> Tensor:
    """The vectors ``[N, E]`` of entities: a copy of those of a table, or the tensor itself.

    Raises:
        InputError: An object of another class.
    """
    if isinstance(entities, KGETable):
        return torch.from_numpy(entities.vectors.copy())
    if not isinstance(entities, Tensor):
        raise InputError(f"entities must be a KGETable or a tensor [N, E], found {type(entities).__name__}")
    return entities


def injection_of(model: Any) -> KnowledgeInjection:
    """The injection module of a model, also if the model was loaded with its own code.

    Args:
        model: A model, plain, compiled or wrapped for several processes.

    Raises:
        InputError: The model has no injection, or it is off.
    """
    for module in model.modules():
        if type(module).__name__ == KnowledgeInjectedTransformer.__name__:
            if not module.inject:
                raise InputError("injection is off: set inject = True of the first module to train it")
            return module.injection
    raise InputError(
        "the model has no injection of knowledge: add it with st_biomed.modules.inject_knowledge.inject_knowledge"
    )
