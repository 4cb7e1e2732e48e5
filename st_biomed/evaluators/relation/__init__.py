"""Related pairs of terms against random ones, by AUC."""

from __future__ import annotations
