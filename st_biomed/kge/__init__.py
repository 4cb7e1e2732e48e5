"""Knowledge-graph embeddings: a graph's concepts as vectors, and what they are used for."""

from __future__ import annotations

from st_biomed.kge.table import KGETable

__all__ = ["KGETable"]
