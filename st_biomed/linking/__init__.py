"""An index that links mentions to the concepts of a terminology or dictionary, by the vectors of their names.

The names below are imported when they are first used: spaCy imports ``st_biomed.linking.spacy_pipe`` for each pipeline,
and most pipelines need no encoder.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from st_biomed.linking.catalog import Catalog as Catalog
    from st_biomed.linking.concept_index import ConceptIndex as ConceptIndex
    from st_biomed.linking.concept_search import Match as Match
    from st_biomed.linking.conditions import Conditions as Conditions
    from st_biomed.linking.context_ranker import ContextRanker as ContextRanker
    from st_biomed.linking.encoding import NameEncoder as NameEncoder
    from st_biomed.linking.settings import EncodingOptions as EncodingOptions

_HOME = {
    "Catalog": "catalog",
    "ConceptIndex": "concept_index",
    "Conditions": "conditions",
    "ContextRanker": "context_ranker",
    "EncodingOptions": "settings",
    "Match": "concept_search",
    "NameEncoder": "encoding",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted(__all__)
