"""Pairs of synonyms against other pairs, by AUC and F1."""

from __future__ import annotations
