"""Modules of encoders that the host library lacks: adapters, mentions in context, injected knowledge."""

from __future__ import annotations
