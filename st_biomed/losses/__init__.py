"""Losses on the embeddings of a batch, their miners, and the callbacks that training with them needs.

The names below are imported when they are first used: torch alone is needed for the mathematics, the host library only
to embed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from st_biomed.losses import miners as miners
    from st_biomed.losses.cached import CachedMultiSimilarityLoss as CachedMultiSimilarityLoss
    from st_biomed.losses.cached import CachedOrdinalMultiSimilarityLoss as CachedOrdinalMultiSimilarityLoss
    from st_biomed.losses.callbacks import LossParametersCallback as LossParametersCallback
    from st_biomed.losses.callbacks import TerminologyDigestCallback as TerminologyDigestCallback
    from st_biomed.losses.multi_similarity import MultiSimilarityLoss as MultiSimilarityLoss
    from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss as OrdinalMultiSimilarityLoss

_HOME = {
    "MultiSimilarityLoss": "st_biomed.losses.multi_similarity",
    "OrdinalMultiSimilarityLoss": "st_biomed.losses.ordinal_multi_similarity",
    "CachedMultiSimilarityLoss": "st_biomed.losses.cached",
    "CachedOrdinalMultiSimilarityLoss": "st_biomed.losses.cached",
    "LossParametersCallback": "st_biomed.losses.callbacks",
    "TerminologyDigestCallback": "st_biomed.losses.callbacks",
}

__all__ = ["miners", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "miners":
        return importlib.import_module("st_biomed.losses.miners")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'st_biomed.losses' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
