"""The nearest prototype of a validation name, on vectors in the plane."""

from __future__ import annotations

import numpy as np
from datasets import Dataset

from st_biomed.few_shot.nearest_prototype import prototype_accuracy
from st_biomed.records import Tally
from st_biomed.training_data.few_shot import FewShotSplit

ANGLES = {"a1": 0, "a2": 40, "b1": 90, "b2": 130, "a3": 50, "a4": 80, "b3": 120, "b4": 170}


def embed(names: list[str], lengths: bool = False) -> np.ndarray:
    radians = np.deg2rad([ANGLES[name] for name in names])
    vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1)
    return vectors * np.array([[50.0 if name in ("a2", "b3") else 1.0] for name in names]) if lengths else vectors


def split() -> FewShotSplit:
    def rows(names: str) -> Dataset:
        texts = names.split()
        return Dataset.from_dict({"text": texts, "label": ["ab".index(text[0]) for text in texts]})

    return FewShotSplit(rows("a1 a2 b1 b2"), rows("a3 a4 b3 b4"), ("A", "B"), Tally())


def test_prototypes_are_means_of_training_names_at_length_1():
    """Prototypes lie at 20 and 110 degrees: a4, at 80, is nearer to B's. Catches long vectors that weigh more."""
    assert prototype_accuracy(embed, split()) == 0.75
    assert prototype_accuracy(lambda names: embed(names, lengths=True), split()) == 0.75
