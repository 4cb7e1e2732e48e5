"""Raw text: mentions of a terminology's terms in context, and a vocabulary and training data made from it."""

from __future__ import annotations
