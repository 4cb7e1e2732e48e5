"""Averages of weights: of a trained encoder with its base, or of several encoders."""

from __future__ import annotations
