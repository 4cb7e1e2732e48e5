"""Which strings are within an edit distance of others."""

from __future__ import annotations

import random

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import resemblance
from st_biomed.linking_data.resemblance import near_any


def naive(text: str, other: str) -> float:
    """Levenshtein distance by its recurrence, over the longer length."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(text, 1):
        new = [i]
        for j, b in enumerate(other, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (a != b)))
        row = new
    return row[-1] / max(len(text), len(other), 1)


@pytest.mark.parametrize("distance", [0, 0.2, 0.5])
def test_as_by_the_recurrence(distance: float, monkeypatch: pytest.MonkeyPatch):
    """Catches a bound that is strict, another normalization, and rows lost between chunks."""
    monkeypatch.setattr(resemblance, "_CHUNK", 70)
    generator = random.Random(0)
    texts, seen = (
        ["".join(generator.choices("abcdef", k=generator.randint(3, 8))) for _ in range(n)] for n in (40, 12)
    )
    expected = [any(naive(text, name) <= distance for name in seen) for text in texts]
    assert near_any(texts, seen, distance).tolist() == expected
    assert 0 < sum(expected) < 40


def test_a_fifth_is_within_a_fifth():
    assert near_any(["abcdf", "abcff", "abcde"], ["abcde"], 0.2).tolist() == [True, False, True]


def test_nothing_resembles_nothing():
    assert near_any(["a"], [], 0.2).tolist() == [False]
    assert near_any([], ["a"], 0.2).shape == (0,)
    assert near_any(["a"], ["b"], 0.9).dtype == np.bool_


@pytest.mark.parametrize("distance", [-0.1, 1, True, "0.2"])
def test_a_distance_out_of_range_is_refused(distance: object):
    with pytest.raises(InputError, match="distance must be at least 0 and below 1"):
        near_any(["a"], ["b"], distance)
