"""Vectors on their main components: a textbook decomposition, both ends, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.training import principal_components
from st_biomed.training.principal_components import project_onto_leading_components


def correlated(dtype: type = np.float64) -> np.ndarray:
    """Seven vectors of five dimensions around a mean that is not zero."""
    rng = np.random.default_rng(5)
    return (rng.normal(size=(7, 5)) @ rng.normal(size=(5, 5)) + 3).astype(dtype)


@pytest.mark.parametrize("rows", [3, 100])
def test_it_is_the_nearest_matrix_of_its_rank(rows: int, monkeypatch: pytest.MonkeyPatch):
    """Catches the smallest directions in place of the largest, a mean that is lost, and pieces that overlap."""
    monkeypatch.setattr(principal_components, "_ROWS", rows)
    vectors = correlated()
    mean = vectors.mean(axis=0)
    left, values, right = np.linalg.svd(vectors - mean, full_matrices=False)
    nearest = mean + (left[:, :2] * values[:2]) @ right[:2]
    np.testing.assert_allclose(project_onto_leading_components(vectors, 2), nearest)


def test_all_components_are_the_vectors_themselves_in_their_dtype():
    vectors = correlated(np.float16)
    found = project_onto_leading_components(vectors, 5)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, vectors, atol=1e-2)


@pytest.mark.parametrize("n", [0, 6])
def test_more_components_than_dimensions_are_refused(n: int):
    with pytest.raises(InputError, match=f"components must be from 1 to 5, the dimension of the vectors, found {n}"):
        project_onto_leading_components(correlated(), n)
