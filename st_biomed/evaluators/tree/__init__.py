"""Pairs at every distance of a hierarchy, by AUC and Spearman."""

from __future__ import annotations
