"""Pairs of terms with human scores, by Spearman."""

from __future__ import annotations
