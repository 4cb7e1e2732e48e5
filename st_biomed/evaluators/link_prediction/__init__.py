"""Link prediction: ranks of the heads and tails of triples."""

from __future__ import annotations
