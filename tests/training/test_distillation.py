"""Self-distillation as arguments: the teacher is the encoder before training, and is embedded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from recipes.open_encoder import PARTS, OpenEncoderArguments
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import DistilledLoss
from st_biomed.terminology import Terminology
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


def test_parts_share_one_teacher_and_relations_have_none(tiny_bert, tmp_path: Path):
    """Catches a table for each part, and definitions that are looked up among the names alone."""
    toy = Terminology.read("toy", definitions=True)
    recipe = OpenEncoderArguments(distillation=3.0)
    parts = {name: recipe.part(name, tiny_bert, toy, tmp_path / "terminology", 0) for name in PARTS}
    losses = recipe.distilled_parts(parts, tiny_bert, tmp_path / "teacher")
    assert isinstance(losses["relations"], MultiSimilarityLoss)
    tables = [losses[name].distillation.teacher for name in ("synonyms", "definitions", "hierarchy")]
    assert all(table is tables[0] for table in tables) and len(tables[0]) == toy.n_texts + toy.n_definitions
    names = parts["synonyms"].rows["text"][:5]
    np.testing.assert_allclose(tables[0][:5], tiny_bert.encode(list(names)), atol=2e-3)
