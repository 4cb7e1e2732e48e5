"""Without the mean and the leading components, and nothing else is lost."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.training.all_but_the_top import AllButTheTop
from st_biomed.training.teacher import TeacherVectors


def cone(n: int = 4000) -> np.ndarray:
    """Vectors ``[n, 6]`` of any length around a common direction, with variances that differ."""
    rng = np.random.default_rng(3)
    spread = rng.normal(size=(n, 6)) * np.array([0.1, 0.5, 0.3, 0.2, 0.1, 0.05])
    return ((spread + np.linspace(1, 0.2, 6)) * rng.uniform(0.5, 3, size=(n, 1))).astype(np.float32)


def centered(rows: np.ndarray) -> np.ndarray:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units - units.mean(axis=0)


def test_0_only_subtracts_the_mean_of_unit_vectors():
    """Catches a mean of vectors of different lengths."""
    np.testing.assert_allclose(AllButTheTop.fit(cone(), 0)(cone()), centered(cone()), atol=1e-5)


@pytest.mark.parametrize("removed", [1, 2, 5])
def test_the_largest_variances_are_gone_and_the_others_stay(removed: int):
    """Catches eigenvalues in the other order."""
    before = np.linalg.eigvalsh(centered(cone()).T @ centered(cone()))[::-1]
    mapped = AllButTheTop.fit(cone(), removed)(cone()).astype(np.float64)
    after = np.linalg.eigvalsh(mapped.T @ mapped)[::-1]
    np.testing.assert_allclose(after, [*before[removed:], *[0] * removed], rtol=1e-3, atol=1e-5 * before[0])


def test_it_agrees_with_the_principal_components_of_scikit_learn():
    from sklearn.decomposition import PCA

    rows = centered(cone())
    fitted = PCA(2, svd_solver="full").fit(rows)
    expected = rows - (rows @ fitted.components_.T) @ fitted.components_
    np.testing.assert_allclose(AllButTheTop.fit(cone(), 2)(cone()), expected, atol=1e-4)


def test_other_vectors_are_mapped_by_what_was_fitted():
    """Catches a mean of the vectors that are mapped."""
    fitted = AllButTheTop.fit(cone(), 1)
    np.testing.assert_allclose(fitted(cone()[:1]), fitted(cone())[:1], atol=1e-6)


@pytest.mark.parametrize("removed", [-1, 6])
def test_a_number_out_of_range_is_rejected(removed: int):
    with pytest.raises(InputError, match=f"distillation_removed must be from 0 to 5, .* found {removed}"):
        AllButTheTop.fit(cone(), removed)


def test_a_teacher_rejects_it_before_anything_is_embedded(tiny_bert):
    with pytest.raises(InputError, match="distillation_removed must be from 0 to 15, .* found 16"):
        TeacherVectors(tiny_bert, ["term"], removed=16)


def test_no_vector_is_rejected():
    with pytest.raises(InputError, match="vectors: expected at least one"):
        AllButTheTop.fit(np.zeros((0, 3)), 0)


def test_a_teacher_has_the_same_vectors_in_whatever_order_they_are_requested(tiny_bert):
    """Catches components of the first batch alone."""
    texts = [f"term {i}" for i in range(60)]
    whole = TeacherVectors(tiny_bert, texts, removed=1)[:]
    backward = TeacherVectors(tiny_bert, texts, removed=1)
    for row in reversed(range(60)):
        backward[[row]]
    np.testing.assert_allclose(backward[:], whole, atol=2e-3)
    np.testing.assert_allclose(whole.mean(axis=0), 0, atol=2e-3)
    assert not np.allclose(whole, TeacherVectors(tiny_bert, texts)[:], atol=1e-2)
