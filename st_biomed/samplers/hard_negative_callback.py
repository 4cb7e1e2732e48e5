"""Hard negatives of the current model: the neighbors are updated during training."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers.util import get_rank, get_world_size
from transformers import TrainerControl, TrainerState, TrainingArguments

from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.prompts import TaskInput
from st_biomed.encoder.text_limit import MIN_LENGTH, text_limit
from st_biomed.errors import InputError, check_integer
from st_biomed.files import lock
from st_biomed.files.checkpoint_folders import checkpoint_folder
from st_biomed.processes import from_first_process
from st_biomed.samplers.epoch_callback import EpochCallback, samplers_of
from st_biomed.samplers.hard_negatives import HardNegativeBatchSampler
from st_biomed.samplers.neighbor_table import ABOUT, NeighborTable, nearest_rows, read_about

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDER = "hard_negatives"
"""Folder in a checkpoint, with a numbered folder for the table of each sampler."""

_TEXTS = 65_536  # embedded at once: sentence-transformers keeps a list of tensors until it stacks them

logger = logging.getLogger(__name__)


class HardNegativeCallback(EpochCallback):
    """Finds the neighbors for :class:`~st_biomed.samplers.hard_negatives.HardNegativeBatchSampler` during training.

    The trained model embeds all texts of the dataset, in evaluation mode and with its own pooling. The first process
    finds the nearest rows of every prototype and sends the rows, not the vectors, to all processes. This happens at
    the start of every epoch ("we update the Faiss index at every epoch", Amore Bondarenko et al. 2022, section 4), or
    every ``every`` steps. The other processes wait; if it takes longer than their time limit (``ddp_timeout`` of the
    training arguments), increase that limit.

    A checkpoint holds the current table. Resumed training continues with the same batches if the weights are those of
    the checkpoint. From a checkpoint without a table, or with another model, the neighbors are found again with a
    warning, and the rest of the epoch is only approximately the same. With a refresh by steps, a batch that the data
    loader has already fetched may come before or after the refresh.

    Training that ends before the first refresh is warned of: its negatives are hard for the initial weights alone.

    The callback also sets the epoch of every sampler, like :class:`EpochCallback`.

    Args:
        every: Steps between refreshes; ``None`` for the start of every epoch.
        prompt: The prefix that the trainer adds to each text; ``None`` for the one prompt in ``prompts`` of the training
            arguments, or none.
        max_length: Maximum number of tokens of a text, that of the training; ``None`` for the model's own limit.
        batch_size: Number of texts embedded at once.
        folder: Folder for the vectors and the table, which are memory-mapped, for datasets of many millions of rows.
            Every process must see it, and no other training may use it. By default everything is in memory.

    Raises:
        InputError: A number below 1. When training begins: no hard-negative batches, a folder that another training
            uses, or several prompts of the training arguments without ``prompt``.
    """

    def __init__(
        self,
        every: int | None = None,
        *,
        prompt: str | None = None,
        max_length: int | None = None,
        batch_size: int = 128,
        folder: str | Path | None = None,
    ) -> None:
        check_integer("every", every, or_none=True)
        check_integer("batch_size", batch_size)
        check_integer("max_length", max_length, MIN_LENGTH, or_none=True)
        self.every, self.prompt, self.max_length, self.batch_size = every, prompt, max_length, batch_size
        self.folder = None if folder is None else Path(folder)
        self._input = TaskInput(prompt or "")
        self._held = ExitStack()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        super().on_train_begin(args, state, control, **kwargs)
        self._input = self._training_input(args, kwargs["model"])
        samplers = _samplers(kwargs["train_dataloader"])
        if not samplers:
            raise InputError(
                "HardNegativeCallback found no hard-negative batches: give the training arguments "
                "batch_sampler=HardNegativeBatches.of(...)"
            )
        period = self.every or math.ceil(len(kwargs["train_dataloader"]) / args.gradient_accumulation_steps)
        if state.max_steps <= period:
            logger.warning(
                "hard negatives: the neighbors are those of the initial weights throughout; training has %s steps, and "
                "they are updated every %s (refresh_steps)",
                f"{state.max_steps:,}",
                f"{period:,}",
            )
        if self.folder is not None and get_rank() == 0:
            self._held.enter_context(lock(self.folder))
        if state.global_step > 0:
            _restore(samplers, kwargs["model"], args, state)

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        super().on_epoch_begin(args, state, control, **kwargs)
        epoch = int(state.epoch or 0)
        for i, sampler in enumerate(_samplers(kwargs["train_dataloader"])):
            fresh = sampler.table is not None and (self.every is not None or sampler.table.epoch == epoch)
            if not fresh:
                self.refresh(sampler, kwargs["model"], i, step=state.global_step, epoch=epoch, bf16=args.bf16)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.every is None or state.global_step % self.every or state.global_step >= state.max_steps:
            return
        for i, sampler in enumerate(_samplers(kwargs["train_dataloader"])):
            epoch = int(state.epoch or 0)
            self.refresh(sampler, kwargs["model"], i, step=state.global_step, epoch=epoch, bf16=args.bf16)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._held.close()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if not args.should_save or state.is_hyper_param_search:
            return
        folder = checkpoint_folder(args, state) / FOLDER
        saved_with = model_digest(kwargs["model"])
        for i, sampler in enumerate(_samplers(kwargs["train_dataloader"])):
            if sampler.table is not None:
                sampler.table.save(folder / str(i), saved_with=saved_with)

    def refresh(
        self,
        sampler: HardNegativeBatchSampler,
        model: SentenceTransformer,
        number: int = 0,
        *,
        step: int = 0,
        epoch: int = 0,
        bf16: bool = False,
    ) -> None:
        """Find the neighbors of a sampler's prototypes with a model, and let the sampler use them; collective over all
        processes.

        Args:
            sampler: The source of the rows and prototypes.
            model: The encoder; its mode is restored.
            number: Number of the sampler in the training.
            step: Training steps so far.
            epoch: Current epoch.
            bf16: Whether to embed under autocast to bfloat16, as in training.

        Raises:
            InputError: NaN or infinity among the vectors.
        """
        table: NeighborTable | None = None
        folder = None if self.folder is None else self.folder / str(number)
        logger.info("step %s: encoding %s texts for hard negatives", step, f"{len(sampler.dataset):,}")
        autocast = torch.autocast(model.device.type, torch.bfloat16, enabled=bf16)
        # _first_process is entered last: the other processes embed while they enter it.
        with _whole_vectors(model), text_limit(model, self.max_length), autocast, _first_process(model) as first:
            if first:
                vectors = self._vectors(sampler, model, folder)
                rows = nearest_rows(
                    vectors, sampler.prototypes, sampler.width, candidates=sampler.candidates, device=model.device
                )
                table = NeighborTable(rows, sampler.rows_digest, model_digest(model), step, epoch)
                if folder is not None:
                    table.save(folder)
                    (folder / "vectors.npy").unlink()
        found = from_first_process(None if folder is not None else table)
        sampler.use(found if folder is None else NeighborTable.load(folder))
        logger.info("step %s: neighbors of %s prototypes found", step, f"{len(sampler.prototypes):,}")

    def _training_input(self, args: TrainingArguments, model: SentenceTransformer) -> TaskInput:
        """The prompt and the route with which the trainer embeds the texts."""
        prompts, prompt = getattr(args, "prompts", None), self.prompt
        if prompt is None and isinstance(prompts, Mapping):
            raise InputError(
                f"prompts of the training arguments: found {len(prompts)} by name; HardNegativeCallback(prompt=...) must say "
                "which of them the texts have"
            )
        routes = getattr(args, "router_mapping", None) or {}
        if any(isinstance(route, Mapping) for route in routes.values()):
            raise InputError(
                f"router_mapping of the training arguments: found routes of {len(routes)} datasets by name; HardNegativeCallback "
                "takes those of columns, such as {'text': 'document'}"
            )
        return TaskInput((prompts or "") if prompt is None else prompt, routes.get("text"))

    def _vectors(
        self, sampler: HardNegativeBatchSampler, model: SentenceTransformer, folder: Path | None
    ) -> np.ndarray:
        """The rows' vectors of length one, float32 ``[N, D]``."""
        vectors = np.empty((0, 0), dtype=np.float32)
        for start in range(0, len(sampler.dataset), _TEXTS):
            texts = sampler.texts(slice(start, start + _TEXTS))
            part = model.encode(
                texts,
                **self._input._asdict(),
                batch_size=self.batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            if not start:
                vectors = _empty((len(sampler.dataset), part.shape[1]), folder)
            vectors[start : start + len(part)] = part
        return vectors


@contextmanager
def _whole_vectors(model: SentenceTransformer) -> Iterator[None]:
    """All dimensions of a model, which losses train; afterwards its mode and its number of dimensions are as before."""
    training, truncate_dim = model.training, model.truncate_dim
    model.truncate_dim = None
    try:
        yield
    finally:
        model.train(training)
        model.truncate_dim = truncate_dim


def _empty(shape: tuple[int, int], folder: Path | None) -> np.ndarray:
    """A float32 matrix, in memory or in ``vectors.npy`` of a folder, which is made."""
    if folder is None:
        return np.empty(shape, dtype=np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    size = 4 * math.prod(shape)
    if size > shutil.disk_usage(folder).free:  # writing to a map of a full disk would end the process without a word
        raise InputError(f"{folder}: {size:,} bytes for the vectors of the dataset do not fit on the disk")
    return np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float32, shape=shape)


@contextmanager
def _first_process(model: SentenceTransformer) -> Iterator[bool]:
    """Whether this is the first process; the others help it embed, where sentence-transformers can share that (from 6.2 on)."""
    try:
        from sentence_transformers.util.distributed import distributed_evaluation
    except ImportError:
        yield get_rank() == 0
        return
    with distributed_evaluation(model) if get_world_size() > 1 else nullcontext(True) as first:
        yield first


def _samplers(dataloader: Any) -> list[HardNegativeBatchSampler]:
    """The samplers of a data loader that need neighbors."""
    return [sampler for sampler in samplers_of(dataloader) if isinstance(sampler, HardNegativeBatchSampler)]


def _restore(
    samplers: list[HardNegativeBatchSampler], model: SentenceTransformer, args: TrainingArguments, state: TrainerState
) -> None:
    """Take the tables of the checkpoint that training resumes from, where they are there and belong to the model."""
    folders = [checkpoint_folder(args, state)]
    if isinstance(args.resume_from_checkpoint, str):
        folders.insert(0, Path(args.resume_from_checkpoint))
    weights = model_digest(model)
    for i, sampler in enumerate(samplers):
        fitting = [folder / FOLDER / str(i) for folder in folders if (folder / FOLDER / str(i) / ABOUT).is_file()]
        fitting = [folder for folder in fitting if read_about(folder).get("saved_with") == weights]
        if fitting:
            sampler.use(NeighborTable.load(fitting[0]))
        else:
            logger.warning(
                "training resumes at step %s without the neighbors of its checkpoint: they are found anew, and the rest "
                "of the epoch has somewhat other batches; a checkpoint of another folder needs resume_from_checkpoint in the "
                "training arguments, too",
                state.global_step,
            )
