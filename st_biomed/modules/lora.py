"""Low-rank adaptation: train low-rank updates of the encoder's weights, and merge them before a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sentence_transformers import SentenceTransformer
from transformers import PretrainedConfig

from st_biomed.errors import InputError, check_whole
from st_biomed.modules.adapt import encoder_of
from st_biomed.modules.graph_layers import check_dropout


def add_lora(
    model: SentenceTransformer,
    rank: int = 8,
    *,
    alpha: float = 16.0,
    dropout: float = 0.0,
    targets: Sequence[str] = ("query", "value"),
    only_merged: bool = False,
) -> SentenceTransformer:
    """Insert low-rank updates (Hu et al. 2022, arXiv 2106.09685) into the encoder of a model, in place, and freeze the
    rest.

    Before training, the vectors do not change. Checkpoints contain only the updates and the origin of the encoder;
    call :func:`merge_lora` before a release.

    Args:
        model: A model whose first module is an encoder of transformers.
        rank: Rank of an update.
        alpha: Above 0; an update is scaled by ``alpha / rank``.
        dropout: Dropout of the input of an update, at least 0 and below 1.
        targets: Suffixes of the names of linear layers to update; by default the attention's queries and values.
        only_merged: Whether nothing is loaded that is saved before :func:`merge_lora`; then the vocabulary may have
            grown since the encoder was saved.

    Raises:
        InputError: peft is not installed, the encoder has no such layer or already has adapters, an argument is out
            of range, or the vocabulary has grown, e.g. by :func:`~st_biomed.modules.markers.add_markers`.
    """
    peft = _peft()
    encoder: Any = encoder_of(model).model
    check_whole("rank", rank)
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0 < alpha < math.inf:
        raise InputError(f"alpha must be a number above 0, found {alpha!r}")
    check_dropout("dropout", dropout)
    if isinstance(targets, str) or not targets:
        raise InputError(f"targets must be a list of names of layers, found {targets!r}")
    ends = {name.split(".")[-1] for name, _ in encoder.named_modules()}
    if missing := [name for name in targets if name.split(".")[-1] not in ends]:
        raise InputError(
            f"targets: the encoder ({type(encoder).__name__}) has no layer {', '.join(map(repr, missing))}"
        )
    if not only_merged:
        _check_vocabulary(encoder)
    model.requires_grad_(False)
    model.add_adapter(
        peft.LoraConfig(
            task_type=peft.TaskType.FEATURE_EXTRACTION,
            r=rank,
            lora_alpha=alpha,
            lora_dropout=dropout,
            target_modules=list(targets),
        )
    )
    return model


def _check_vocabulary(encoder: Any) -> None:
    """Raise InputError if the encoder has other rows of word embeddings than its origin, to which updates are saved."""
    try:
        there = PretrainedConfig.get_config_dict(encoder.name_or_path, local_files_only=True)[0]["vocab_size"]
        rows = encoder.get_input_embeddings().num_embeddings
    except (OSError, ValueError, KeyError, AttributeError, NotImplementedError):
        return  # without an origin that can be read there is nothing to compare
    if there != rows:
        raise InputError(
            f"the encoder has {rows:,} word embeddings and its origin, {encoder.name_or_path}, {there:,}: saved updates "
            "would not load; save the model and load it again before add_lora, or set only_merged and merge before saving"
        )


def merge_lora(model: SentenceTransformer) -> SentenceTransformer:
    """Merge the updates of :func:`add_lora` into the encoder's matrices, in place. The plain encoder saves and loads
    without peft.

    Returns:
        The model, all parameters trainable.

    Raises:
        InputError: peft is not installed, the encoder has no adapters, or merged weights are not finite.
    """
    _peft()
    from peft.tuners.tuners_utils import BaseTunerLayer

    encoder: Any = model.transformers_model
    if not hasattr(encoder, "peft_config"):
        raise InputError("the encoder has no adapters of peft to merge")
    layers = [(name, layer) for name, layer in encoder.named_modules() if isinstance(layer, BaseTunerLayer)]
    for name, layer in layers:
        try:
            layer.merge(safe_merge=True)
        except ValueError as error:
            raise InputError(f"{name}: {str(error).splitlines()[0]}") from error
        parent, _, own = name.rpartition(".")
        setattr(encoder.get_submodule(parent), own, layer.get_base_layer())
    encoder.delete_adapter(list(encoder.peft_config))
    return model.requires_grad_(True)


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise InputError("LoRA needs peft: pip install 'st-biomed[peft]'") from error
    return peft
