"""Related pairs of terms compared with random pairs, by AUC."""

from __future__ import annotations
