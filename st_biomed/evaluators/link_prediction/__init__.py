"""Tails and heads of triples, by rank."""

from __future__ import annotations
