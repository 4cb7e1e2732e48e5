"""An index that links mentions to the concepts of a terminology or dictionary, by the vectors of their names."""

from __future__ import annotations

from st_biomed.linking.catalog import Catalog
from st_biomed.linking.concept_index import ConceptIndex
from st_biomed.linking.concept_search import Match
from st_biomed.linking.conditions import Conditions
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.settings import EncodingOptions

__all__ = ["Catalog", "ConceptIndex", "Conditions", "EncodingOptions", "Match", "NameEncoder"]
