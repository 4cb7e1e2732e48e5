"""Arguments that all recipes of encoders share: the base model, the precision, and which parameters are trained."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import torch

from st_biomed.averaging.arguments import AveragingArguments
from st_biomed.encoder import POOLINGS, computes_bf16, has_own_pooling, load_encoder
from st_biomed.encoder.foreign_code import FLAG_HELP
from st_biomed.encoder.text_limit import MIN_LENGTH, check_limit
from st_biomed.errors import InputError, check_name
from st_biomed.modules.lora import check_lora
from st_biomed.release.card import BiomedCard
from st_biomed.samplers import HardNegativePlan
from st_biomed.settings.checks import (
    COUNT,
    DROPOUT,
    FOLDER,
    PATH,
    PATTERN,
    SIZE,
    about,
    at_least,
    check_unused,
    one_of,
    within,
)
from st_biomed.training.best_metric import check_metric
from st_biomed.training.optimizer import layer_factors
from st_biomed.training.trained_parameters import prepare_encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.evaluation import BaseEvaluator
    from transformers import TrainingArguments

Given = TypeVar("Given", bound="TrainingArguments")

ADAPTERS = ("none", "lora")
PRECISIONS = ("auto", "as given")
_WITHOUT_EFFECT = {
    "label_smoothing_factor": 0.0,
    "neftune_noise_alpha": None,
    "train_sampling_strategy": "random",
    "data_seed": None,  # the batches of recipes are drawn by --seed
}
"""Arguments of the trainer that the training of an encoder does not read, with their defaults."""


class EmbeddingOptions(TypedDict):
    """Options of a loss: texts embedded at a time, and whether the texts of all processes form one batch."""

    mini_batch_size: int | None
    gather_across_devices: bool


@dataclass
class EncoderArguments(AveragingArguments):
    """Arguments of a recipe that trains a term encoder: the base model, the trained parameters and the output."""

    base_model: str = field(
        default="microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract-fulltext",
        metadata=about(
            "Hub id or folder of the model to start from (the default is PubMedBERT under its current name)", PATH
        ),
    )
    trust_remote_code: bool = field(default=False, metadata={"help": FLAG_HELP})
    pooling: str = field(
        default="cls",
        metadata=about(
            "cls, mean, max, lasttoken; own: that of the base model (mean for a plain checkpoint); own_or_cls: "
            "that of the base model (cls for a plain checkpoint)",
            one_of(*POOLINGS, "own", "own_or_cls"),
        ),
    )
    max_length: int = field(
        default=25,
        metadata=about(
            "maximum number of tokens of a name in training; measured and released with the base model's own limit",
            at_least(MIN_LENGTH),
        ),
    )
    dropout: float | None = field(
        default=None, metadata=about("dropout in training; the base model's by default", DROPOUT)
    )
    frozen: str = field(default="", metadata=about("regular expression of parameters that are not trained", PATTERN))
    adapter: str = field(
        default="none",
        metadata=about("none or lora: low-rank updates of the encoder, merged at the end", one_of(*ADAPTERS)),
    )
    layer_decay: float = field(
        default=1.0,
        metadata=about(
            "layer l of L has the learning rate learning_rate * layer_decay^(L - l); the embeddings are layer 0",
            within("(0, 1]"),
        ),
    )
    decay_all: bool = field(default=False, metadata={"help": "weight decay also for biases and layer norms"})
    ema_decay: float | None = field(
        default=None,
        metadata=about(
            "measure and release the exponential moving average of the weights, e.g. 0.999; none by default",
            within("(0, 1)"),
        ),
    )
    precision: str = field(
        default="as given",
        metadata=about(
            "auto: bf16 if the CPU or the GPU supports it; as given: --bf16 and --fp16 decide",
            one_of(*PRECISIONS),
        ),
    )
    mini_batch_size: int | None = field(
        default=None, metadata=about("texts embedded at a time by the cached losses; not cached by default", COUNT)
    )
    gather_across_devices: bool = field(default=False, metadata={"help": "the texts of all processes form one batch"})
    license: str = field(default="other", metadata={"help": "license of the released model"})
    overwrite: bool = field(default=False, metadata={"help": "replace what an earlier run left in output_dir"})
    cache_dir: str = field(
        default="",
        metadata=about("folder in which vectors of measured texts are stored for later runs; none by default", FOLDER),
    )
    smoke: bool = field(default=False, metadata={"help": "two small steps, for tests"})

    @property
    def loss_learning_rate(self) -> float | None:
        """Learning rate of the parameters of the loss; ``None`` for that of the encoder."""
        return None

    @property
    def loss_warmup_steps(self) -> float | None:
        """Steps of the warm-up of this learning rate, or their share of all steps; ``None`` for the trainer's."""
        return None

    def encoder(self) -> SentenceTransformer:
        """The encoder to train.

        Raises:
            InputError: The model does not exist, the pooling is unknown, no parameter matches ``frozen``, low-rank
                updates do not fit the model, ``layer_decay`` finds no numbered layers, or the encoder has no positions for
                ``max_length`` tokens.
        """
        check_name("pooling", self.pooling, (*POOLINGS, "own", "own_or_cls"))
        pooling = None if self.pooling.startswith("own") else self.pooling
        if self.pooling == "own_or_cls" and not has_own_pooling(self.base_model):
            pooling = "cls"
        model = load_encoder(
            self.base_model,
            pooling=pooling,
            card=BiomedCard(),
            trust_remote_code=self.trust_remote_code,
        )
        if self.adapter == "lora":
            check_lora(model)
        if self.layer_decay != 1:
            layer_factors(model, self.layer_decay)
        check_limit(self.max_length, model)
        prepare_encoder(model, self.dropout, self.frozen)
        if prompts := {name: prompt for name, prompt in model.prompts.items() if prompt}:
            warnings.warn(
                f"{self.base_model} has prompts ({prompts}) that linking uses and training does not; save it without them",
                stacklevel=2,
            )
        return model

    def training_arguments(
        self, training: SentenceTransformerTrainingArguments
    ) -> SentenceTransformerTrainingArguments:
        """The trainer's arguments with the recipe's precision.

        Raises:
            InputError: An error of :meth:`check_averaging`, an unknown precision, or an argument of the trainer that does
                nothing in the training of an encoder.
        """
        self.check_averaging()
        for name, default in _WITHOUT_EFFECT.items():
            if (found := getattr(training, name)) != default:
                raise InputError(f"{name}: does nothing in the training of an encoder, found {found}; leave it out")
        if training.eval_on_start and training.eval_strategy == "no":
            raise InputError("eval_on_start: needs --eval_strategy steps or epoch, found no")
        return with_precision(training, self.precision)

    def embedding(self) -> EmbeddingOptions:
        """The options of losses for embedding."""
        return {"mini_batch_size": self.mini_batch_size, "gather_across_devices": self.gather_across_devices}

    def measuring(self, training: SentenceTransformerTrainingArguments) -> dict[str, Any]:
        """The options of evaluators: the precision of the training, and the folder of stored vectors."""
        return {"bf16": training.bf16, "cache_dir": self.cache_dir or None}


@dataclass
class HardNegativeArguments:
    """Dynamic sampling of CODER++ and of the Italian models: prototypes, their synonyms and their nearest rows."""

    neighbors: int = field(
        default=0,
        metadata=about(
            "rows nearest to each prototype, m (possible negatives); a batch then has prototypes * (1 + positives + "
            "neighbors) rows, and --per_device_train_batch_size is ignored; 0: batches without hard negatives",
            SIZE,
        ),
    )
    prototypes: int = field(default=4, metadata=about("prototypes per batch (4 in the Italian paper)", COUNT))
    positives: int = field(default=20, metadata=about("rows of the concepts of each prototype, k (20)", COUNT))
    prototypes_per_concept: int = field(
        default=3, metadata=about("maximum number of prototypes of a concept in an epoch (a small number)", COUNT)
    )
    refresh_steps: int = field(
        default=0,
        metadata=about("steps between updates of the neighbors with the current weights; 0: every epoch", SIZE),
    )

    def check_hard_negatives(self) -> None:
        """Reject numbers of rows below 1, and numbers without hard negatives.

        Raises:
            InputError: One is below 1, or is given and nothing reads it.
        """
        if self.neighbors:
            self.hard_negative_plan()
        else:
            options = [option.name for option in fields(HardNegativeArguments)]
            check_unused(self, options, "batches without --neighbors", by=("neighbors",))

    def hard_negative_plan(self) -> HardNegativePlan:
        """The numbers of rows of each kind in a batch.

        Raises:
            InputError: A number is below 1.
        """
        return HardNegativePlan(
            prototypes=self.prototypes,
            positives=self.positives,
            neighbors=self.neighbors,
            prototypes_per_concept=self.prototypes_per_concept,
        )


def with_precision(training: Given, precision: str) -> Given:
    """The trainer's arguments, with bf16 if requested and supported.

    They are constructed again, since the trainer's arguments read the precision in their constructor.

    Args:
        precision: ``"auto"``, or ``"as given"`` to leave it to ``--bf16`` and ``--fp16``.

    Raises:
        InputError: The precision is unknown.
    """
    check_name("precision", precision, PRECISIONS)
    if precision == "as given" or training.fp16 or not computes_bf16("cpu" if training.use_cpu else None):
        return training
    return replace(training, bf16=True, use_cpu=training.use_cpu or not torch.cuda.is_available())


def changed_arguments(training: TrainingArguments) -> list[str]:
    """Names of the trainer's arguments whose values are not the defaults, for a record."""
    usual = type(training)(training.output_dir).to_dict()
    return [name for name, value in training.to_dict().items() if value != usual[name]]


def measured_in_training(
    training: SentenceTransformerTrainingArguments, dev: BaseEvaluator | None
) -> BaseEvaluator | None:
    """The evaluator during training; without one, evaluation is switched off and a line is printed.

    Args:
        training: The trainer's arguments, changed in place.
        dev: The evaluator of the dev splits; ``None`` if no benchmark has one.

    Raises:
        InputError: An error of :func:`~st_biomed.training.best_metric.check_metric`, or a schedule that needs an evaluator.
    """
    if training.eval_strategy == "no":
        return None
    if dev is not None:
        check_metric(training, dev)
        return dev
    if training.lr_scheduler_type == "reduce_lr_on_plateau":
        raise InputError("lr_scheduler_type: reduce_lr_on_plateau needs a benchmark with a dev split, found none")
    print("no benchmark has a dev split: nothing is measured in training, and the last weights are kept")
    training.eval_strategy, training.load_best_model_at_end, training.eval_on_start = "no", False, False
    return None
