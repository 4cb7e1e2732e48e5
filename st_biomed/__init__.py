"""Train, measure and release biomedical term embeddings with sentence-transformers.

The names below are imported when they are first used, so that ``import st_biomed`` needs neither torch nor transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from st_biomed.encoder.released import load as load
    from st_biomed.hierarchy import Hierarchy as Hierarchy
    from st_biomed.terminology import Terminology as Terminology

_HOME = {
    "Terminology": "st_biomed.terminology",
    "Hierarchy": "st_biomed.hierarchy",
    "load": "st_biomed.encoder.released",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'st_biomed' has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted(__all__)
