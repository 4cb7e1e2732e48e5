"""A trainer for masked-language training that scores only masked tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import Trainer

from st_biomed.corpus.masking import IGNORED
from st_biomed.training.encoder_trainer import EndsAtMaxSteps


class MaskedLanguageTrainer(EndsAtMaxSteps, Trainer):
    """The trainer of transformers for a masked language model, with a loss that is computed only for labeled tokens.

    The models of transformers score each token of a batch against the whole vocabulary, and then drop all but the 15%
    that are masked. Here only the masked tokens reach the last layer of the head. Loss and gradients are the same, and
    the scores need a seventh of the memory and time. A model whose head has no such layer computes all scores. The
    loss is the mean over the labeled tokens of a batch; with gradient accumulation, the mean of these means.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.model_accepts_loss_kwargs = False  # the mean of a batch is what compute_loss returns

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The mean cross-entropy over the tokens whose label is not -100; 0 if there are none."""
        inputs = dict(inputs)
        labels = inputs.pop("labels")
        labeled = labels != IGNORED
        with scoring_only(self.accelerator.unwrap_model(model), labeled):
            outputs = model(**inputs)
        scores = outputs["logits"]
        scores = scores[labeled] if scores.shape[:-1] == labels.shape else scores
        smoothing = self.args.label_smoothing_factor
        loss = cross_entropy(scores.float(), labels[labeled], reduction="sum", label_smoothing=smoothing)
        loss = loss / labeled.sum().clamp(min=1)
        return (loss, outputs) if return_outputs else loss


@contextmanager
def scoring_only(model: Any, labeled: Tensor) -> Iterator[None]:
    """A context in which the last layer of the head gets only the states of the labeled tokens, in their order.

    Args:
        model: A masked language model of transformers.
        labeled: Boolean ``[B, L]``.
    """
    layer = model.get_output_embeddings()
    if not isinstance(layer, nn.Module):
        yield
        return

    def chosen(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        states = args[0]
        return (states[labeled], *args[1:]) if states.shape[:-1] == labeled.shape else None

    handle = layer.register_forward_pre_hook(chosen)
    try:
        yield
    finally:
        handle.remove()
