"""Folders and cached Hub repositories whose code writes a file where it runs; each case is built anew whenever it is tried."""

from __future__ import annotations

from tests.models.malicious import auto_maps, listed_classes, named_classes, others, settings
from tests.models.malicious.workshop import CASES, RUN_WITH_FLAG, Workshop, edit

__all__ = [
    "CASES",
    "RUN_WITH_FLAG",
    "Workshop",
    "auto_maps",
    "edit",
    "listed_classes",
    "named_classes",
    "others",
    "settings",
]
