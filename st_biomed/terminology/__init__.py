"""A terminology as frozen columnar tables: concepts, their names, parents, relations and types."""

from __future__ import annotations

from st_biomed.terminology.terminology import Terminology

__all__ = ["Terminology"]
