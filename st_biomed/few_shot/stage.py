"""One stage of a few-shot encoder: trained by sentence-transformers' trainer on stored vectors, and applied to others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Normalize
from transformers import PrinterCallback, set_seed

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.embedders import Embed, EmbedOnce, map_embedder
from st_biomed.few_shot.frozen_encoder import with_modules
from st_biomed.losses import FewShotLoss, FewShotNegativesCallback, FewShotValidationCallback
from st_biomed.losses.distance_weighted import DISTRIBUTIONS
from st_biomed.losses.few_shot import HINGES
from st_biomed.losses.few_shot_names import concept_prototypes
from st_biomed.metrics.cosine import unit_rows
from st_biomed.modules.name_vectors import NameVectors
from st_biomed.modules.residual_feed_forward import DROPOUT, ResidualFeedForward
from st_biomed.release.card import BiomedCard
from st_biomed.settings.checks import COUNT, WEIGHT, about, one_of, within
from st_biomed.training_data.few_shot import AMBIGUOUS, FewShotSplit, distinct_names, few_shot_names

PROTOTYPES = ("training", "all")
_NOT_USED: dict[str, Any] = {"save_strategy": "no", "eval_strategy": "no", "load_best_model_at_end": False}
_ROWS = 4096  # vectors per batch


@dataclass
class StageSettings:
    """The settings of a stage and its training as arguments; see :class:`~st_biomed.losses.FewShotLoss`."""

    dropout: float = field(default=DROPOUT, metadata=about("dropout of the hidden layer (3.2)", within("[0, 1)")))
    margin: float = field(default=0.1, metadata=about("margin of the triplets (2.2, Eq. 2; 3.2)", WEIGHT))
    hinge: str = field(
        default="per_triplet",
        metadata=about("hinge: per_triplet (Eq. 2), or batch_mean (the published code)", one_of(*HINGES)),
    )
    triplet_weight: float = field(default=1.0, metadata=about("weight of the triplets, alpha (2.2, Eq. 4)", WEIGHT))
    grounding_weight: float = field(default=1.0, metadata=about("weight of grounding, beta (2.2, Eq. 4)", WEIGHT))
    negatives: str = field(
        default="inverse_distance",
        metadata=about(
            "distribution of the negatives: inverse_distance (the published code), or wu2017 (2.2)",
            one_of(*DISTRIBUTIONS),
        ),
    )
    normalize: bool = field(
        default=True,
        metadata={"help": "normalize prototype and name to length 1 before they are averaged (the published code)"},
    )
    prototypes: str = field(
        default="training",
        metadata=about(
            "mean of the training names (the published code), or of all names (2.2, Eq. 3)", one_of(*PROTOTYPES)
        ),
    )
    average: float = field(
        default=1.0,
        metadata=about(
            "share of a trained stage's output; the rest is its input, so that less of it is lost; 1 for the paper's encoder",
            within("[0, 1]"),
        ),
    )
    lookback: int = field(default=10, metadata=about("epochs of the stopping rule (the published code)", COUNT))
    ambiguous: str = field(
        default="error", metadata=about("handling of a name under two concepts: error or drop", one_of(*AMBIGUOUS))
    )


@dataclass(frozen=True, eq=False)
class TrainedStage:
    """A stage after training.

    Attributes:
        module: The module with the weights of its best epoch and the share of the settings; it takes vectors of length 1.
        best_epoch: Counted from 1.
        seconds: Wall time of the training.
    """

    module: ResidualFeedForward
    split: FewShotSplit
    loss: FewShotLoss
    validation_losses: list[float]
    best_epoch: int
    seconds: float

    @property
    def validation_loss(self) -> float:
        """The validation loss of the best epoch."""
        return min(self.validation_losses)


def train_stage(
    embed: Embed,
    concepts: Mapping[str, Sequence[str]],
    *,
    shots: int,
    hidden: int,
    settings: StageSettings,
    training: SentenceTransformerTrainingArguments,
) -> TrainedStage:
    """Train a stage on top of vectors.

    The vectors are normalized first, both those of the input and those of an earlier stage. The published code does
    this for any representations, including "the output of the first model" (Fivez et al. 2021, section 3.3). Names,
    weights, batches, dropout and negatives depend only on ``training.seed``. Prototypes are means of the vectors
    before normalization, as in the published code.

    Args:
        embed: Vectors of the input, or of the earlier stages.
        concepts: Names of each concept.
        shots: Number of training names of each concept, and also of validation names.
        training: The trainer's arguments. A run takes seconds, so no checkpoints are saved, nothing else is measured
            during it, and no progress bar is shown.

    Raises:
        InputError: Invalid names, vectors or settings.
    """
    check_name("prototypes", settings.prototypes, PROTOTYPES)
    seed = training.seed
    split = few_shot_names(concepts, shots, seed, ambiguous=settings.ambiguous)
    texts = [*split.train["text"], *split.validation["text"]]
    raw = embed(texts)
    vectors = unit_vectors(raw)
    labels = np.array([*split.train["label"], *split.validation["label"]])
    n = len(split.train)
    prototypes = concept_prototypes(raw[:n], labels[:n])
    if settings.prototypes == "all":
        names = distinct_names(concepts, settings.ambiguous)
        prototypes = torch.from_numpy(np.stack([embed(names[code]).mean(axis=0) for code in split.codes]))
    set_seed(seed)
    module = ResidualFeedForward(vectors.shape[1], hidden, settings.dropout)
    table = NameVectors(texts, vectors)
    model = SentenceTransformer(modules=[table, module], model_card_data=BiomedCard(local_files_only=True))
    loss = FewShotLoss(
        model,
        table.vectors[:n],
        labels[:n],
        margin=settings.margin,
        hinge=settings.hinge,
        triplet_weight=settings.triplet_weight,
        grounding_weight=settings.grounding_weight,
        negatives=settings.negatives,
        prototypes=prototypes,
        normalize=settings.normalize,
        seed=seed,
    )
    validation = FewShotValidationCallback(loss, table.vectors[n:], labels[n:], lookback=settings.lookback)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=replace(training, **_NOT_USED, disable_tqdm=True),
        train_dataset=split.train,
        loss=loss,
        callbacks=[FewShotNegativesCallback(loss), validation],
    )
    trainer.remove_callback(PrinterCallback)
    started = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - started
    if not validation.losses:
        raise InputError("max_steps and num_train_epochs: training ends before every name is seen once")
    module.eval().requires_grad_(False)
    module.share = settings.average  # not in training, whose losses are of the paper's encoder (Eq. 1)
    return TrainedStage(module, split, loss, validation.losses, validation.best_epoch, seconds)


def stage_embedder(embed: Embed, module: ResidualFeedForward, *, bf16: bool = False) -> EmbedOnce:
    """Vectors of a stage on top of others.

    Args:
        embed: Vectors of the input, or of the earlier stages.
        module: The stage, in evaluation mode.
        bf16: Whether it computes under bfloat16 autocast.
    """
    device = next(module.parameters()).device

    def on(earlier: Embed) -> Embed:
        @torch.inference_mode()
        def embed_stage(texts: Sequence[str]) -> np.ndarray:
            rows = torch.from_numpy(unit_vectors(earlier(texts)))
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                parts = [module({"sentence_embedding": part.to(device)}) for part in rows.split(_ROWS)]
            return torch.cat([part["sentence_embedding"].float().cpu() for part in parts]).numpy()

        return embed_stage

    return EmbedOnce(map_embedder(embed, on))


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """The rows of a matrix ``[N, D]`` at length 1, float32; rows of zeros stay zero."""
    return unit_rows(vectors).astype(np.float32)


def assembled(base: SentenceTransformer, stages: Sequence[ResidualFeedForward]) -> SentenceTransformer:
    """The frozen model with stages on top, and a ``Normalize`` before each if there is none.

    Args:
        base: The model of the vectors; it is not changed.
        stages: The stages in the order of training.
    """
    modules: list[Any] = list(base)
    for stage in stages:
        if not isinstance(modules[-1], Normalize):
            modules.append(Normalize())
        modules.append(stage)
    return with_modules(base, modules)
