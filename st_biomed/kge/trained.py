"""A trained graph embedding: the model with its graph, its settings and what was measured on the way."""

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
from st_biomed.kge.graph import KnowledgeGraph
from st_biomed.kge.model import KGEModel
from st_biomed.kge.scoring import MODELS
from st_biomed.kge.settings import KGESettings
from st_biomed.kge.table import KGETable
from st_biomed.settings import filled

_FILES = ("settings.json", "model.safetensors")


@dataclass(frozen=True, eq=False)
class TrainedKGE:
    """What a training leaves.

    A folder of it holds the vectors as :meth:`KGETable.load` reads them, ``model.safetensors`` with both tables of the
    model, ``settings.json`` with the settings and the history, and the graph in ``graph/``.

    Attributes:
        model: With the weights of the best epoch.
        graph: What it was trained on.
        settings: How.
        history: For each epoch that was measured, the last among them: ``epoch``, ``loss``, ``valid_mrr``.
    """

    model: KGEModel
    graph: KnowledgeGraph
    settings: KGESettings
    history: tuple[Mapping[str, float], ...] = ()

    @property
    def table(self) -> KGETable:
        """The vectors of the entities, by code."""
        vectors = self.model.vectors().numpy()
        return KGETable(self.graph.entities, vectors, model=self.settings.model, terminology=self.graph.terminology)

    def save(self, folder: str | Path) -> Path:
        """Write everything into a folder, which is made."""
        folder = self.table.save(folder)
        self.graph.save(folder / "graph")
        weights = {name: weight.detach().cpu().contiguous() for name, weight in self.model.state_dict().items()}
        save_file(weights, folder / "model.safetensors")
        about = {"settings": asdict(self.settings), "history": [dict(entry) for entry in self.history]}
        (folder / "settings.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device | None = None) -> TrainedKGE:
        """Read what :meth:`save` wrote.

        Args:
            folder: The folder.
            device: Where the model goes, see :func:`device_named`.

        Raises:
            InputError: No such model, files that do not belong together, or an unknown device.
        """
        folder = Path(folder)
        for name in _FILES:
            if not (folder / name).is_file():
                raise InputError(f"{folder}: no graph embedding, {name} is missing")
        where = device_named(device)
        graph = KnowledgeGraph.load(folder / "graph")
        try:
            about = json.loads((folder / "settings.json").read_text("utf-8"))
            settings = filled(KGESettings, about["settings"], str(folder / "settings.json"))
            model = model_for(graph, settings)
            model.load_state_dict(load_file(folder / "model.safetensors"))
            history = tuple(about["history"])
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"{folder}: cannot be read as a graph embedding ({said})") from error
        return cls(model.to(where), graph, settings, history)


def model_for(graph: KnowledgeGraph, settings: KGESettings) -> KGEModel:
    """A new model of a graph's size, with initial values."""
    options: dict[str, Any] = {"norm": settings.norm} if settings.model == "transe" else {}
    return MODELS[settings.model](
        len(graph.entities),
        len(graph.relations),
        settings.dimension,
        reciprocal=settings.reciprocal,
        margin=settings.margin_used,
        seed=settings.seed,
        **options,
    )


def device_named(name: str | torch.device | None) -> torch.device:
    """A device that is there; by default a GPU if there is one.

    Raises:
        InputError: No such device.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"device {str(name)!r} is not there: {said}") from error
