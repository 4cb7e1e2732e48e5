"""Self-distillation as arguments: the teacher is the encoder before training, and is embedded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import DistilledLoss
from st_biomed.training.distillation import DistillationArguments, teacher_vectors

NAMES = ["flu", "zoster", "other", "gout"]


def test_without_a_weight_the_loss_stays_as_it_is(tiny_bert, tmp_path: Path):
    loss = MultiSimilarityLoss(tiny_bert)
    assert DistillationArguments().distilled(loss, tiny_bert, NAMES, tmp_path / "teacher") is loss
    assert not (tmp_path / "teacher").exists()


def test_the_teacher_is_the_encoder_before_training(tiny_bert, tmp_path: Path):
    """Catches vectors with dropout, of another order, or of weights that have moved."""
    tiny_bert.train()
    expected = tiny_bert.encode(NAMES)
    loss = DistillationArguments(distillation=2.0).distilled(
        MultiSimilarityLoss(tiny_bert), tiny_bert, NAMES, tmp_path / "teacher"
    )
    assert isinstance(loss, DistilledLoss) and loss.distillation.weight == 2.0
    with torch.no_grad():
        for parameter in tiny_bert.parameters():
            parameter.add_(0.1)
    np.testing.assert_allclose(loss.distillation.teacher, expected, atol=2e-3)


def test_a_resumed_run_embeds_nothing_again(tiny_bert, tmp_path: Path, monkeypatch):
    """Catches a teacher that is embedded anew after each interruption."""
    first = teacher_vectors(tiny_bert, NAMES, tmp_path / "teacher")
    monkeypatch.setattr(tiny_bert, "encode", None)
    assert np.array_equal(teacher_vectors(tiny_bert, NAMES, tmp_path / "teacher"), first)
