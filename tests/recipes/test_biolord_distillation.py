"""Self-distillation from the base model in the contrastive phase of BioLORD-2023's recipe: what has it, and how it is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from st_biomed.release.run_data import read_run
from tests.recipes.test_biolord import STEPS, phases_of, run, run_until, weights

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("one_thread")]


def test_a_resumed_contrastive_phase_has_the_base_model_as_teacher(tiny_bert_folder: Path, tmp_path: Path):
    """Catches a teacher with the weights of a checkpoint, and students that are held near the base model too."""
    whole, out, given = tmp_path / "whole", tmp_path / "out", (*STEPS, "--distillation", 100)
    run(tiny_bert_folder, whole, *given)
    run_until("contrastive", 3, tiny_bert_folder, out, *given)
    run_until("student-1", 0, tiny_bert_folder, out, *given, "--resume_from_checkpoint", "true")
    unbroken, resumed = (weights(phases_of(folder) / "contrastive") for folder in (whole, out))
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in unbroken.items())
    losses = read_run(whole / "run.json")["losses"]
    assert [loss["loss"] for loss in losses.values()] == ["DistilledLoss", *["SelfDistillationLoss"] * 2]
    assert losses["contrastive"]["config"]["distillation"]["weight"] == 100
    assert losses["student-1"]["config"]["weight"] == 1
    assert (whole / "README.md").read_text("utf-8").count(
        "are held near those of the base model with weight 100."
    ) == 1
