"""What a recipe measures before and after training says what it is about to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

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
