"""The average of several encoders, as an encoder."""

from __future__ import annotations

from collections.abc import Sequence

from sentence_transformers import SentenceTransformer

from st_biomed.averaging.alike import check_alike
from st_biomed.averaging.states import average_states
from st_biomed.averaging.weights import check_weights


def average_encoders(
    models: Sequence[SentenceTransformer], weights: Sequence[float], names: Sequence[str] = ()
) -> SentenceTransformer:
    """Give the first of several encoders the average of all weights.

    Args:
        models: M encoders that differ only in their weights. Other attributes, such as the length limit and the
            prompts, are those of the first. If dtypes differ, the result has the promoted dtype.
        weights: M non-negative numbers that add up to 1.
        names: Names of the models in messages; numbers by default.

    Returns:
        The first model, changed in place.

    Raises:
        InputError: Encoders that differ in more than their weights, or invalid weights.
    """
    names = names or [f"model {i}" for i in range(len(models))]
    check_weights(weights, len(models))
    for model, name in zip(models[1:], names[1:]):
        check_alike(models[0], model, (names[0], name))
    states = [model.state_dict() for model in models]
    averaged = average_states(states, weights, fixed=buffers_of(models[0]), names=names)
    for name, parameter in models[0].named_parameters():
        parameter.data = parameter.data.to(averaged[name].dtype)  # the copy below would round to the first dtype
    models[0].load_state_dict(averaged)
    return models[0]


def buffers_of(model: SentenceTransformer) -> set[str]:
    """Names of the tensors of a model that are not parameters."""
    return {name for name, _ in model.named_buffers()}
