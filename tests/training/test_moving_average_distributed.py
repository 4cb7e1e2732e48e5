"""Two processes keep one average, and embed with it what is measured, each its share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.two_processes import in_two_processes

pytestmark = pytest.mark.long

NAMES = ["flu", "flue", "gout", "gots", "pox", "poxe", "kuru", "kurs"]
MEASURED = [f"{name} of the {other}" for name in NAMES for other in NAMES]


def process(rank: int, folder: str, out: str) -> dict[str, Any]:
    """Two steps, the second one measured; what the process has found goes to a file."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.evaluation import BaseEvaluator

    from st_biomed.encoder import load_encoder
    from st_biomed.losses import MultiSimilarityLoss
    from st_biomed.training.moving_average import MovingAverageCallback

    found: dict[str, Any] = {}

    class Encode(BaseEvaluator):
        def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
            found["vectors"] = model.encode(MEASURED, batch_size=4)
            return {"score": 1.0}

    model = load_encoder(folder, device="cpu")
    average = MovingAverageCallback(0.5)
    args = SentenceTransformerTrainingArguments(
        output_dir=f"{out}/run",
        use_cpu=True,
        max_steps=2,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="no",
        disable_tqdm=True,
    )
    SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=MultiSimilarityLoss(model, miner=None),
        train_dataset=Dataset.from_dict({"text": NAMES, "label": [0, 0, 1, 1, 2, 2, 3, 3]}),
        evaluator=Encode(),
        callbacks=[average],
    ).train()
    found["average"], found["end"] = average.average, model.encode(MEASURED, batch_size=4)
    return found


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


def test_both_have_the_same_average(ranks: list[dict[str, Any]]):
    """Catches averages that drift apart, of which one is released."""
    average, other = (rank["average"] for rank in ranks)
    assert average.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in average.items())
    moved = [name for name, tensor in average.items() if isinstance(tensor, Tensor) and tensor.abs().sum() > 0]
    assert moved


def test_what_is_measured_is_embedded_with_the_average_by_both(ranks: list[dict[str, Any]]):
    """Catches a process that embeds its share with the weights of the step."""
    assert "vectors" in ranks[0] and "vectors" not in ranks[1]
    np.testing.assert_allclose(ranks[0]["vectors"], ranks[0]["end"], atol=1e-6)
    np.testing.assert_allclose(ranks[0]["end"], ranks[1]["end"], atol=1e-6)
