"""Knowledge-graph embeddings: the concepts of a graph as vectors. The names are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from st_biomed.kge.knowledge_graph import KnowledgeGraph as KnowledgeGraph
    from st_biomed.kge.scoring import ComplEx as ComplEx
    from st_biomed.kge.scoring import DistMult as DistMult
    from st_biomed.kge.scoring import RotatE as RotatE
    from st_biomed.kge.scoring import SimplE as SimplE
    from st_biomed.kge.scoring import TransE as TransE
    from st_biomed.kge.settings import KGESettings as KGESettings
    from st_biomed.kge.table import KGETable as KGETable
    from st_biomed.kge.train import train_into as train_into
    from st_biomed.kge.train import train_kge as train_kge
    from st_biomed.kge.trained import TrainedKGE as TrainedKGE

_HOME = {
    "ComplEx": "scoring",
    "DistMult": "scoring",
    "KGESettings": "settings",
    "KGETable": "table",
    "KnowledgeGraph": "knowledge_graph",
    "RotatE": "scoring",
    "SimplE": "scoring",
    "TrainedKGE": "trained",
    "TransE": "scoring",
    "train_into": "train",
    "train_kge": "train",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted(__all__)
