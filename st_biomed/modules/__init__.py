"""Modules of encoders that sentence-transformers lacks: adapters, mentions in context, injected knowledge."""

from __future__ import annotations
