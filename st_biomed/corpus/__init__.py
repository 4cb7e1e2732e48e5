"""Raw text: mentions of a terminology's terms in context, and vocabularies and training data derived from it."""

from __future__ import annotations
