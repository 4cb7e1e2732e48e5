"""Parts that all recipes share: arguments and output folders before training, and the release after it."""

from __future__ import annotations
