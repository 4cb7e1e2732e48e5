"""Training of a graph embedding: batches without a loader, early stopping on validation MRR, exact resuming."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import torch

from st_biomed.errors import InputError, check_instance
from st_biomed.files import begin_anew, begun_in, copy_file, lock, replacing, replacing_file
from st_biomed.kge.knowledge_graph import KnowledgeGraph
from st_biomed.kge.model import KGEModel
from st_biomed.kge.settings import KGESettings
from st_biomed.kge.steps import EpochRunner
from st_biomed.kge.trained import CHECKPOINT, TrainedKGE, check_folder, device_named, model_for
from st_biomed.metrics.link_prediction import SIDES, KnownTriples, rank_metrics, rank_triples

_MAY_DIFFER = ("epochs", "patience")  # of a resumed run: it may go on for longer

Progress = Callable[[str], None]


def train_kge(
    graph: KnowledgeGraph,
    settings: KGESettings,
    *,
    device: str | torch.device | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> TrainedKGE:
    """Train a graph embedding.

    The result has the weights with the best filtered MRR on validation triples, or the last ones with ``patience=0``.

    On a CPU, equal settings give equal weights, and a resumed run gives the same result as an uninterrupted
    one of as many epochs. After more epochs than the first run had, the measurement at that run's end may be one more, and
    counts like the others.

    Args:
        graph: Triples for training, validation and test.
        settings: Settings of the training; those that are ``None`` become the model's defaults.
        device: Device of the training; by default a GPU if there is one.
        folder: Folder of the checkpoint, which is written at every evaluation; none by default.
        resume: Whether to continue from the checkpoint in the folder, if there is one.
        progress: Receives a line at every evaluation.

    Raises:
        InputError: A graph or settings of another class, no validation triple for early stopping, an unknown device, a checkpoint of another graph or of
            other settings, or a loss that is not finite.
    """
    check_instance("graph", graph, KnowledgeGraph)
    check_instance("settings", settings, KGESettings)
    where, of_model = device_named(device), settings.of_model
    settings = settings.complete(len(graph.entities))
    if settings.patience and not len(graph.valid):
        raise InputError("valid: the graph has no validation triple to stop by; patience 0 trains all epochs")
    run = _TrainingState(graph, settings, where)
    path = None if folder is None else Path(folder) / CHECKPOINT
    if resume and path is not None and path.is_file():
        run.restore(path)
        if progress is not None:
            progress(f"{settings.model}: goes on after epoch {run.done} of {path}")
    while not run.is_over:
        started = time.perf_counter()
        loss, seconds = run.epoch(), time.perf_counter() - started
        if run.is_measured:
            run.measure(loss)
            if progress is not None:
                progress(f"{run.line()}, {seconds:.2f} s an epoch")
            if path is not None:
                run.checkpoint(path)
    run.take_best()
    return TrainedKGE(run.model, graph, settings, tuple(run.history), of_model)


def train_into(
    folder: str | Path,
    graph: KnowledgeGraph,
    settings: KGESettings,
    *,
    device: str | torch.device | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> TrainedKGE:
    """Train a graph embedding and save it; the old content of the folder is kept until the new one is complete.

    Args:
        folder: A new or empty folder. During the training, the checkpoint is next to it, in ``.NAME.begun``.
        graph, settings, device, progress: See :func:`train_kge`.
        resume: Whether to continue from the checkpoint of an interrupted training, or else of the training in the
            folder.
        overwrite: Whether to replace a training in the folder and remove an interrupted one; with ``resume``, only the
            former.

    Raises:
        InputError: As in :func:`train_kge`; a folder in use; an interrupted training that is neither resumed nor
            removed.
    """
    folder = Path(folder)
    begun = begun_in(folder) / CHECKPOINT
    with lock(folder):
        check_folder(folder, overwrite=overwrite or resume)
        if begun.is_file() and not resume:
            if not overwrite:
                raise InputError(f"{begun}: belongs to an interrupted training; resume it, or overwrite it")
            begin_anew(folder)
        with replacing(folder, resumable=True) as draft:
            if resume and not overwrite and not begun.is_file() and (folder / CHECKPOINT).is_file():
                copy_file(folder / CHECKPOINT, begun)
            trained = train_kge(graph, settings, device=device, folder=draft, resume=resume, progress=progress)
            trained.write(draft)
    return trained


def validation_mrr(model: KGEModel, graph: KnowledgeGraph, triples: np.ndarray, known: KnownTriples) -> float:
    """Filtered realistic MRR of triples over both sides."""
    scorer = model.scorer()
    ranks = [
        rank_triples(scorer, triples, side, n_entities=len(graph.entities), known=known)["filtered"].realistic
        for side in SIDES
    ]
    return rank_metrics(np.concatenate(ranks))["mrr"]


class _TrainingState:
    """Where a training stands."""

    def __init__(self, graph: KnowledgeGraph, settings: KGESettings, device: torch.device) -> None:
        self.graph, self.settings = graph, settings
        self.model = model_for(graph, settings).to(device)
        self.epochs = EpochRunner(self.model, graph, settings)
        self.done, self.stale, self.best_mrr = 0, 0, -1.0
        self.best: dict[str, torch.Tensor] = {}
        self.history: list[dict[str, float]] = []
        self.known = KnownTriples(graph.triples, len(graph.relations))
        self.valid = graph.valid
        if 0 < settings.validation_sample < len(graph.valid):
            rng = np.random.default_rng((settings.seed, 1))
            chosen = rng.choice(len(graph.valid), settings.validation_sample, replace=False)
            self.valid = graph.valid[np.sort(chosen)]

    @property
    def is_over(self) -> bool:
        patience = self.settings.patience
        return self.done >= self.settings.epochs or bool(patience and self.stale >= patience)

    @property
    def is_measured(self) -> bool:
        return self.done % self.settings.evaluate_every == 0 or self.done >= self.settings.epochs

    def epoch(self) -> float:
        loss = self.epochs.run(self.done)
        self.done += 1
        if not np.isfinite(loss):
            raise InputError(
                f"the loss is {loss} after epoch {self.done}: learning_rate {self.settings.learning_rate} is too large"
            )
        return loss

    def measure(self, loss: float) -> None:
        entry = {"epoch": float(self.done), "loss": loss}
        if len(self.valid):
            entry["valid_mrr"] = mrr = validation_mrr(self.model, self.graph, self.valid, self.known)
            self.stale += 1
            if mrr > self.best_mrr:
                self.best_mrr, self.stale = mrr, 0
                self.best = {name: weight.clone() for name, weight in self.model.state_dict().items()}
        self.history.append(entry)

    def line(self) -> str:
        last = self.history[-1]
        mrr = f", validation MRR {last['valid_mrr']:.4f}" if "valid_mrr" in last else ""
        best = " (best)" if mrr and not self.stale else ""
        return f"{self.settings.model}: epoch {self.done}, loss {last['loss']:.4f}{mrr}{best}"

    def take_best(self) -> None:
        if self.settings.patience and self.best:
            self.model.load_state_dict(self.best)

    # ------------------------------------------------------------------ checkpoints

    def _about(self, **changed: Any) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self.settings).items() if name not in _MAY_DIFFER}
        return {**settings, "graph": self.graph.digest, **changed}

    def checkpoint(self, path: Path) -> None:
        """Write everything that the rest of the run depends on; an older one is replaced at once."""
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "about": self._about(),
            "model": self.model.state_dict(),
            "optimizers": self.epochs.optimizer_states(),
            "best": self.best,
            "numbers": {"done": self.done, "stale": self.stale, "best_mrr": self.best_mrr},
            "history": self.history,
        }
        with replacing_file(path) as draft, draft.open("wb") as file:
            torch.save(state, file)  # to a path it would hide why a disk refuses it

    def restore(self, path: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            InputError: It is damaged, of another graph or other settings, or has more epochs than are asked for.
        """
        try:
            with ZipFile(path) as file:  # torch does not look at the checksums that it writes
                if (damaged := file.testzip()) is not None:
                    raise InputError(f"its part {damaged} is damaged")
            state = torch.load(path, map_location="cpu", weights_only=True)  # Adam keeps its step there
            about, numbers = state["about"], state["numbers"]
        except Exception as error:  # torch raises whatever the pickle in a damaged file makes it raise
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"{path}: cannot be read as a checkpoint ({reason}); start again without it") from error
        for name, value in self._about().items():
            if about.get(name) != value:
                raise InputError(f"{path}: belongs to a run with {name} {about.get(name)!r}, found {value!r}")
        if numbers["done"] > self.settings.epochs:
            raise InputError(f"{path}: has {numbers['done']} epochs already, found epochs {self.settings.epochs}")
        self.model.load_state_dict(state["model"])
        self.epochs.load_optimizer_states(state["optimizers"])
        self.best, self.history = state["best"], state["history"]
        self.done, self.stale, self.best_mrr = numbers["done"], numbers["stale"], numbers["best_mrr"]
