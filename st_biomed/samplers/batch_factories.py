"""Small callables that create samplers, for ``batch_sampler`` of the training arguments.

sentence-transformers writes its training arguments into ``training_args.bin`` of every checkpoint. A callable therefore holds only
numbers, names and digests. Its terminology is the one it was created with (``of``) or, in another process, the one
saved at its path.
"""

from __future__ import annotations

import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from datasets import Dataset
from sentence_transformers.base import DefaultBatchSampler
from torch.utils.data import SequentialSampler

from st_biomed.errors import InputError, check_instance, check_name
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import LABEL, NAMES, RELATIONS, labels_of
from st_biomed.training_data.names import names_dataset

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

_ROWS_READ = 65_536  # at once, to identify a dataset
_TERMINOLOGIES: dict[str, Terminology] = {}


def cache_terminology(terminology: Terminology) -> None:
    """Keep a terminology, so a callable with its digest finds it in this process."""
    _TERMINOLOGIES[terminology.digest] = terminology


def cached_terminology(digest: str, path: str | None) -> Terminology:
    """The terminology with a digest, from memory or else from its folder; it is then kept in memory.

    Raises:
        InputError: It is not in memory and not at the path.
    """
    if digest not in _TERMINOLOGIES:
        if path is None:
            raise InputError(f"terminology {digest[:12]} is not in memory: make the batches with of(..., path=folder)")
        terminology = Terminology.load(path)
        if terminology.digest != digest:
            raise InputError(f"{path}: holds terminology {terminology.digest[:12]}, expected {digest[:12]}")
        cache_terminology(terminology)
    return _TERMINOLOGIES[digest]


def dataset_digest(dataset: Dataset) -> str:
    """Identifies a training dataset by its columns, its terminology, and its rows in order.

    Unlike a fingerprint, it survives changes by sentence-transformers (formats, transforms, the added name).

    Raises:
        InputError: It is no ``Dataset``.
    """
    check_instance("dataset", dataset, Dataset)
    columns = sorted(dataset.column_names)
    sha = hashlib.sha256(f"{columns} {dataset.info.description}".encode())
    if dataset.features.get(LABEL) in (NAMES.type, RELATIONS.type):
        sha.update(labels_of(dataset).tobytes())
        columns.remove(LABEL)
    if columns:
        for rows in dataset.select_columns(columns).with_format("arrow").iter(_ROWS_READ):
            sha.update(json.dumps(rows.to_pydict(), default=str).encode())
    return sha.hexdigest()[:16]


def dataset_fields(terminology: Terminology, path: str | Path | None, dataset: Dataset | None) -> dict[str, Any]:
    """The fields ``rows``, ``digest`` and ``path`` of batches of a terminology's names. The terminology is kept in
    memory.

    Args:
        dataset: The training dataset; ``None`` for the dataset of all names.
    """
    cache_terminology(terminology)
    rows = dataset_digest(names_dataset(terminology) if dataset is None else dataset)
    return {"rows": rows, "digest": terminology.digest, "path": None if path is None else str(path)}


class InOrderBatchSampler(DefaultBatchSampler):
    """Batches of the rows in their order, for evaluation; :class:`~st_biomed.samplers.EpochCallback` refuses to train on them."""


@dataclass(frozen=True, kw_only=True)
class TrainingBatches(ABC):
    """Creates a sampler for one training dataset, and sequential batches for any other.

    sentence-transformers calls the same object for training, evaluation and test. The dataset that the batches were created for is
    the training dataset, even if sentence-transformers has changed it since; every other dataset is for evaluation, with its rows
    in order.

    Attributes:
        rows: Identifier of the training dataset.
    """

    rows: str

    def is_training(self, dataset: Dataset) -> bool:
        return dataset_digest(dataset) == self.rows

    def __call__(
        self,
        dataset: Dataset,
        batch_size: int,
        drop_last: bool,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> DefaultBatchSampler:
        """sentence-transformers' interface for a callable ``batch_sampler``."""
        if seed == 0 and generator is not None:  # sentence-transformers before 6.2 seeds the generator alone
            seed = generator.initial_seed()
        if self.is_training(dataset):
            return self.sampler(dataset, batch_size, seed)
        _say_in_order(type(self).__name__, len(dataset))
        return InOrderBatchSampler(
            SequentialSampler(dataset), batch_size, drop_last, valid_label_columns, generator, seed
        )

    @abstractmethod
    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> DefaultBatchSampler:
        """The sampler of the training dataset."""


@dataclass(frozen=True, kw_only=True)
class TerminologyBatches(TrainingBatches):
    """Batches of the names of a terminology; a subclass adds the plan of its sampler.

    Attributes:
        path: Folder where it is saved, for other processes.
    """

    digest: str
    path: str | None = None
    sampler_class: ClassVar[Callable[..., DefaultBatchSampler]]
    plan_class: ClassVar[type[Any]]

    @classmethod
    def of(
        cls,
        terminology: Terminology,
        path: str | Path | None = None,
        *,
        dataset: Dataset | None = None,
        **options: Any,
    ) -> Self:
        """The batches of a terminology's names.

        Args:
            path: Folder where it is saved; needed only to unpickle the batches in another process.
            dataset: The training dataset; ``None`` for the dataset of all texts that the batches are made of.
            **options: Attributes of the plan.

        Raises:
            InputError: An option that the plan does not have or rejects, a terminology or dataset of another class, or
                the terminology has no such texts.
        """
        check_instance("terminology", terminology, Terminology)
        cls.check_options(options)
        dataset = cls.all_texts(terminology) if dataset is None else dataset
        return cls(**dataset_fields(terminology, path, dataset), **options)

    @classmethod
    def check_options(cls, options: Iterable[str]) -> None:
        """Reject names of options that are no attributes of the plan.

        Raises:
            InputError: One is not.
        """
        allowed = [attribute.name for attribute in fields(cls.plan_class)]
        for name in options:
            check_name(f"option of {cls.__name__}", name, allowed)

    @staticmethod
    def all_texts(terminology: Terminology) -> Dataset:
        """The dataset of all texts that the batches are made of: names, or what a subclass says."""
        return names_dataset(terminology)

    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> DefaultBatchSampler:
        terminology = cached_terminology(self.digest, self.path)
        return self.sampler_class(dataset, batch_size, seed=seed, terminology=terminology, plan=self)


@cache
def _say_in_order(name: str, n_rows: int) -> None:
    logger.warning(
        "%s: a dataset of %s rows is not the training dataset: its batches are taken in order (right for evaluation; "
        "for training on a selection of the names say %s.of(..., dataset=...))",
        name,
        f"{n_rows:,}",
        name,
    )


@dataclass(frozen=True)
class BatchesByName:
    """Assigns batches to each of several datasets, by its name in the dictionary of training sets.

    sentence-transformers passes the name only if losses (or prompts) are also a dictionary; otherwise the dataset is recognized by
    its rows.

    Attributes:
        batches: Dataset name to the callable that creates its batches.
    """

    batches: Mapping[str, TrainingBatches]

    def __call__(
        self,
        dataset: Dataset,
        batch_size: int,
        drop_last: bool,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> DefaultBatchSampler:
        """sentence-transformers' interface for a callable ``batch_sampler``."""
        make = self._of(dataset)
        return make(dataset, batch_size, drop_last, valid_label_columns, generator, seed)

    def _of(self, dataset: Dataset) -> TrainingBatches:
        name = dataset[0].get("dataset_name") if len(dataset) else None
        if name is not None:
            check_name("dataset", name, self.batches)
            return self.batches[name]
        rows = dataset_digest(dataset)
        fitting = [name for name, batches in self.batches.items() if batches.rows == rows]
        if len(fitting) > 1:
            raise InputError(f"the datasets {fitting} have the same rows: give the losses as a dictionary by name")
        return self.batches[(fitting or list(self.batches))[0]]
