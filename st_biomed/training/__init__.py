"""The two ends of every recipe: arguments and output folders before training, the release after it."""

from __future__ import annotations
