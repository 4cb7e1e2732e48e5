"""Pairs of terms that people scored, by Spearman."""

from __future__ import annotations
