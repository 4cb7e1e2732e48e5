"""A terminology as frozen columnar tables: concepts, their names, parents, relations, types, definitions and cross-references."""

from __future__ import annotations

from st_biomed.terminology.terminology import Terminology

__all__ = ["Terminology"]
