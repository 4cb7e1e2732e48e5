"""Steps that all recipes of encoders share: read the terminology, measure the base model, record the run, train."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from transformers import TrainerCallback, TrainingArguments

from st_biomed.encoder.case import ignores_case
from st_biomed.encoder.text_limit import limited_preprocess
from st_biomed.errors import InputError
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.modules.lora import add_lora, merge_lora
from st_biomed.release.foreign_parts import check_base_model
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.terminology.conflicts import apart_but_for_case
from st_biomed.training.arguments import EncoderArguments, measured_in_training
from st_biomed.training.attention import eager_attention
from st_biomed.training.batches_of_parts import BatchesOfPartsCallback
from st_biomed.training.best_weights import BestWeightsCallback
from st_biomed.training.checkpoints import with_complete_checkpoints
from st_biomed.training.encoder_trainer import EncoderTrainer
from st_biomed.training.finish import Measured
from st_biomed.training.loss_warmup import LossWarmupCallback
from st_biomed.training.moving_average import MovingAverageCallback
from st_biomed.training.optimizer import decay_all, decay_layers, set_loss_rate
from st_biomed.training.output import resume_point
from st_biomed.training.same_run import check_or_record_run
from st_biomed.training.trained_parameters import check_trainable, freeze_adapters

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator


def read_terminology(sources: Iterable[str]) -> Terminology:
    """The terminologies of ``--terminology``, merged.

    Args:
        sources: Arguments of ``Terminology.open``.

    Raises:
        InputError: An error of ``Terminology.open`` or ``Terminology.merge``.
    """
    return Terminology.merge(*(Terminology.open(source) for source in sources))


def evaluate_base_model(
    suite: EvaluatorSuite,
    model: SentenceTransformer,
    training: SentenceTransformerTrainingArguments,
    train: Terminology | None = None,
) -> Measured:
    """The results of the suite before training, by the evaluator's name.

    Args:
        train: The terminology to train on, if its names are contrasted. A warning counts those that the model cannot
            tell from a name of another concept, because it ignores case.

    Raises:
        InputError: The base model runs foreign code, so that it could be trained and not released.
    """
    check_base_model(model)
    if train is not None and ignores_case(model) and (names := apart_but_for_case(train)):
        warnings.warn(
            f"terminology: {names:,} names equal a name of another concept but for case, which the base model ignores, and "
            "are trained as its negatives; make such names one text: `st-biomed merge ... --normalize lower --output "
            "FOLDER`, or `normalize: lower` for `st-biomed unite`",
            stacklevel=2,
        )
    return suite.measure(model, "the base model" if training.should_log else "")


def record_run(
    name: str,
    recipe: Any,
    training: TrainingArguments,
    losses: Mapping[str, nn.Module],
    **details: Any,
) -> RunRecord:
    """The record of a run that starts now.

    Args:
        recipe: The recipe's arguments; their ``base_model`` and ``license`` are used unless the details have them.
        losses: Name of the dataset to its loss.
        **details: The other arguments of :class:`~st_biomed.release.run_record.RunRecord`.
    """
    details = {"base_model": recipe.base_model, "seed": training.seed, "license": recipe.license, **details}
    record = RunRecord(recipe=name, configuration=asdict(recipe), **details)
    record.add_losses(losses)
    return record


NOTHING_LEARNED = (
    "warning: the loss of all steps is 0, so nothing was learned: a miner found no pair, or no group has a partner; "
    "try --miner none, larger batches, or other names"
)


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
    """Train an encoder with complete checkpoints, or continue its training from one.

    Texts are cut after ``max_length`` tokens while a batch is made of them, and only then: the encoder is measured, saved
    and released with its own limit. With ``--adapter lora`` low-rank updates are added before training and merged
    after it; adapters of ``--frozen`` parameters are not trained. With ``--ema_decay`` the encoder has the moving
    average of the weights at the end.

    Args:
        model: The encoder; trained in place.
        recipe: The settings of the learning rates of layers and of the loss, its warm-up, weight decay, low-rank updates
            and the moving average.
        rows: The dataset, or name to dataset.
        loss: The loss, or name of the dataset to loss.
        record: The record to which the trainer's arguments and figures are added.
        dev: The evaluator in training. Without one, evaluation is switched off and a line is printed.
        *callbacks: Additional callbacks; the files that they write into a checkpoint belong to it.
        collator: Replaces the trainer's data collator, and cuts its texts itself.

    Returns:
        The trainer, after training.

    Raises:
        InputError: An error of :func:`~st_biomed.modules.lora.add_lora`,
            :func:`~st_biomed.training.trained_parameters.freeze_adapters`,
            :func:`~st_biomed.training.trained_parameters.check_trainable` or
            :func:`~st_biomed.training.optimizer.decay_layers`, the run that is resumed began with other settings, or the
            weights of the best checkpoint were not loaded. Also: arguments that the trainer rejects.
    """
    dev = measured_in_training(training, dev)
    check_or_record_run(record, training)
    return run_trainer(model, recipe, training, rows, loss, record, *callbacks, dev=dev, collator=collator)


def run_trainer(
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
    """As :func:`train_encoder`, of a run or phase whose settings were compared with those with which it began.

    Raises:
        InputError: As of :func:`train_encoder`.
    """
    if recipe.adapter == "lora":
        add_lora(model, only_merged=True)
    if recipe.adapter != "none":
        freeze_adapters(model, recipe.frozen)
    check_trainable(model, recipe.frozen)
    averages = [] if recipe.ema_decay is None else [MovingAverageCallback(recipe.ema_decay)]
    parts = [BatchesOfPartsCallback(record, [*rows])] if isinstance(rows, Mapping) and len(rows) > 1 else []
    try:
        trainer = EncoderTrainer(
            model=model,
            args=training,
            train_dataset=rows,
            loss=dict(loss) if isinstance(loss, Mapping) else loss,
            evaluator=dev,
            data_collator=collator,
            callbacks=with_complete_checkpoints(
                record.callback(), BestWeightsCallback(), *parts, *callbacks, *averages
            ),
        )
    except (ValueError, ImportError) as error:  # arguments that do not fit the model, the data or the packages
        if isinstance(error, InputError):
            raise
        raise InputError(f"training arguments: {' '.join(str(error).split())}") from error
    if collator is None:
        trainer.data_collator.preprocess_fn = limited_preprocess(model, recipe.max_length)
    if recipe.decay_all:
        decay_all(trainer.create_optimizer(), training.weight_decay)
    if recipe.layer_decay != 1:
        decay_layers(trainer.create_optimizer(), model, recipe.layer_decay)
    if recipe.loss_learning_rate is not None or recipe.loss_warmup_steps is not None:
        set_loss_rate(trainer.create_optimizer(), model, recipe.loss_learning_rate)
    if recipe.loss_warmup_steps is not None:
        trainer.add_callback(LossWarmupCallback(model, recipe.loss_warmup_steps))
    with eager_attention(model, bf16=training.bf16, max_length=recipe.max_length):
        trainer.train(resume_from_checkpoint=resume_point(training))
    if trainer.is_world_process_zero() and trainer.state.log_history[-1].get("train_loss") == 0:
        print(NOTHING_LEARNED)
    if recipe.adapter == "lora":
        merge_lora(model)
    return trainer
