"""Options of recipes, commands and YAML files: read, checked where they are read, and refused in one line."""

from __future__ import annotations
