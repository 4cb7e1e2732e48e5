"""Options of recipes, commands and YAML files: read, checked when they are read, and rejected in one line."""

from __future__ import annotations
