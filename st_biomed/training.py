"""What every recipe does around the trainer: precision, folders, where to go on, and which parameters learn."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from huggingface_hub import HfApi
from torch import nn

from st_biomed.batches import HardNegativePlan
from st_biomed.encoder import POOLINGS, computes_bf16, has_own_pooling, load_encoder
from st_biomed.errors import InputError, unknown_name
from st_biomed.release.card import BiomedCard
from st_biomed.release.folder import check_free
from st_biomed.release.hub import check_target
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.privacy import may_leave
from st_biomed.release.push_target import push_target
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.evaluation import BaseEvaluator

PRECISIONS = ("auto", "as given")


@dataclass
class EncoderArguments:
    """What every recipe asks: where to start from, what is trained, and what becomes of the output."""

    base_model: str = field(
        default="microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract-fulltext",
        metadata={"help": "Hub id or folder to start from (by default PubMedBERT, of which this is the name today)"},
    )
    pooling: str = field(
        default="cls",
        metadata={
            "help": "cls, mean, max, lasttoken; own: what the base model has (mean for a plain checkpoint); own_or_cls: "
            "what it has (cls for a plain checkpoint)"
        },
    )
    max_length: int = field(default=25, metadata={"help": "tokens a name is cut at"})
    dropout: float | None = field(default=None, metadata={"help": "dropout in training; the base model's by default"})
    frozen: str = field(default="", metadata={"help": "regular expression of parameters that are not trained"})
    precision: str = field(
        default="as given",
        metadata={"help": "auto: bf16 where the processor or the GPU computes in it; as given: --bf16, --fp16 decide"},
    )
    mini_batch_size: int | None = field(
        default=None, metadata={"help": "texts embedded at a time by the cached losses; not cached by default"}
    )
    gather_across_devices: bool = field(default=False, metadata={"help": "the texts of all processes form one batch"})
    licence: str = field(default="other", metadata={"help": "licence of the released model"})
    overwrite: bool = field(default=False, metadata={"help": "replace what an earlier run left in output_dir"})
    cache_dir: str = field(
        default="",
        metadata={"help": "folder in which vectors of measured texts are kept for later runs; none by default"},
    )
    smoke: bool = field(default=False, metadata={"help": "two small steps, for tests"})

    def encoder(self) -> SentenceTransformer:
        """The encoder to train.

        Raises:
            InputError: No such model, unknown pooling, or no parameter to freeze.
        """
        if self.pooling not in (*POOLINGS, "own", "own_or_cls"):
            raise unknown_name("pooling", self.pooling, (*POOLINGS, "own", "own_or_cls"))
        pooling = None if self.pooling.startswith("own") else self.pooling
        if self.pooling == "own_or_cls" and not has_own_pooling(self.base_model):
            pooling = "cls"
        model = load_encoder(
            self.base_model,
            pooling=pooling,
            max_length=self.max_length,
            card=BiomedCard(),
        )
        prepare_encoder(model, self.dropout, self.frozen)
        return model


@dataclass
class HardNegativeArguments:
    """The dynamic sampling of CODER++ and of the Italian models: prototypes, their synonyms and the rows nearest to them."""

    neighbours: int = field(
        default=0,
        metadata={
            "help": "rows nearest to each prototype, m (possible negatives), a batch being prototypes * (1 + positives + "
            "neighbours) whatever --per_device_train_batch_size; 0: batches without hard negatives"
        },
    )
    prototypes: int = field(default=4, metadata={"help": "prototypes of a batch (the Italian paper: 4)"})
    positives: int = field(default=20, metadata={"help": "rows of its concepts for each prototype, k (20)"})
    prototypes_per_concept: int = field(
        default=3, metadata={"help": "prototypes of a concept in an epoch, at most (a small number)"}
    )
    refresh_steps: int = field(
        default=0, metadata={"help": "steps between new neighbours, found with the current weights; 0: every epoch"}
    )

    def hard_negative_plan(self) -> HardNegativePlan:
        """How many rows of each kind a batch has.

        Raises:
            InputError: A number below 1.
        """
        return HardNegativePlan(
            prototypes=self.prototypes,
            positives=self.positives,
            neighbours=self.neighbours,
            prototypes_per_concept=self.prototypes_per_concept,
        )


def with_precision(
    training: SentenceTransformerTrainingArguments, precision: str
) -> SentenceTransformerTrainingArguments:
    """The arguments made anew with bf16 where the machine computes in it: the host reads the precision when it is made.

    Args:
        training: The trainer's arguments.
        precision: ``"auto"``, or ``"as given"`` to leave it to ``--bf16`` and ``--fp16``.

    Raises:
        InputError: Another precision.
    """
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    if precision == "as given" or training.fp16 or not computes_bf16():
        return training
    return replace(training, bf16=True, use_cpu=training.use_cpu or not torch.cuda.is_available())


@dataclass
class OutputFolders:
    """Where a run writes: the release, and beside it checkpoints and what holds training strings.

    What an earlier run left is removed only when something new takes its place: its checkpoints when training begins,
    its release when the new one is saved. A run that is resumed removes no checkpoint.

    Attributes:
        release: The release folder.
        work: ``<release>-training``.
        resumed: Whether training goes on from a checkpoint.
        push: Where the release is published in the end; nowhere by default.
        token: Of the Hub; the one that is stored by default.
    """

    release: Path
    work: Path
    resumed: bool = False
    push: PushOptions | None = None
    token: str | None = field(default=None, repr=False)

    def begin(self, terminology: Terminology) -> None:
        """Make room for the checkpoints of a new run, and keep what is trained on beside them.

        Args:
            terminology: What is trained on.

        Raises:
            InputError: The run that is resumed was trained on something else.
        """
        kept = self.work / "terminology"
        if self.resumed:
            if kept.is_dir() and Terminology.load(kept).digest != terminology.digest:
                raise InputError(
                    f"{self.work}: the checkpoint was trained on another terminology or split than this run; "
                    "resume with the same --terminology and --split_seed"
                )
            if kept.is_dir():
                return
        else:
            for path in self.work.glob("*") if self.work.is_dir() else ():
                if path.is_dir() and re.fullmatch(r"checkpoint-\d+|terminology|trained|eval|runs", path.name):
                    shutil.rmtree(path)
        terminology.save(kept)

    def make_room(self) -> None:
        """Remove the release of an earlier run, just before the new one is saved."""
        if (self.release / "run.json").is_file():
            shutil.rmtree(self.release)


def output_folders(training: SentenceTransformerTrainingArguments, name: str, overwrite: bool) -> OutputFolders:
    """The release goes to ``output_dir``; checkpoints and what holds training strings stay in ``<output_dir>-training``.

    Args:
        training: The trainer's arguments; its ``output_dir`` becomes the second folder.
        name: The recipe's name, for where no output folder is given.
        overwrite: Whether an earlier run's release may be replaced.

    Raises:
        InputError: The release folder holds something that is not to be replaced, there is no checkpoint to resume from,
            or the release could not be published where it is to be.
    """
    push = push_target(training)
    release = Path(training.output_dir or f"out/{name}")
    work = release.with_name(f"{release.name}-training")
    resumed = _checked_resume(training, work)
    if (release / "run.json").is_file() and overwrite:
        _check_replaceable(release)
        if training.should_save:
            print(f"{release}: the release of an earlier run is there, and is replaced when this one ends")
    elif training.should_save:
        try:
            check_free(release)
        except InputError as error:
            hint = ", or give --overwrite true" if (release / "run.json").is_file() else ""
            raise InputError(f"{error}{hint}") from None
    training.output_dir = str(work)
    token, training.hub_token = training.hub_token, None
    if push is not None and training.should_save:
        check_target(HfApi(token=token), push)
    return OutputFolders(release, work, resumed, push, token)


def _checked_resume(training: SentenceTransformerTrainingArguments, work: Path) -> bool:
    """Whether training is resumed; from a checkpoint that is there.

    Raises:
        InputError: It is not.
    """
    point = resume_point(training)
    if not point:
        return False
    there = sorted(path.name for path in work.glob("checkpoint-*")) if work.is_dir() else []
    if point is True and not there:
        raise InputError(
            f"{work}: holds no checkpoint to resume from; leave --resume_from_checkpoint out to begin anew"
        )
    if isinstance(point, str) and not (Path(point) / "trainer_state.json").is_file():
        held = f"; {work} holds {', '.join(there)}" if there else ""
        raise InputError(f"--resume_from_checkpoint {point}: is no checkpoint{held}")
    return True


def _check_replaceable(release: Path) -> None:
    """Refuse to replace a release folder in which somebody keeps something else."""
    for path in sorted(release.rglob("*")):
        name = path.relative_to(release).as_posix()
        if path.is_file() and not may_leave(name):
            raise InputError(f"{release}: holds {name} besides the release, which would be lost; move it elsewhere")


def resume_point(training: SentenceTransformerTrainingArguments) -> str | bool | None:
    """``--resume_from_checkpoint`` as the trainer takes it: a folder, or whether to take the last checkpoint."""
    said = training.resume_from_checkpoint
    return said.lower() == "true" if said in ("true", "false", "True", "False") else said


def measured_in_training(
    training: SentenceTransformerTrainingArguments, dev: BaseEvaluator | None
) -> BaseEvaluator | None:
    """What the trainer measures; where there is nothing to measure it by, it is told not to, and a line says so.

    Args:
        training: The trainer's arguments, changed in place.
        dev: The evaluator of the dev splits; ``None`` where no benchmark has one.
    """
    if training.eval_strategy == "no" or dev is not None:
        return None if training.eval_strategy == "no" else dev
    print("no benchmark has a dev split: nothing is measured in training, and the last weights are kept")
    training.eval_strategy, training.load_best_model_at_end = "no", False
    return None


def prepare_encoder(model: SentenceTransformer, dropout: float | None, frozen: str) -> None:
    """Set the dropout and freeze what is not trained.

    Args:
        model: The encoder.
        dropout: Share of values dropped in training; ``None`` keeps the model's own.
        frozen: Regular expression of parameters; empty for none.

    Raises:
        InputError: No parameter's name matches.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout) and dropout is not None:
            module.p = dropout
    names = [name for name, _ in model.named_parameters() if frozen and re.search(frozen, name)]
    if frozen and not names:
        raise InputError(f"frozen: no parameter's name matches {frozen!r}")
    for name in names:
        model.get_parameter(name).requires_grad_(False)


def decaying_all(loss: nn.Module, training: SentenceTransformerTrainingArguments) -> torch.optim.Optimizer:
    """AdamW that decays biases and layer norms too, as the published code of SapBERT does.

    The host would leave them out.

    Args:
        loss: What is trained, the encoder among it.
        training: Learning rate, betas, epsilon and weight decay.
    """
    weights = [weight for weight in loss.parameters() if weight.requires_grad]
    return torch.optim.AdamW(
        weights,
        lr=training.learning_rate,
        betas=(training.adam_beta1, training.adam_beta2),
        eps=training.adam_epsilon,
        weight_decay=training.weight_decay,
    )
