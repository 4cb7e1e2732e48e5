"""A few-shot encoder in sentence-transformers' trainer: fresh negatives, the stopping rule, the best weights, and runs that repeat."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

from st_biomed.errors import InputError
from st_biomed.losses import FewShotLoss, FewShotValidationCallback
from st_biomed.losses.few_shot_callbacks import embed_vectors
from st_biomed.losses.few_shot_names import FewShotNames
from tests.losses.few_shot_runs import LABELS, TRAIN, VALIDATION, VALIDATION_LABELS, WIDTH, Residual, Run


def test_negatives_are_drawn_by_the_encoder_as_each_epoch_begins(tmp_path):
    """In evaluation mode; catches negatives of the first epoch, of the one before, or with dropout."""
    run = Run(tmp_path, validated=False)
    assert len(run.watcher.drawn) == 4
    for epoch, (begun, drawn) in enumerate(zip(run.watcher.begun, run.watcher.drawn)):
        run.model.load_state_dict(begun, strict=False)
        names = FewShotNames(TRAIN, LABELS)
        names.draw(embed_vectors(run.model, TRAIN), epoch)
        assert torch.equal(names.drawn, drawn), epoch
    assert len({tuple(drawn.tolist()) for drawn in run.watcher.drawn}) == 4


def test_another_training_draws_its_own_negatives(tmp_path):
    """Catches negatives by the weights of an earlier training with the same loss, whose last epoch has the same number."""
    run = Run(tmp_path, validated=False, epochs=1, learning_rate=0.1)
    run.trainer.train()
    first, second = run.watcher.drawn
    for begun, drawn in zip(run.watcher.begun, (first, second)):
        run.model.load_state_dict(begun, strict=False)
        names = FewShotNames(TRAIN, LABELS)
        names.draw(embed_vectors(run.model, TRAIN), 0)
        assert torch.equal(names.drawn, drawn)
    assert not torch.equal(first, second)


def test_a_run_repeats_by_its_seed(tmp_path):
    """To the bit; and another seed of the draws is another run."""
    first, again, other = (Run(tmp_path / str(i), draw_seed=seed) for i, seed in enumerate((1, 1, 2)))
    assert first.validation.losses == again.validation.losses
    assert all(torch.equal(weight, again.weights[name]) for name, weight in first.weights.items())
    assert any(not torch.equal(weight, other.weights[name]) for name, weight in first.weights.items())


def test_the_validation_loss_is_the_loss_of_other_names(tmp_path):
    """By a loop, in evaluation mode, after every epoch; catches dropout, stale weights, and negatives that change."""
    run = Run(tmp_path, epochs=3)
    step = run.loss.names.validation_step(VALIDATION, VALIDATION_LABELS)
    for ended, found in zip(run.watcher.ended, run.validation.losses):
        run.model.load_state_dict(ended, strict=False)
        run.model.eval()
        with torch.no_grad():
            f = lambda rows: nn.functional.normalize(run.model({"sentence_embedding": rows})["sentence_embedding"])
            anchors, names = f(VALIDATION), f(TRAIN)
        triplets, grounding = [], []
        for a, label in enumerate(VALIDATION_LABELS):
            negative = 1 - anchors[a] @ names[step.negatives[a]]
            near = [1 - anchors[a] @ names[p] for p in range(len(LABELS)) if LABELS[p] == label]
            triplets += [max(0.0, (distance - negative + 0.1).item()) for distance in near]
            u_c = nn.functional.normalize(TRAIN[label == LABELS].mean(0), dim=0)
            target = nn.functional.normalize(u_c + nn.functional.normalize(VALIDATION[a], dim=0), dim=0)
            grounding.append(1 - (anchors[a] @ target).item())
        expected = sum(triplets) / len(triplets) + sum(grounding) / len(grounding)
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.long
def test_the_best_weights_are_restored(tmp_path):
    """A learning rate that spoils them soon; catches the last weights, and a reference instead of a copy."""
    run = Run(tmp_path, epochs=30, learning_rate=0.05)
    losses = run.validation.losses
    assert run.validation.best_epoch == 1 + losses.index(min(losses)) < len(losses)
    best = run.watcher.ended[run.validation.best_epoch - 1]
    assert all(torch.equal(weight, best[name]) for name, weight in run.weights.items())


def test_of_equal_epochs_the_first_is_the_best(tmp_path):
    assert Run(tmp_path, epochs=3, learning_rate=0.0).validation.best_epoch == 1


def test_training_stops_by_the_published_rule(tmp_path):
    """At the first epoch t > lookback that is not below t - lookback + 1."""
    run = Run(tmp_path, epochs=60, learning_rate=0.05, lookback=4)
    losses = run.validation.losses
    met = [t for t in range(5, len(losses) + 1) if losses[t - 1] >= losses[t - 4]]
    assert met == [len(losses)] and len(losses) < 60
    assert run.trainer.state.epoch == len(losses)


@pytest.mark.parametrize(
    ("losses", "stops"),
    [
        ([9, 5, *[4] * 8], False),  # epoch 10 is never the end
        ([3, *[4] * 9], False),  # whatever it is
        ([9, 5, *[4] * 8, 5], True),  # epoch 11 is not below epoch 2
        ([9, 5, *[6] * 8, 4.9], False),  # it is, whatever lies between
        ([1, 5, *[4] * 8, 4.9], False),  # epoch 1 is not looked at
        ([9, 9, 5, *[4] * 8, 5], True),  # 12 against 3
    ],
)
def test_the_rule_by_hand(losses, stops):
    """Catches a window that is one off, which hardly shows in a run."""
    callback = FewShotValidationCallback(FewShotLoss(None, TRAIN, LABELS), VALIDATION, VALIDATION_LABELS)
    callback.losses = losses
    assert callback.should_stop() is stops


def test_the_log_has_the_parts(tmp_path):
    run = Run(tmp_path, epochs=2)
    logged = [entry for entry in run.trainer.state.log_history if "validation_loss" in entry]
    assert [entry["epoch"] for entry in logged] == [1, 2]
    for entry, loss in zip(logged, run.validation.losses):
        parts = entry["validation_triplet"], entry["validation_grounding"]
        assert entry["validation_loss"] == loss == pytest.approx(sum(parts)) and max(parts) > 0


def test_training_moves_names_towards_their_concepts(tmp_path):
    """Direction: validation names score their own concept's training names higher than before."""
    before = Run(tmp_path / "a", epochs=1, learning_rate=1e-9)
    after = Run(tmp_path / "b", epochs=15)

    def gap(model: nn.Module) -> float:
        a, n = (nn.functional.normalize(embed_vectors(model, rows)) for rows in (VALIDATION, TRAIN))
        same = VALIDATION_LABELS[:, None] == LABELS
        return ((a @ n.T)[same].mean() - (a @ n.T)[~same].mean()).item()

    assert gap(after.model) > gap(before.model) + 0.05
    assert after.validation.losses[-1] < before.validation.losses[0]


def test_embedding_leaves_the_mode_as_it_was():
    model = nn.Sequential(Residual(WIDTH))
    for mode in (True, False):
        model.train(mode)
        assert torch.equal(embed_vectors(model, TRAIN), embed_vectors(copy.deepcopy(model).eval(), TRAIN))
        assert model.training is mode


def test_a_loss_that_is_no_number_ends_training(tmp_path):
    with pytest.raises(InputError, match="the validation loss after epoch 1 is nan: lower the learning rate"):
        Run(tmp_path, learning_rate=math.inf)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lookback": 0}, "lookback must be an integer of at least 1, found 0"),
        ({"vectors": VALIDATION[:, :5]}, "must have 8 dimensions and concepts below 3 .*, found 5 and 2"),
        ({"labels": VALIDATION_LABELS + 1}, "must have 8 dimensions and concepts below 3 .*, found 8 and 3"),
        ({"labels": [0]}, "labels must be one concept's number for each of 12 vectors"),
        ({"labels": ["a", "b"]}, "labels must be numbers, found list"),
    ],
)
def test_bad_validation_names_are_one_line(arguments, message):
    given = {"vectors": VALIDATION, "labels": VALIDATION_LABELS, **arguments}
    with pytest.raises(InputError, match=message):
        FewShotValidationCallback(FewShotLoss(None, TRAIN, LABELS), **given)
