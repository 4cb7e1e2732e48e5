"""The warm-up of a loss's learning rate: its rates step by step, with that of the encoder unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn
from transformers import TrainerCallback

from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.training.loss_warmup import LossWarmupCallback, schedule_with_warmup
from st_biomed.training.optimizer import decay_layers, set_loss_rate


class Rates(TrainerCallback):
    """The learning rates in force when a step begins: of the encoder, and of the loss."""

    def __init__(self, scale: nn.Parameter) -> None:
        self.scale, self.of = scale, {True: [], False: []}  # type: ignore[var-annotated]

    def on_step_begin(self, args, state, control, **kwargs):
        for group in kwargs["optimizer"].param_groups:
            self.of[any(p is self.scale for p in group["params"])].append(round(group["lr"], 9))


def arguments(folder: Path, **options) -> SentenceTransformerTrainingArguments:
    given = {"max_steps": 6, "per_device_train_batch_size": 2, "learning_rate": 0.1, "report_to": "none"} | options
    return SentenceTransformerTrainingArguments(str(folder), use_cpu=True, save_strategy="no", **given)


def rates(model: SentenceTransformer, folder: Path, rate: float | None, warmup: float, **options) -> Rates:
    """Those of a training of six steps, with one group for the weights that decay and one for the others."""
    loss = MultiSimilarityLoss(model, miner=None)
    loss.scale = nn.Parameter(torch.zeros(1))
    rows = Dataset.from_dict({"name": [f"flumpa {i}" for i in range(12)], "label": [i // 2 for i in range(12)]})
    seen = Rates(loss.scale)
    callbacks = [seen, LossWarmupCallback(model, warmup)]
    trainer = SentenceTransformerTrainer(model, arguments(folder, **options), rows, loss=loss, callbacks=callbacks)
    optimizer = trainer.create_optimizer()
    decay_layers(optimizer, model, 1.0)
    set_loss_rate(optimizer, model, rate)
    trainer.train()
    return seen


@pytest.mark.parametrize(
    ("schedule", "warmup", "encoder", "of_loss"),
    [
        # the trainer's warm-up is two of six steps; linear: step / warm-up, then (6 - step) / (6 - warm-up)
        ("linear", 3, [0, 0.5, 1, 0.75, 0.5, 0.25], [0, 1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        ("linear", 0.5, [0, 0.5, 1, 0.75, 0.5, 0.25], [0, 1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        ("linear", 0, [0, 0.5, 1, 0.75, 0.5, 0.25], [1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
        ("constant", 4, [1] * 6, [0, 0.25, 0.5, 0.75, 1, 1]),
        ("constant_with_warmup", 4, [0, 0.5, 1, 1, 1, 1], [0, 0.25, 0.5, 0.75, 1, 1]),
    ],
)
def test_golden_rates(
    schedule: str,
    warmup: float,
    encoder: list[float],
    of_loss: list[float],
    tiny_bert: SentenceTransformer,
    tmp_path: Path,
):
    """Catches a first step at the full rate, a warm-up of the encoder, one on top of the trainer's, and none for `constant`."""
    seen = rates(tiny_bert, tmp_path, 0.7, warmup, lr_scheduler_type=schedule, warmup_steps=2)
    assert seen.of[True] == pytest.approx([0.7 * factor for factor in of_loss])
    assert [*dict.fromkeys(seen.of[False])] == pytest.approx([*dict.fromkeys(0.1 * factor for factor in encoder)])


def test_without_a_rate_of_its_own_the_loss_warms_up_at_that_of_the_encoder(
    tiny_bert: SentenceTransformer, tmp_path: Path
):
    """Catches a warm-up that is lost where the rates are equal and parameters share a group."""
    seen = rates(tiny_bert, tmp_path, None, 2, lr_scheduler_type="constant")
    assert seen.of[True] == pytest.approx([0, 0.05, 0.1, 0.1, 0.1, 0.1])
    assert set(seen.of[False]) == {0.1}


@pytest.mark.parametrize(
    ("schedule", "least"), [("cosine_with_min_lr", {"min_lr": 0.02}), ("polynomial", {"lr_end": 0.02})]
)
def test_a_least_rate_is_that_of_the_trainer(schedule: str, least: dict[str, float], tmp_path: Path):
    """Catches a least rate that is divided by another learning rate, and so is all but zero."""
    given = arguments(tmp_path, lr_scheduler_type=schedule, lr_scheduler_kwargs=least)
    assert schedule_with_warmup(given, 6, 2)(6) == pytest.approx(0.02 / 0.1)


def test_a_schedule_by_measurements_is_refused(tmp_path: Path):
    given = arguments(tmp_path, lr_scheduler_type="reduce_lr_on_plateau", eval_strategy="steps")
    with pytest.raises(InputError, match="graph_warmup_steps: lr_scheduler_type 'reduce_lr_on_plateau' depends on"):
        schedule_with_warmup(given, 6, 2)
