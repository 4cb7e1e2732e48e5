"""The moving average of the weights: the numbers of a plain loop, measured in training, part of a checkpoint, released."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import Tensor
from transformers import TrainerCallback

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.training.checkpoints import damage, with_complete_checkpoints
from st_biomed.training.moving_average import FILE_NAME, MovingAverageCallback

NAMES = ["flu", "flue", "gout", "gots", "pox", "poxe", "kuru", "kurs"]
WEIGHT = "0.model.encoder.layer.0.output.dense.weight"


def state(model: SentenceTransformer) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


class Watched(TrainerCallback):
    """Keeps the weights after each step; put before the average, so that they are those that were trained."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Tensor]] = []

    def on_train_begin(self, args, state_, control, **kwargs: Any) -> None:
        self.steps.append(state(kwargs["model"]))

    def on_step_end(self, args, state_, control, **kwargs: Any) -> None:
        self.steps.append(state(kwargs["model"]))


class Measured(BaseEvaluator):
    """Keeps the weights that it measures; its score is largest at a step."""

    def __init__(self, best: int = -1) -> None:
        super().__init__()
        self.best, self.primary_metric = best, "score"
        self.seen: list[dict[str, Tensor]] = []

    def __call__(self, model, output_path=None, epoch=-1, steps=-1) -> dict[str, float]:
        self.seen.append(state(model))
        return {"score": float(steps == self.best)}


def run(folder: Path, out: Path, callbacks: list[TrainerCallback], **options: Any) -> SentenceTransformer:
    """Four steps, with a checkpoint and a measurement after each."""
    evaluator, resume = options.pop("evaluator", None), options.pop("resume", None)
    eval_dataset = options.pop("eval_dataset", None)
    torch.manual_seed(0)
    model = load_encoder(folder, device="cpu")
    options = {"eval_strategy": "steps", "eval_steps": 1, "save_strategy": "steps", "save_steps": 1, **options}
    if evaluator is None and eval_dataset is None:
        options |= {"eval_strategy": "no"}
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(out),
        use_cpu=True,
        max_steps=4,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        disable_tqdm=True,
        report_to="none",
        seed=1,
        resume_from_checkpoint=resume,
        **options,
    )
    dataset = Dataset.from_dict({"text": NAMES, "label": [0, 0, 1, 1, 2, 2, 3, 3]})
    SentenceTransformerTrainer(
        model,
        arguments,
        train_dataset=dataset,
        loss=MultiSimilarityLoss(model, miner=None),
        evaluator=evaluator,
        eval_dataset=eval_dataset,
        callbacks=with_complete_checkpoints(*callbacks),
    ).train(resume_from_checkpoint=resume)
    return model


def plain_loop(steps: list[dict[str, Tensor]], decay: float) -> list[dict[str, Tensor]]:
    """The average after each step, in float64."""
    averages = [{name: tensor.double() for name, tensor in steps[0].items()}]
    for weights in steps[1:]:
        averages.append({name: decay * averages[-1][name] + (1 - decay) * weights[name].double() for name in weights})
    return averages


def close(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    torch.testing.assert_close(
        {name: tensor.double() for name, tensor in found.items()}, expected, atol=1e-6, rtol=1e-5
    )


def test_the_encoder_ends_with_the_average_and_is_trained_without_it(tiny_bert_folder: Path, tmp_path: Path):
    """Catches an average that begins at 0, that is fed back into training, or that is measured nowhere."""
    watched, measured = Watched(), Measured()
    model = run(tiny_bert_folder, tmp_path / "a", [watched, MovingAverageCallback(0.7)], evaluator=measured)
    alone = Watched()
    run(tiny_bert_folder, tmp_path / "b", [alone])
    for with_it, without in zip(watched.steps, alone.steps, strict=True):
        assert all(torch.equal(with_it[name], without[name]) for name in with_it)
    averages = plain_loop(watched.steps, 0.7)
    assert len(measured.seen) == 4
    for seen, average in zip(measured.seen, averages[1:]):
        close(seen, average)
    close(state(model), averages[-1])
    assert not torch.allclose(state(model)[WEIGHT], watched.steps[-1][WEIGHT], atol=1e-4)


def test_a_checkpoint_has_the_trained_weights_and_the_average_and_goes_on_to_the_bit(
    tiny_bert_folder: Path, tmp_path: Path
):
    """Catches an average that starts anew where a run is resumed, and a checkpoint of the averaged weights."""
    watched = Watched()
    whole = run(tiny_bert_folder, tmp_path / "whole", [watched, MovingAverageCallback(0.7)], evaluator=Measured())
    checkpoint = tmp_path / "whole" / "checkpoint-2"
    assert not damage(checkpoint) and (checkpoint / FILE_NAME).is_file()
    saved = load_file(checkpoint / "model.safetensors")
    assert torch.equal(saved[WEIGHT.removeprefix("0.model.")], watched.steps[2][WEIGHT])
    broken = tmp_path / "broken"
    shutil.copytree(checkpoint, broken / "checkpoint-2")
    again = run(tiny_bert_folder, broken, [MovingAverageCallback(0.7)], resume=str(broken / "checkpoint-2"))
    assert all(torch.equal(tensor, state(again)[name]) for name, tensor in state(whole).items())
    (checkpoint / FILE_NAME).unlink()
    assert damage(checkpoint).startswith(f"{checkpoint / FILE_NAME}: is missing")


def test_the_best_checkpoint_s_average_is_what_is_loaded_at_the_end(tiny_bert_folder: Path, tmp_path: Path):
    """Catches the last average, or the best trained weights, in the place of what was measured as best."""
    watched = Watched()
    options = {"load_best_model_at_end": True, "metric_for_best_model": "score", "evaluator": Measured(best=2)}
    model = run(tiny_bert_folder, tmp_path / "out", [watched, MovingAverageCallback(0.7)], **options)
    close(state(model), plain_loop(watched.steps, 0.7)[2])


@pytest.mark.parametrize("measured", ["steps", "epoch"])
def test_epochs_are_measured_with_the_average_too(measured: str, tiny_bert_folder: Path, tmp_path: Path):
    watched, evaluator = Watched(), Measured()
    options = {"eval_strategy": measured, "eval_steps": 2, "evaluator": evaluator}
    run(tiny_bert_folder, tmp_path / "out", [watched, MovingAverageCallback(0.7)], **options)
    averages = plain_loop(watched.steps, 0.7)
    for seen, average in zip(evaluator.seen, averages[2::2], strict=True):
        close(seen, average)


def test_the_average_of_half_precision_weights_is_kept_in_single(tiny_bert_folder: Path):
    """Catches steps that are too small for bfloat16, which an average would lose."""
    model = load_encoder(tiny_bert_folder, device="cpu").to(torch.bfloat16)
    callback = MovingAverageCallback(0.999)
    arguments, control = object(), type("Control", (), {"should_evaluate": False})()
    callback.on_train_begin(arguments, type("State", (), {"global_step": 0})(), control, model=model)  # type: ignore[arg-type]
    start = callback.average[WEIGHT].clone()
    with torch.no_grad():
        model.get_parameter(WEIGHT).add_(1.0)
    for _ in range(10):
        callback.on_step_end(arguments, None, control, model=model)  # type: ignore[arg-type]
    goal = model.get_parameter(WEIGHT).detach().float()
    torch.testing.assert_close(callback.average[WEIGHT], goal + 0.999**10 * (start - goal), atol=1e-5, rtol=1e-5)


def test_frozen_parameters_have_no_average(tiny_bert_folder: Path):
    model = load_encoder(tiny_bert_folder, device="cpu")
    model[0].model.embeddings.requires_grad_(False)
    callback = MovingAverageCallback(0.9)
    callback.on_train_begin(None, type("State", (), {"global_step": 0})(), None, model=model)  # type: ignore[arg-type]
    assert callback.average and not any("embeddings" in name for name in callback.average)


@pytest.mark.parametrize("decay", [0.0, 1.0, float("nan"), -0.5, "0.9", None])
def test_a_decay_that_is_none_is_refused(decay: Any):
    with pytest.raises(InputError, match="ema_decay must be above 0 and below 1"):
        MovingAverageCallback(decay)


@pytest.mark.long
def test_another_average_is_not_gone_on_with(tiny_bert_folder: Path, tmp_path: Path):
    """Catches two decays in one average, and one that begins in the middle of a run."""
    run(tiny_bert_folder, tmp_path / "with", [MovingAverageCallback(0.7)])
    run(tiny_bert_folder, tmp_path / "without", [])
    for work, message in (
        ("with", "is an average with --ema_decay 0.7, found 0.9; resume with the same"),
        ("without", "missing, the checkpoint was saved without --ema_decay; resume it without, too"),
    ):
        checkpoint = str(tmp_path / work / "checkpoint-2")
        with pytest.raises(InputError, match=f"{FILE_NAME}: {message}"):
            run(tiny_bert_folder, tmp_path / work, [MovingAverageCallback(0.9)], resume=checkpoint)


def test_the_trained_weights_are_put_back_after_the_last_of_several_evaluation_datasets(
    tiny_bert_folder: Path, tmp_path: Path
):
    """The trainer tells of each dataset by itself. Catches a second one that is measured with other weights."""
    row = {"text": NAMES, "label": [0, 0, 1, 1, 2, 2, 3, 3]}
    two = {name: Dataset.from_dict(row) for name in ("first", "second")}
    measured: list[dict[str, float]] = []

    class Losses(TrainerCallback):
        def on_evaluate(self, args, state_, control, metrics, **kwargs: Any) -> None:
            measured.append({name: value for name, value in metrics.items() if name.endswith("_loss")})

    def train(eval_datasets: int) -> None:
        measured.clear()
        callbacks = [Losses(), MovingAverageCallback(0.7, eval_datasets=eval_datasets)]
        run(tiny_bert_folder, tmp_path / str(eval_datasets), callbacks, eval_dataset=two, eval_strategy="steps")

    train(2)
    losses = [value for found in measured for value in found.values()]
    assert len(losses) == 8 and losses[::2] == losses[1::2] and len(set(losses)) == 4
    for wrong, message in ((1, "expected 1 to measure, found another"), (3, "expected 3 to measure, found 2")):
        with pytest.raises(InputError, match=f"eval_datasets: {message}"):
            train(wrong)
    with pytest.raises(InputError, match="eval_datasets must be an integer of at least 1, found 0"):
        MovingAverageCallback(0.7, eval_datasets=0)
