"""Train an encoder with injected knowledge: predict masked tokens, and link mentions to entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from st_biomed.errors import InputError, check_number
from st_biomed.kge import KGETable
from st_biomed.losses.entity_linking import OF_MENTIONS, UNLINKED, EntityLinkingLoss
from st_biomed.losses.loss_parameters_callback import require_loss_parameters_callback
from st_biomed.losses.whole_vectors import require_whole_vectors
from st_biomed.modules.masked_language_head import MaskedLanguageHead


class KnowledgeInjectionLoss(nn.Module):
    r"""Masked language modeling and entity linking (Amore Bondarenko et al. 2022, Eq. 6: ``L = L_MLM + L_EL``).

    Use it with the trainer of sentence-transformers and :class:`KnowledgeInjectionCollator`; the parameters of the
    head need :class:`~st_biomed.losses.LossParametersCallback`. Masked tokens are predicted from the encoder's last
    states.

    Args:
        model: A model from :func:`st_biomed.modules.inject_knowledge.inject_knowledge`.
        head: The head for masked language modeling; ``None`` trains only the linking.
        entities: As for :class:`EntityLinkingLoss`; those that the model injects by default.
        masked_weight: Weight of ``L_MLM``; the paper adds the two without weights.
        linking_weight: Weight of ``L_EL``.
        **linking: ``reduction`` and ``num_sampled`` of :class:`EntityLinkingLoss`.

    Raises:
        InputError: An argument out of its range, no part with a weight, or a model that injects no knowledge.

    Inputs:
        ====================================== ==========================================================
        Column                                 Label
        ====================================== ==========================================================
        masked texts with ``mention_spans``    ``{"tokens": [B, L], "entities": [B, M]}``, -100 for none
        ====================================== ==========================================================
    """

    def __init__(
        self,
        model: nn.Module | None,
        head: MaskedLanguageHead | None = None,
        *,
        entities: KGETable | Tensor | None = None,
        masked_weight: float = 1.0,
        linking_weight: float = 1.0,
        **linking: Any,
    ) -> None:
        super().__init__()
        self.model: Any = model
        self.head = head
        self.loss = EntityLinkingLoss(model, entities, **linking)
        self.masked_weight = check_number("masked_weight", masked_weight, least=0.0)
        self.linking_weight = check_number("linking_weight", linking_weight, least=0.0)
        if not self.linking_weight and (head is None or not self.masked_weight):
            raise InputError("at least one weight of a trained part must be above 0, found only 0")

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: dict[str, Tensor]) -> dict[str, Tensor]:
        """The weighted parts, ``masked_language`` and ``entity_linking``, which add up to the loss."""
        if self.model is None:
            raise InputError("embedding needs a model")
        require_whole_vectors(self, OF_MENTIONS)
        require_loss_parameters_callback(self)
        (features,) = sentence_features
        features = self.model(features)
        parts = {"entity_linking": self.linking_weight * self.loss.of_mentions(features, labels["entities"])}
        if self.head is not None:
            parts["masked_language"] = self.masked_weight * _masked(
                self.head, features["token_embeddings"], labels["tokens"]
            )
        return parts

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        weights = {"masked_weight": self.masked_weight, "linking_weight": self.linking_weight}
        return {"masked_language": self.head is not None, **weights, **self.loss.get_config_dict()}

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return self.loss.citation


def _masked(head: MaskedLanguageHead, states: Tensor, tokens: Tensor) -> Tensor:
    """Mean cross-entropy of masked tokens, given by their ids ``[B, L]``, from states ``[B, L, D]``."""
    masked = tokens != UNLINKED
    if not masked.any():
        return states.sum() * 0.0
    return cross_entropy(head(states[masked]).float(), tokens[masked])


class KnowledgeInjectionCollator:
    """Prepares the input of :class:`KnowledgeInjectionLoss` for the trainer of sentence-transformers.

    Args:
        masking: Makes a batch of rows: tensors ``input_ids``, ``attention_mask`` and ``labels`` ``[B, L]`` (ids of masked
            tokens, else -100), ``mention_spans`` ``[B, M, 2]`` (half-open token positions, padded with -1) and
            ``entity_labels`` ``[B, M]`` (rows of the table, else -100).
    """

    valid_label_columns = ("label",)
    takes_prompts = False  # as in GraphCollator

    def __init__(self, masking: Callable[[list[dict[str, Any]]], dict[str, Tensor]]) -> None:
        self.masking = masking

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """One text column of features, and both kinds of labels.

        Raises:
            InputError: The batch lacks one of the tensors.
        """
        batch = dict(self.masking(rows))
        try:
            spans = batch.pop("mention_spans")[:, None]  # [B, 1, M, 2]: never taken for one of the tokens
            label = {"tokens": batch.pop("labels"), "entities": batch.pop("entity_labels")}
        except KeyError as error:
            raise InputError(
                f"the masked batch has no {error.args[0]!r}, it has {', '.join(sorted(batch))}"
            ) from error
        return {
            "label": label,
            "text_mention_spans": spans,
            **{f"text_{name}": value for name, value in batch.items()},
            **{name: row[name] for row in rows[:1] for name in ("dataset_name",) if name in row},
        }
