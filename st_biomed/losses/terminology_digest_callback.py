"""The trainer callback that compares the labels of each dataset with what its loss takes them for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError
from st_biomed.losses.barlow_twins import BarlowTwinsLoss
from st_biomed.training_data.columns import LABEL, RELATIONS, terminology_digest
from st_biomed.training_data.relation_lookup import RelationLookup

_LOOKS_UP_IN = ("lookup", "hierarchy")


class TerminologyDigestCallback(TrainerCallback):
    """Rejects a loss that takes the labels of its dataset for something else than they are.

    Text ids of another terminology are valid numbers for other names. Without a lookup every text id is a class of its own,
    so that no two names belong together. Both mistakes would go unnoticed.

    Args:
        losses: The loss, or the dictionary of losses, that the trainer gets. It is needed as an object, so the trainer cannot
            get a function that makes it.

    Raises:
        InputError: When training begins, and at the first batch of an evaluation dataset: a loss that looks labels up in
            another terminology than that of the dataset; one that looks up nothing; one that takes relations for names, or
            names for relations. A dataset that does not name its terminology is not checked.
    """

    def __init__(self, losses: nn.Module | Mapping[str, nn.Module]) -> None:
        self.losses = losses
        self._evaluated: object = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        dataset = kwargs["train_dataloader"].dataset
        for part in getattr(dataset, "datasets", [dataset]):
            self._check(part)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        dataset = kwargs["eval_dataloader"].dataset
        if dataset is not self._evaluated:
            self._evaluated = dataset
            for part in getattr(dataset, "datasets", [dataset]):
                self._check(part)

    def _check(self, dataset: Any) -> None:
        found = terminology_digest(dataset) if hasattr(dataset, "info") else None
        loss = None if found is None else self._loss_for(dataset)
        if found is None or loss is None:
            return
        lookups = list(_lookups(loss))
        for module, lookup in lookups:
            name = type(module).__name__
            if lookup.digest != found:
                raise InputError(
                    f"{name} looks labels up in terminology {lookup.digest[:12]}, "
                    f"its dataset was made from terminology {found[:12]}: make both from the same one"
                )
            if isinstance(lookup, RelationLookup) != _has_relations(dataset):
                rows = "relations" if _has_relations(dataset) else "names"
                raise InputError(
                    f"{name} has a lookup of type {type(lookup).__name__}, and the rows of its dataset are {rows}: pass "
                    f"{'RelationLookup(terminology)' if rows == 'relations' else 'the terminology'} as lookup"
                )
        if not lookups and (name := _takes_classes(loss, dataset)):
            raise InputError(
                f"{name} looks labels up nowhere, and those of its dataset are text ids, each a class of its own: pass "
                "lookup=terminology (OrdinalMultiSimilarityLoss: a hierarchy)"
            )

    def _loss_for(self, dataset: Any) -> nn.Module | None:
        if isinstance(self.losses, nn.Module):
            return self.losses
        # sentence-transformers writes it into every row of a training set
        first: dict[str, Any] = next(iter(dataset), {})
        name = first.get("dataset_name")
        return None if name is None else self.losses[name]


def _lookups(loss: nn.Module) -> Iterator[tuple[nn.Module, Any]]:
    """Every part of a loss that looks labels up, with its lookup or hierarchy."""
    for module in loss.modules():
        for attribute in _LOOKS_UP_IN:
            lookup = getattr(module, attribute, None)
            if hasattr(lookup, "digest"):
                yield module, lookup


def _takes_classes(loss: nn.Module, dataset: Any) -> str:
    """The name of a part of a loss that takes labels for classes; empty if there is none."""
    n_texts = len({*dataset.column_names} - {LABEL, "dataset_name"})
    for module in loss.modules():
        if isinstance(module, BarlowTwinsLoss) and n_texts == 2:
            continue  # the two columns are the pairs, whatever their labels
        if any(getattr(module, attribute, loss) is None for attribute in _LOOKS_UP_IN):
            return type(module).__name__
    return ""


def _has_relations(dataset: Any) -> bool:
    return {*RELATIONS.texts} <= {*dataset.column_names}
