"""What every recipe that trains an encoder does in the same words: read, measure what it starts from, record, train."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from transformers import TrainerCallback, TrainingArguments

from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.modules.lora import add_lora, merge_lora
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.attention import eager_attention
from st_biomed.training.checkpoints import whole_checkpoints
from st_biomed.training.finish import Measured
from st_biomed.training.moving_average import MovingAverageCallback
from st_biomed.training.optimizer import decay_layers, decaying_all
from st_biomed.training.output import resume_point

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator


def read_terminology(sources: Iterable[str]) -> Terminology:
    """The terminologies of ``--terminology``, merged; each is what ``Terminology.open`` takes.

    Raises:
        InputError: As ``Terminology.open`` and ``Terminology.merge``.
    """
    return Terminology.merge(*(Terminology.open(source) for source in sources))


def measure_before(
    suite: EvaluatorSuite, model: SentenceTransformer, training: SentenceTransformerTrainingArguments
) -> Measured:
    """What the suite finds before training, by the evaluator's name."""
    return suite.measure(model, "the base model" if training.should_log else "")


def record_run(
    name: str,
    recipe: Any,
    training: TrainingArguments,
    losses: Mapping[str, nn.Module],
    **details: Any,
) -> RunRecord:
    """The record of a run, which begins now.

    Args:
        name: The recipe's name.
        recipe: Its arguments, with ``base_model`` and ``license``, where the details have none.
        training: The trainer's arguments.
        losses: By the name of the dataset.
        **details: The other arguments of :class:`~st_biomed.release.run_record.RunRecord`.
    """
    details = {"base_model": recipe.base_model, "seed": training.seed, "license": recipe.license, **details}
    record = RunRecord(recipe=name, configuration=asdict(recipe), **details)
    record.add_losses(losses)
    return record


def train_encoder(
    model: SentenceTransformer,
    recipe: EncoderArguments,
    training: SentenceTransformerTrainingArguments,
    rows: Any,
    loss: nn.Module | Mapping[str, nn.Module],
    record: RunRecord,
    *callbacks: TrainerCallback,
    dev: BaseEvaluator | None = None,
    collator: Any = None,
) -> SentenceTransformerTrainer:
    """Train with whole checkpoints, from the one that is resumed on.

    Low-rank updates are added before and merged after it; a moving average of the weights is what the encoder has in the end.

    Args:
        model: The encoder; trained in place.
        recipe: Says how the layers learn, which parameters decay, what is trained, and what is averaged.
        training: The trainer's arguments.
        rows: The dataset, or name to dataset.
        loss: The loss, or name of the dataset to loss.
        record: Gets the trainer's arguments and figures.
        *callbacks: Besides; what they write into a checkpoint is part of it.
        dev: What is measured in training.
        collator: In place of the host's.

    Returns:
        The trainer, after training.

    Raises:
        InputError: What :func:`~st_biomed.modules.lora.add_lora` and :func:`~st_biomed.training.optimizer.decay_layers` refuse.
    """
    if recipe.adapter == "lora":
        add_lora(model)
    decaying = model if isinstance(loss, Mapping) else loss
    optimizers: Any = (decaying_all(decaying, training), None) if recipe.decay_all else (None, None)
    averages = [] if recipe.ema_decay is None else [MovingAverageCallback(recipe.ema_decay)]
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=rows,
        loss=dict(loss) if isinstance(loss, Mapping) else loss,
        evaluator=dev,
        optimizers=optimizers,
        data_collator=collator,
        callbacks=whole_checkpoints(record.callback(), *callbacks, *averages),
    )
    if recipe.layer_decay != 1:
        decay_layers(trainer.create_optimizer(), model, recipe.layer_decay)
    with eager_attention(model, bf16=training.bf16):
        trainer.train(resume_from_checkpoint=resume_point(training))
    if recipe.adapter == "lora":
        merge_lora(model)
    return trainer
