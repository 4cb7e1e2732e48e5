"""Invented words for the names of the synthetic terminologies."""

from __future__ import annotations

import numpy as np

SYLLABLES = (
    "flum",
    "pa",
    "mim",
    "pic",
    "ter",
    "kia",
    "or",
    "ven",
    "lus",
    "da",
    "qui",
    "zor",
    "bel",
    "ti",
    "gra",
    "mo",
)


def invented_words(rng: np.random.Generator) -> list[str]:
    """20,000 words of three syllables."""
    triples = rng.integers(len(SYLLABLES), size=(20_000, 3)).tolist()
    return ["".join(SYLLABLES[i] for i in row) for row in triples]
