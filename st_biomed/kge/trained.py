"""A trained graph embedding: the model with its graph, its settings and the history of the training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from st_biomed.errors import InputError
from st_biomed.files import check_output, copy_file, lock, read_one_version, replacing
from st_biomed.kge.knowledge_graph import FILES, HEADER, KnowledgeGraph
from st_biomed.kge.model import KGEModel
from st_biomed.kge.scoring import MODELS
from st_biomed.kge.settings import KGESettings
from st_biomed.kge.table import SEAL, SETTINGS, TABLE, KGETable
from st_biomed.settings.fill_dataclass import fill_dataclass

WEIGHTS, GRAPH, CHECKPOINT, FIGURES = "model.safetensors", "graph", "checkpoint.pt", "figures.json"
_TABLE = ("codes.parquet", "vectors.safetensors")
_BESIDE = (WEIGHTS, SETTINGS, f"{GRAPH}/{HEADER}", *(f"{GRAPH}/{name}" for name in FILES))
OWN = frozenset({TABLE, *_TABLE, *_BESIDE, CHECKPOINT, FIGURES})


def check_folder(folder: str | Path, *, overwrite: bool) -> Path:
    """Check the output folder of a training: new or empty, or with a training to overwrite.

    Raises:
        InputError: See :func:`~st_biomed.files.check_output`.
    """
    folder = Path(folder)
    marker = TABLE if (folder / TABLE).is_file() or not (folder / CHECKPOINT).is_file() else CHECKPOINT
    return check_output(folder, what="a graph embedding", is_own=OWN.__contains__, marker=marker, overwrite=overwrite)


@dataclass(frozen=True, eq=False)
class TrainedKGE:
    """The result of a training.

    Its folder contains the vectors for :meth:`KGETable.load`, ``model.safetensors`` with both tables of the model,
    ``settings.json`` with the settings and the history, and the graph in ``graph/``.

    Attributes:
        model: The model with the weights of the best epoch, or of the last with ``patience=0``.
        settings: Settings of the training, with the model's defaults filled in.
        history: ``epoch``, ``loss`` and ``valid_mrr`` of each evaluated epoch, including the last.
        of_model: Names of the settings that are the model's defaults, see :mod:`st_biomed.kge.model_defaults`.
    """

    model: KGEModel
    graph: KnowledgeGraph
    settings: KGESettings
    history: tuple[Mapping[str, float], ...] = ()
    of_model: tuple[str, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """The settings as they are written to ``settings.json``: all values, and the names of the model's defaults."""
        settings = self.settings.complete(len(self.graph.entities))
        return {"settings": asdict(settings), "model_defaults": list(self.of_model)}

    @property
    def table(self) -> KGETable:
        """The vectors of the entities, by code."""
        vectors = self.model.vectors().numpy()
        return KGETable(self.graph.entities, vectors, model=self.settings.model, terminology=self.graph.terminology)

    def save(self, folder: str | Path) -> Path:
        """Write everything; an earlier training in the folder is replaced, except for its checkpoint.

        Raises:
            InputError: The folder contains something else, or another process writes to it.
        """
        with lock(folder):
            folder = check_folder(folder, overwrite=True)
            with replacing(folder) as draft:
                if (folder / CHECKPOINT).is_file():
                    copy_file(folder / CHECKPOINT, draft / CHECKPOINT)
                self.write(draft)
        return folder

    def write(self, folder: Path) -> None:
        """Write everything into an existing folder that nothing else writes to, the header last."""
        (folder / GRAPH).mkdir(exist_ok=True)
        self.graph.write(folder / GRAPH)
        weights = {name: weight.detach().cpu().contiguous() for name, weight in self.model.state_dict().items()}
        save_file(weights, folder / WEIGHTS)
        about = {**self.record, "history": [dict(entry) for entry in self.history]}
        (folder / SETTINGS).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        self.table.write(folder, _BESIDE)

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device | None = None) -> TrainedKGE:
        """Load a training written by :meth:`save`.

        Args:
            device: Device of the model, see :func:`device_named`.

        Raises:
            InputError: No such model, files that do not belong together, or an unknown device.
        """
        where = device_named(device)
        trained = read_one_version(folder, _read)
        trained.model.to(where)
        return trained


def _read(folder: Path) -> TrainedKGE:
    bound = SEAL.read(folder)
    if SETTINGS not in bound["files"]:
        raise InputError(f"{folder}: contains a table of vectors without its model")
    SEAL.check(folder, bound, [*_TABLE, *_BESIDE])
    graph = KnowledgeGraph.load(folder / GRAPH)
    try:
        about = json.loads((folder / SETTINGS).read_text("utf-8"))
        settings = fill_dataclass(KGESettings, about["settings"], str(folder / SETTINGS))
        model = model_for(graph, settings)
        model.load_state_dict(load_file(folder / WEIGHTS))
        history, of_model = tuple(about["history"]), tuple(about.get("model_defaults", ()))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{folder}: cannot be read as a graph embedding ({reason})") from error
    return TrainedKGE(model, graph, settings, history, of_model)


def model_for(graph: KnowledgeGraph, settings: KGESettings) -> KGEModel:
    """A new model for a graph, with initial values."""
    options: dict[str, Any] = {"norm": settings.norm} if settings.model == "transe" else {}
    objective = settings.objective(len(graph.entities))
    return MODELS[settings.model](
        len(graph.entities),
        len(graph.relations),
        settings.dimension,
        reciprocal=objective.reciprocal,
        margin=objective.margin,
        seed=settings.seed,
        **options,
    )


def device_named(name: str | torch.device | None) -> torch.device:
    """An available device; by default a GPU if there is one.

    Raises:
        InputError: No such device.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {str(name)!r} is not available: {reason}") from error
