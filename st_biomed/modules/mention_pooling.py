"""Mean over the tokens of the marked mentions of a text, or over the whole text without markers.

A saved model contains this file, and loads anywhere with ``trust_remote_code=True``. It therefore imports only torch
and sentence-transformers.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from sentence_transformers.base.modules import Module
from sentence_transformers.util import repad_flattened_features
from torch import Tensor

MARKERS = ("[Ms]", "[Me]")
"""Amore Bondarenko et al. 2022: "Special tags [Ms] and [Me] are used to identify the beginning and the end of a mention"."""


class MentionPooling(Module):
    """A text's vector is the mean of the tokens between a start marker and the next end marker.

    Markers, ``[CLS]``, ``[SEP]`` and padding are excluded; unknown and masked tokens are included. The tokens of
    several mentions have equal weight. A mention whose end marker was truncated extends to the last token; an end
    marker without a start is ignored. A text without a marked token is one mention, a bare term. A text without any
    token has a zero vector.

    Args:
        markers: Start and end of a mention; the tokenizer must have them
            (:func:`st_biomed.modules.markers.add_markers`).
    """

    __module__ = "mention_pooling"  # what modules.json names: the file that save puts beside it
    config_keys = ["markers"]
    special: Tensor

    def __init__(self, markers: tuple[str, str] = MARKERS) -> None:
        super().__init__()
        self.markers = list(markers)
        self.ids: tuple[int, int] | None = None
        self.register_buffer("special", torch.zeros(0, dtype=torch.long), persistent=False)

    def on_model_ready(self, model: Any) -> None:
        """Look up the markers; sentence-transformers calls this when all modules exist.

        Raises:
            ValueError: The tokenizer has no such marker.
        """
        self.ids = marker_ids(model.tokenizer, self.markers)
        self.special = torch.tensor(special_ids(model.tokenizer, self.markers), device=self.special.device)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add ``sentence_embedding`` ``[B, D]``, from ``input_ids`` ``[B, L]`` and ``token_embeddings`` ``[B, L, D]``."""
        if self.ids is None:
            raise ValueError(
                "MentionPooling has not seen the tokenizer: call on_model_ready(model) once it is in a model"
            )
        if "cu_seq_lens_q" in features:
            features = repad_flattened_features(features)
        states = features["token_embeddings"]
        term = term_tokens(features["input_ids"], features.get("attention_mask"), self.special)
        marked = term & (mention_numbers(features["input_ids"], *self.ids) > 0)
        chosen = torch.where(marked.any(dim=1, keepdim=True), marked, term)
        wide = torch.float32 if states.dtype in (torch.float16, torch.bfloat16) else states.dtype
        total = states.masked_fill(~chosen[:, :, None], 0).sum(dim=1, dtype=wide)
        features["sentence_embedding"] = (total / chosen.sum(dim=1, keepdim=True).clamp_min(1)).to(states.dtype)
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write the configuration, and this file into the parent folder."""
        self.save_config(output_path)
        shutil.copyfile(__file__, Path(output_path).parent / Path(__file__).name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (vars(self),)  # a process that unpickles it finds the function where it is, unlike the class


def _restored(state: dict[str, Any]) -> MentionPooling:
    module = MentionPooling.__new__(MentionPooling)
    module.__setstate__(state)
    return module


def marker_ids(tokenizer: Any, markers: Any) -> tuple[int, int]:
    """Ids of the start and the end marker.

    Raises:
        ValueError: The tokenizer has no such marker.
    """
    ids = [tokenizer.convert_tokens_to_ids(marker) for marker in markers]
    for marker, id_ in zip(markers, ids):
        if id_ is None or tokenizer.convert_ids_to_tokens(id_) != marker:
            raise ValueError(f"the tokenizer has no marker {marker!r}: st_biomed.modules.markers.add_markers adds it")
    return ids[0], ids[1]


def special_ids(tokenizer: Any, markers: Any) -> list[int]:
    """Ids of tokens that belong to no term: beginning and end of a text, padding, and existing markers."""
    names = ("cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id")
    ids: set[Any] = {getattr(tokenizer, name, None) for name in names}
    found = (tokenizer.convert_tokens_to_ids(marker) for marker in markers)
    ids |= {id_ for marker, id_ in zip(markers, found) if tokenizer.convert_ids_to_tokens(id_) == marker}
    return sorted(ids - {None})


def term_tokens(input_ids: Tensor, attention_mask: Tensor | None, special: Tensor) -> Tensor:
    """Whether a token belongs to the text itself, bool ``[B, L]``.

    Args:
        input_ids: ``[B, L]``.
        attention_mask: ``[B, L]``, or ``None`` without padding.
        special: Ids from :func:`special_ids`.
    """
    term = ~torch.isin(input_ids, special.to(input_ids.device))
    return term if attention_mask is None else term & (attention_mask != 0)


def mention_numbers(input_ids: Tensor, start: int, end: int) -> Tensor:
    """Number of the mention of each token, counted from 1 by start markers; 0 outside of mentions.

    Args:
        input_ids: ``[B, L]``.
        start: Id of the start marker.
        end: Id of the end marker.

    Returns:
        int64 ``[B, L]``; a start marker is in its own mention.
    """
    positions = torch.arange(input_ids.shape[1], device=input_ids.device)
    last_start, last_end = (
        torch.where(input_ids == marker, positions, -1).cummax(dim=1).values for marker in (start, end)
    )
    return (input_ids == start).cumsum(dim=1) * (last_start > last_end)
