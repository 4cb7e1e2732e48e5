"""Chains of stages: each training set alone, and on top of what another one has made of the input."""

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
"""Names of training sets, that of the first stage first."""


@dataclass(frozen=True)
class TrainedChain:
    """Stages on top of each other.

    Attributes:
        sets: What each was trained on.
        stages: The stages.
        embed: Vectors of the last one.
    """

    sets: Chain
    stages: tuple[TrainedStage, ...]
    embed: Embed


@dataclass(frozen=True)
class Experiment:
    """What the runs of an experiment have in common.

    Attributes:
        sets: Training sets by name.
        encoder: Vectors of the input.
        settings: Of every stage.
        training: The trainer's arguments, but for the seed.
    """

    sets: Mapping[str, TrainingSet]
    encoder: Embed
    settings: StageSettings
    training: SentenceTransformerTrainingArguments

    def train(
        self, chains: Sequence[Chain], *, shots: int, seed: int, hidden: Mapping[str, int]
    ) -> Iterator[TrainedChain]:
        """Train chains with one draw of names.

        "...continual learning from SNOMED-CT to ICD-10 (S to I) or vice versa (I to S), where we use the output of the first
        model as input representations to train the second model" (Fivez et al. 2021, section 3.3). A stage that several
        chains begin with is trained once; a chain comes after those it continues.

        Args:
            chains: What to train.
            shots: Names of every concept.
            seed: Of everything.
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
        """The least validation loss by training set and width of the hidden layer, on average over seeds.

        "This criterion is also used to finetune the size of the encoder network" (section 3.2). A set is tuned alone; on
        top of another one its encoder has the same size.

        Args:
            hidden: The widths; nothing is trained where there is one.
            shots: Names of every concept.
            seeds: Of the runs.
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
    """Every training set alone, then, where it is asked for, each on top of each other one."""
    return [(name,) for name in names] + [(a, b) for a in names for b in names if a != b and continual]


def best_width(losses: dict[int, float]) -> int:
    """The width with the least validation loss, of equal ones the smallest."""
    return min(losses, key=lambda width: (losses[width], width))


def check_numbers(**arguments: Sequence[int]) -> None:
    """Refuse lists of numbers without one, or with one twice.

    Raises:
        InputError: With the argument and what was found.
    """
    for argument, values in arguments.items():
        if not values or len(set(values)) < len(values):
            raise InputError(f"{argument}: expected one or more distinct numbers, found {list(values)}")
