"""Weights averaged: of a trained encoder with the one it started from, or of several encoders."""

from __future__ import annotations
