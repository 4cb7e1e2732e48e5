"""Distance levels between the texts of a batch, from the parents of their concepts."""

from __future__ import annotations

from st_biomed.hierarchy.distance_types import DISTANCES
from st_biomed.hierarchy.hierarchy import MASKED, Hierarchy

__all__ = ["DISTANCES", "MASKED", "Hierarchy"]
