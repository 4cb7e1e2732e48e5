"""Low-rank adaptation: train low-rank updates of the encoder's weights, and merge them before a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import PretrainedConfig

from st_biomed.errors import InputError, check_dropout, check_integer, check_number
from st_biomed.modules.adapters import encoder_of

QUERIES_AND_VALUES = (
    ("query", "value"),  # BERT, RoBERTa, XLM-R, ELECTRA, ALBERT
    ("q", "v"),  # MPNet, T5
    ("q_lin", "v_lin"),  # DistilBERT, XLM
    ("query_proj", "value_proj"),  # DeBERTa-v2 and -v3
    ("q_proj", "v_proj"),  # decoders
)
"""Names of the linear layers of the attention in transformers."""


def add_lora(
    model: SentenceTransformer,
    rank: int = 8,
    *,
    alpha: float = 16.0,
    dropout: float = 0.0,
    targets: Sequence[str] | None = None,
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
        targets: Suffixes of the names of linear layers to update; by default the attention's queries and values, see
            :func:`attention_targets`.
        only_merged: Whether nothing is loaded that is saved before :func:`merge_lora`; then the vocabulary may have
            grown since the encoder was saved.

    Raises:
        InputError: peft is not installed, the encoder has no such layer or already has adapters, an argument is out
            of range, the encoder comes from a folder inside a repository of the Hub, or the vocabulary has grown, e.g.
            by :func:`~st_biomed.modules.markers.add_markers`.
    """
    peft = _peft()
    encoder: Any = encoder_of(model).model
    targets = attention_targets(model) if targets is None else targets
    check_integer("rank", rank)
    check_number("alpha", alpha, above=0.0)
    check_dropout("dropout", dropout)
    _check_origin(encoder)
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


def check_lora(model: SentenceTransformer) -> None:
    """Raise InputError if :func:`add_lora` cannot update a model, before anything is trained.

    Raises:
        InputError: peft is not installed, or as of :func:`attention_targets`.
    """
    _peft()
    attention_targets(model)


def attention_targets(model: SentenceTransformer) -> tuple[str, str]:
    """Names of the layers of an encoder's attention that compute queries and values.

    Raises:
        InputError: The encoder has none of the known names, or the model has no encoder of transformers.
    """
    encoder = encoder_of(model).model
    linear = {name.split(".")[-1] for name, module in encoder.named_modules() if isinstance(module, nn.Linear)}
    for pair in QUERIES_AND_VALUES:
        if linear.issuperset(pair):
            return pair
    raise InputError(
        f"low-rank updates: the attention of {type(encoder).__name__} has no queries and values under a known name "
        f"({', '.join(' and '.join(pair) for pair in QUERIES_AND_VALUES)})"
    )


def _check_origin(encoder: Any) -> None:
    """Raise InputError if saved updates could not find the encoder that they belong to: peft records no subfolder."""
    origin = Path(encoder.name_or_path)
    if len(origin.parts) > 2 and not origin.is_dir():
        raise InputError(
            f"the encoder comes from {origin}, and saved updates find it only in a folder or at the top of a repository: "
            "save the model and load it from its folder before add_lora"
        )


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
