"""A few-shot encoder in the host's trainer: fresh negatives, the stopping rule, the best weights, and runs that repeat."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import InputModule, Module
from torch import Tensor, nn
from transformers import TrainerCallback

from st_biomed.errors import InputError
from st_biomed.losses import FewShotLoss, FewShotNegativesCallback, FewShotValidationCallback
from st_biomed.losses.few_shot_callbacks import FILE_NAME, embed_vectors
from st_biomed.losses.few_shot_comparisons import FewShotNames

SHOTS, CONCEPTS, WIDTH = 4, 3, 8


def names_of(seed: int) -> tuple[Tensor, Tensor]:
    """Names around three centers, far apart from each other and from their centers."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.randn(CONCEPTS, WIDTH, generator=torch.Generator().manual_seed(99))
    labels = torch.arange(CONCEPTS).repeat_interleave(SHOTS)
    return centers[labels] + torch.randn(len(labels), WIDTH, generator=generator), labels


TRAIN, LABELS = names_of(0)
VALIDATION, VALIDATION_LABELS = names_of(1)


class Table(InputModule):
    """Vectors of names "0", "1", ..."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)

    def preprocess(self, inputs: list[str], prompt: str | None = None, **kwargs: Any) -> dict[str, Tensor]:
        return {"sentence_embedding": self.vectors[[int(text) for text in inputs]]}

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        save_file({"vectors": self.vectors}, Path(output_path) / "table.safetensors")

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Table:
        return cls(load_file(Path(model_name_or_path) / subfolder / "table.safetensors")["vectors"])


class Residual(Module):
    """f(u) = (FFN(u) + u) / 2."""

    config_keys = ["width"]

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.ffn = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, width))

    def forward(self, features: dict[str, Tensor], **kwargs: Any) -> dict[str, Tensor]:
        u = features["sentence_embedding"]
        return {**features, "sentence_embedding": (self.ffn(u) + u) / 2}

    def get_embedding_dimension(self) -> int:
        return self.width

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        self.save_config(output_path)
        self.save_torch_weights(output_path)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Residual:
        config = cls.load_config(model_name_or_path, subfolder=subfolder)
        return cls.load_torch_weights(model_name_or_path, subfolder=subfolder, model=cls(**config))


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


class Watcher(TrainerCallback):
    """Keeps the weights with which every epoch begins and ends, and the negatives drawn for it."""

    def __init__(self, names: FewShotNames) -> None:
        self.names = names
        self.begun: list[dict[str, Tensor]] = []
        self.ended: list[dict[str, Tensor]] = []
        self.drawn: list[Tensor] = []

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.begun.append(weights(kwargs["model"]))
        self.drawn.append(self.names.drawn.clone())

    def on_epoch_end(self, args, state, control, **kwargs):
        self.ended.append(weights(kwargs["model"]))


class Run:
    """A small training; with ``validated``, one that stops."""

    def __init__(
        self, folder: Path, *, epochs: int = 4, validated: bool = True, resume: Path | None = None, **settings: Any
    ) -> None:
        torch.manual_seed(5)
        self.model = SentenceTransformer(modules=[Table(TRAIN), Residual(WIDTH)], device="cpu")
        self.loss = FewShotLoss(self.model, TRAIN, LABELS, seed=settings.pop("draw_seed", 0))
        self.validation = FewShotValidationCallback(
            self.loss, VALIDATION, VALIDATION_LABELS, lookback=settings.pop("lookback", 10)
        )
        self.watcher = Watcher(self.loss.names)
        callbacks = [FewShotNegativesCallback(self.loss), self.watcher]
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(folder),
            num_train_epochs=epochs,
            use_cpu=True,
            disable_tqdm=True,
            resume_from_checkpoint=None if resume is None else str(resume),
            **{
                "per_device_train_batch_size": 5,
                "learning_rate": 1e-2,
                "lr_scheduler_type": "constant",
                "save_strategy": "no",
                **settings,
            },
        )
        rows = {"text": [str(i) for i in range(len(LABELS))], "label": LABELS.tolist()}
        self.trainer = SentenceTransformerTrainer(
            model=self.model,
            args=arguments,
            train_dataset=Dataset.from_dict(rows),
            loss=self.loss,
            callbacks=[*callbacks, self.validation] if validated else callbacks,
        )
        self.trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
        self.weights = weights(self.model)


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
    ],
)
def test_bad_validation_names_are_one_line(arguments, message):
    given = {"vectors": VALIDATION, "labels": VALIDATION_LABELS, **arguments}
    with pytest.raises(InputError, match=message):
        FewShotValidationCallback(FewShotLoss(None, TRAIN, LABELS), **given)
