"""MCSM: how well the nearest concepts agree in their semantic type."""

from __future__ import annotations
