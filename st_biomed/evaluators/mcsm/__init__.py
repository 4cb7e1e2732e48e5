"""MCSM: agreement of the nearest concepts in their semantic type."""

from __future__ import annotations
