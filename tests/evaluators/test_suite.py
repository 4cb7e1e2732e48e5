"""What a recipe measures before and after training says what it is about to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from st_biomed.evaluators import RelatednessEvaluator
from st_biomed.evaluators.suite import EvaluatorSuite


@pytest.mark.parametrize(
    ("n_texts", "line"), [(59_008, "on held-out: 59,008 texts ...\n"), (None, "on held-out ...\n")]
)
def test_a_measurement_is_announced_with_its_size(n_texts: int | None, line: str, capsys: pytest.CaptureFixture[str]):
    """Catches minutes of embedding before the first of six steps that nobody was told of."""
    evaluator: Any = SimpleNamespace(name="held-out", n_texts=n_texts, measure=lambda embed: {"acc": 1.0})
    found = EvaluatorSuite([evaluator]).measure_vectors(lambda texts: np.zeros((len(texts), 2)), "the base model")
    assert found == {"held-out": {"acc": 1.0}}
    assert capsys.readouterr().out == f"measuring the base model {line}"
    EvaluatorSuite([evaluator]).measure_vectors(lambda texts: np.zeros((len(texts), 2)))
    assert capsys.readouterr().out == ""


def test_evaluators_with_other_options_get_vectors_of_their_own(tiny_bert):
    """Catches whole vectors that are measured cut, because the evaluator before cuts them."""
    pairs = [("flumpa", "gradtha"), ("zorb", "terk"), ("flumpa", "terk")]
    cut, whole = (
        RelatednessEvaluator(*zip(*pairs), [1.0, 2.0, 3.0], name=name, truncate_dim=dim, n_bootstrap=0)
        for name, dim in (("cut", 1), ("whole", None))
    )
    alone = whole(tiny_bert)
    assert EvaluatorSuite([cut, whole]).measure(tiny_bert)["whole"] == alone
