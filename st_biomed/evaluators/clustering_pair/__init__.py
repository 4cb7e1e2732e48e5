"""Pairs of synonyms compared with other pairs, by AUC and F1."""

from __future__ import annotations
