"""The base model's head, which predicts masked tokens from an encoder's states."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from st_biomed.errors import InputError
from st_biomed.modules.adapters import encoder_of


class MaskedLanguageHead(nn.Module):
    """The head of a masked language model over the states of another encoder, whose word embeddings it shares.

    Args:
        masked_model: A masked language model of transformers, from :func:`st_biomed.encoder.masked.load_masked_model`;
            its own encoder is removed.
        model: The model whose states the head reads.

    Raises:
        InputError: The two differ in width.
    """

    def __init__(self, masked_model: Any, model: SentenceTransformer) -> None:
        super().__init__()
        encoder: Any = encoder_of(model).model
        words = encoder.get_input_embeddings()
        if masked_model.config.hidden_size != encoder.config.hidden_size:
            raise InputError(
                f"the masked language model has width {masked_model.config.hidden_size}, the encoder {encoder.config.hidden_size}"
            )
        if masked_model.get_input_embeddings().num_embeddings != words.num_embeddings:
            masked_model.resize_token_embeddings(words.num_embeddings)
        setattr(masked_model, masked_model.base_model_prefix, _Given())
        masked_model.get_output_embeddings().weight = words.weight
        self.head = masked_model.to(words.weight.device)

    def forward(self, states: Tensor) -> Tensor:
        """Scores of every token of the vocabulary, ``[N, V]``, from states ``[N, D]``."""
        return self.head(inputs_embeds=states[None]).logits[0]


class _Given(nn.Module):
    """Takes the place of an encoder: its states are those it is given."""

    def forward(self, *args: Any, inputs_embeds: torch.Tensor, **kwargs: Any) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=inputs_embeds)
