"""Chains of stages: each training set alone, and on top of the result of another one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed
from st_biomed.few_shot.stage import StageSettings, TrainedStage, stage_embedder, train_stage
from st_biomed.few_shot.training_sets import TrainingSet

Chain = tuple[str, ...]
"""Names of training sets; the first one is that of the first stage."""


@dataclass(frozen=True)
class TrainedChain:
    """Stages on top of each other.

    Attributes:
        sets: The training set of each stage.
    """

    sets: Chain
    stages: tuple[TrainedStage, ...]
    embed: Embed


@dataclass(frozen=True)
class Experiment:
    """The common parts of the runs of an experiment.

    Attributes:
        training: The trainer's arguments, except the seed.
    """

    sets: Mapping[str, TrainingSet]
    encoder: Embed
    settings: StageSettings
    training: SentenceTransformerTrainingArguments

    def train(
        self, chains: Sequence[Chain], *, shots: int, seed: int, hidden: Mapping[str, int]
    ) -> Iterator[TrainedChain]:
        """Train chains with one draw of names.

        "...continual learning from SNOMED-CT to ICD-10 (S to I) or vice versa (I to S), where we use the output of the
        first model as input representations to train the second model" (Fivez et al. 2021, section 3.3). A stage that
        several chains begin with is trained once. A chain is trained after those that it continues.

        Args:
            shots: Number of names of every concept.
            hidden: Width of the hidden layer for each training set.
        """
        done: dict[Chain, TrainedChain] = {(): TrainedChain((), (), self.encoder)}
        for chain in chains:
            before = done[chain[:-1]]
            stage = train_stage(
                before.embed,
                self.sets[chain[-1]].concepts,
                shots=shots,
                hidden=hidden[chain[-1]],
                settings=self.settings,
                training=replace(self.training, seed=seed),
            )
            embed = stage_embedder(before.embed, stage.module, bf16=self.training.bf16)
            done[chain] = TrainedChain(chain, (*before.stages, stage), embed)
            yield done[chain]

    def tuning(self, hidden: Sequence[int], *, shots: int, seeds: Sequence[int]) -> dict[str, dict[int, float]]:
        """The lowest validation loss by training set and width of the hidden layer, averaged over seeds.

        "This criterion is also used to finetune the size of the encoder network" (section 3.2). A set is tuned alone.
        On top of another set, its encoder has the same size.

        Args:
            hidden: The widths; with a single one nothing is trained.
            shots: Number of names of every concept.
        """
        if len(hidden) == 1:
            return {}
        return {
            name: {
                width: statistics.fmean(
                    chain.stages[-1].validation_loss
                    for seed in seeds
                    for chain in self.train([(name,)], shots=shots, seed=seed, hidden={name: width})
                )
                for width in hidden
            }
            for name in self.sets
        }


def chains_of(names: Sequence[str], continual: bool) -> list[Chain]:
    """Every training set alone, then, if requested, each on top of each other set."""
    return [(name,) for name in names] + [(a, b) for a in names for b in names if a != b and continual]


def best_width(losses: dict[int, float]) -> int:
    """The width with the lowest validation loss; the smallest of equal ones."""
    return min(losses, key=lambda width: (losses[width], width))


def check_distinct(**arguments: Sequence[int]) -> None:
    """Reject empty lists of numbers and repeated numbers.

    Raises:
        InputError: With the argument and the value found.
    """
    for argument, values in arguments.items():
        if not values or len(set(values)) < len(values):
            raise InputError(f"{argument}: expected one or more distinct numbers, found {list(values)}")
