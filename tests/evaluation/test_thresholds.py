"""What a threshold of the score keeps of the links."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.thresholds import kept
from st_biomed.evaluators import EntityLinkingEvaluator, table_embedder
from tests.evaluators.linking_by_hand import dataset, mention

NAMES = {"flumpa": 1.0, "gradtha": 0.8, "mimpa": 0.4}
"""The cosines of the names of X1, X2 and X3 with each mention."""


def turned(cosine: float) -> np.ndarray:
    return np.array([cosine, math.sqrt(1 - cosine * cosine)])


def test_links_and_right_links_above_a_threshold():
    """Catches a share of all mentions in place of those linked, and a right name that counts as the best wrong one."""
    entries = [(name, [f"MESH:X{i}"]) for i, name in enumerate(NAMES, 1)]
    mentions = [mention("one", "X1"), mention("two", "X2"), mention("three", "X1", "X2")]
    evaluator = EntityLinkingEvaluator(dataset(entries, mentions), n_bootstrap=0)
    vectors = {name: turned(cosine) for name, cosine in NAMES.items()}
    vectors |= {"one": turned(1.0), "two": turned(1.0), "three": turned(0.4)}
    evaluator.measure(table_embedder([*vectors], np.stack([*vectors.values()])))
    assert evaluator.predictions is not None
    # one: flumpa 1 (right), best wrong gradtha .8; two: flumpa 1 (wrong), which is its best wrong name;
    # three: mimpa 1 (wrong)
    assert kept(evaluator.predictions, 0.9) == (1.0, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert kept(evaluator.predictions, 0.75) == (1.0, pytest.approx(1 / 3), 1.0)
    none = kept(evaluator.predictions, 1.1)
    assert (none.linked, none.unknown_linked) == (0, 0) and math.isnan(none.right)
