"""Linking of mentions to the concepts of a dictionary, by accuracy."""

from __future__ import annotations
