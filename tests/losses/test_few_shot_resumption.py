"""A few-shot training that resumes: it goes on as it would have, ends where it ended, and keeps its best weights."""

from __future__ import annotations

import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.losses.few_shot_callbacks import FILE_NAME
from tests.losses.few_shot_runs import Run


@pytest.mark.long
@pytest.mark.parametrize("at", [24, 34], ids=["last step of an epoch", "late within an epoch"])
def test_training_that_resumes_goes_on_as_it_would_have(tmp_path, at):
    """Twelve steps an epoch; catches negatives drawn anew in the middle of one, and an end of an epoch that is passed over."""
    settings = {"save_strategy": "steps", "save_steps": 1, "epochs": 4, "learning_rate": 0.05}
    settings["per_device_train_batch_size"] = 1
    whole = Run(tmp_path, **settings)
    resumed = Run(tmp_path / "other", resume=tmp_path / f"checkpoint-{at}", **settings)
    assert resumed.validation.losses == whole.validation.losses
    assert resumed.validation.best_epoch == whole.validation.best_epoch
    assert all(torch.equal(weight, whole.weights[name]) for name, weight in resumed.weights.items())
    assert torch.equal(resumed.watcher.drawn[0], whole.watcher.drawn[2])


def test_training_that_resumes_at_its_end_ends(tmp_path):
    """The rule is met by the checkpoint's own epoch; catches another epoch that would count."""
    settings = {"save_strategy": "steps", "save_steps": 1, "epochs": 60, "lookback": 4, "learning_rate": 0.05}
    whole = Run(tmp_path, **settings)
    last = 3 * len(whole.validation.losses)
    resumed = Run(tmp_path / "other", resume=tmp_path / f"checkpoint-{last}", **settings)
    assert resumed.validation.losses == whole.validation.losses
    assert all(torch.equal(weight, whole.weights[name]) for name, weight in resumed.weights.items())


def test_best_weights_of_before_are_restored_after(tmp_path):
    """The best epoch lies before the checkpoint; catches a resumed run that knows its own epochs alone."""
    settings = {"save_strategy": "epoch", "epochs": 9, "lookback": 8, "learning_rate": 0.3}
    whole = Run(tmp_path, **settings)
    best = whole.validation.best_epoch
    assert best < 8
    resumed = Run(tmp_path / "other", resume=tmp_path / f"checkpoint-{3 * best + 3}", **settings)
    assert resumed.validation.best_epoch == best
    assert all(torch.equal(weight, whole.weights[name]) for name, weight in resumed.weights.items())


def test_a_checkpoint_without_validation_is_refused(tmp_path):
    Run(tmp_path, epochs=2, validated=False, save_strategy="epoch")
    with pytest.raises(InputError, match=f"{FILE_NAME}: missing, the checkpoint was saved without FewShotValidation"):
        Run(tmp_path / "other", resume=tmp_path / "checkpoint-3")
