"""Builds a publishable folder from a trained model and the record of its run."""

from __future__ import annotations
