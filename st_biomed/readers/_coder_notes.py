"""Notes of classifications that are written for coders, and are not names: why readers drop them."""

from __future__ import annotations

INSTRUCTIONS = "notes to the coder"
BY_CODES = "phrases that tell by codes what is included"
