"""Several trainings of one command of the open encoder: other seeds and parts alone, averaged, and continued after an interruption."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

import st_biomed.training.phases
from recipes import open_encoder
from st_biomed.errors import InputError
from st_biomed.release.run_data import read_run
from st_biomed.training.all_but_the_top import AllButTheTop
from st_biomed.training.teacher import TeacherVectors

SMOKE = str(Path(open_encoder.__file__).parent / "configs" / "open_encoder_smoke.yaml")
SEVERAL = (
    *[
        "--runs",
        "2",
        "--smoke",
        "false",
        "--max_steps",
        "4",
        "--per_device_train_batch_size",
        "16",
        "--partners",
        "1",
        "1",
        "1",
        "0",
    ],
    *["--held_out_names", "0", "--eval_strategy", "no", "--save_strategy", "steps", "--save_steps", "2"],
    *["--learning_rate", "1e-3", "--average", "0.5", "--logging_steps", "2"],
)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["open_encoder.py", SMOKE, *map(str, arguments)])
    open_encoder.main()


@pytest.fixture(scope="module")
def averaged(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of an unbroken command of two runs, to which a resumed one is compared."""
    out = tmp_path_factory.mktemp("runs") / "out"
    with pytest.MonkeyPatch.context() as patch:
        run(patch, "--base_model", tiny_bert_folder, "--output_dir", out, *SEVERAL)
    return out


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_several_runs_are_averaged_with_each_other_and_then_with_the_base(averaged: Path, tiny_bert_folder: Path):
    """Catches a run that is left out, runs of one seed, a run that starts from the earlier one, and wrong shares."""
    phases = Path(f"{averaged}-training") / "phases"
    first, second = (weights(phases / f"run-{i}") for i in (1, 2))
    base = weights(tiny_bert_folder)
    for name, tensor in weights(averaged).items():
        torch.testing.assert_close(tensor, base[name] / 2 + (first[name] + second[name]) / 4)
    assert any(not torch.equal(first[name], second[name]) for name in first)
    assert [read_run(phases / f"run-{i}" / "run.json")["seed"] for i in (1, 2)] == [42, 43]
    record = read_run(averaged / "run.json")
    assert [model["weight"] for model in record["averaging"]["models"]] == [0.5, 0.5]
    assert {metric["name"] for metric in record["metrics"]} >= {"run-1/loss", "run-2/loss"}
    assert "the mean of those of 2 runs" in (averaged / "README.md").read_text("utf-8")


@pytest.mark.long
def test_parts_that_are_trained_alone_join_the_average(averaged: Path, tiny_bert_folder: Path, tmp_path: Path):
    """Catches shares that are swapped, a part alone that is distilled, has other steps or other seeds, and runs that are repeated."""
    out = shutil.copytree(averaged, tmp_path / "out")
    shutil.copytree(f"{averaged}-training", f"{out}-training")
    given = ("--base_model", tiny_bert_folder, *SEVERAL, "--alone_weight", 0.25, "--alone_steps", 2)
    started, real = [], st_biomed.training.phases.run_trainer

    def train_encoder(*arguments, **options):
        started.append(Path(arguments[2].output_dir).name)
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "run_trainer", train_encoder)
        more = ("--alone", "hierarchy", "--resume_from_checkpoint", "true", "--overwrite", "true")
        run(patch, "--output_dir", out, *given, *more)
        assert started == ["hierarchy-1-training", "hierarchy-2-training"]
        only = [
            "--parts",
            "hierarchy",
            "--shares",
            "1",
            "--distillation",
            "0",
            "--runs",
            "1",
            "--max_steps",
            "2",
            "--seed",
            "43",
        ]
        run(patch, "--output_dir", tmp_path / "only", *given[:-4], *only)
    phases = Path(f"{out}-training") / "phases"
    runs, alone = ([weights(phases / f"{name}-{i}") for i in (1, 2)] for name in ("run", "hierarchy"))
    base, one = weights(tiny_bert_folder), weights(tmp_path / "only-training" / "phases" / "run-1")
    for name, tensor in weights(out).items():
        mean = (4 * runs[0][name] + 4 * runs[1][name] + alone[0][name] + alone[1][name]) / 10
        torch.testing.assert_close(tensor, (base[name] + mean) / 2)
        torch.testing.assert_close(alone[1][name], one[name], rtol=0, atol=0)
    record = read_run(out / "run.json")
    losses = {part: loss["loss"] for part, loss in record["losses"].items()}
    assert losses == {
        **dict.fromkeys(open_encoder.PARTS, "DistilledLoss"),
        "hierarchy-alone": "OrdinalMultiSimilarityLoss",
    }
    assert "2 encoders that were trained on the part hierarchy alone" in (out / "README.md").read_text("utf-8")
    own = read_run(phases / "hierarchy-1" / "run.json")
    said = {name: own["configuration"][name] for name in ("parts", "shares", "distillation")}
    assert said == {"parts": ["hierarchy"], "shares": [1], "distillation": 0}
    assert not any("contrasted" in reading or "held near" in reading for reading in own["readings"])
    run_1 = read_run(phases / "run-1" / "run.json")["readings"]
    assert not any("average of those" in reading for reading in (*own["readings"], *run_1)), "of one training"
    with pytest.MonkeyPatch.context() as patch:
        again = ("--output_dir", out, *given, "--alone_steps", 3, *more)
        with pytest.raises(InputError, match=r"hierarchy-1: was trained with alone_steps 2, found 3; give the same"):
            run(patch, *again)


@pytest.mark.long
def test_a_run_starts_from_the_base_and_not_from_the_run_before_it(averaged: Path, tiny_bert_folder: Path, tmp_path):
    """Catches weights, losses or random states that the first run leaves to the second."""
    with pytest.MonkeyPatch.context() as patch:
        given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
        run(patch, *given, "--runs", 1, "--seed", 43)
    alone = weights(Path(f"{tmp_path / 'out'}-training") / "phases" / "run-1")
    for name, tensor in weights(Path(f"{averaged}-training") / "phases" / "run-2").items():
        torch.testing.assert_close(tensor, alone[name])


@pytest.mark.long
def test_an_interrupted_command_continues_in_its_second_run(averaged: Path, tiny_bert_folder: Path, tmp_path):
    """Catches a finished run that is trained again, and a resumed one that differs from the unbroken one."""
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
    real, started = st_biomed.training.phases.run_trainer, []

    def interrupted(*arguments, **options):
        started.append(Path(arguments[2].output_dir).name)
        if len(started) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "run_trainer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(patch, *given)
        run(patch, *given, "--resume_from_checkpoint", "true")
    assert started == ["run-1-training", "run-2-training", "run-2-training"]
    for name, tensor in weights(averaged).items():
        torch.testing.assert_close(weights(tmp_path / "out")[name], tensor)


@pytest.mark.long
def test_the_runs_share_the_vectors_of_their_teacher(tiny_bert_folder: Path, tmp_path: Path):
    """Catches texts, and the sample of the mean, that each run embeds again, and what finished runs embed for nothing."""
    (tmp_path / "texts.txt").write_text("".join(f"line {i} of other texts\n" for i in range(20)))
    raw = ("--distilled_texts", tmp_path / "texts.txt", "--text_form", "lines", "--distillation_removed", 1)
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL, *raw)
    parts = (*open_encoder.PARTS, "texts")
    embedded: list[str] = []
    samples: list[int] = []
    real, fit = TeacherVectors._as_float16, AllButTheTop.fit

    def halved(teacher: TeacherVectors, texts: list[str]):
        embedded.extend(texts)
        return real(teacher, texts)

    def fitted(vectors, removed: int):
        samples.append(len(vectors))
        return fit(vectors, removed)

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TeacherVectors, "_as_float16", halved)
        patch.setattr(AllButTheTop, "fit", fitted)
        with pytest.MonkeyPatch.context() as once:
            once.setattr(open_encoder, "average_trained", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run(patch, *given, "--parts", *parts, "--shares", *[1] * len(parts))
        assert "line 1 of other texts" in embedded and len(embedded) == len(set(embedded))
        assert len(samples) == 2, "one of the names and definitions, one of the raw text"
        embedded.clear()
        run(patch, *given, "--parts", *parts, "--shares", *[1] * len(parts), "--resume_from_checkpoint", "true")
        assert not embedded and len(samples) == 2


class _Stops(TrainerCallback):
    """Interrupts after the third step, one after a checkpoint."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 3:
            raise KeyboardInterrupt


@pytest.mark.long
def test_a_run_goes_on_from_its_checkpoint(averaged: Path, tiny_bert_folder: Path, tmp_path, capsys):
    """Catches a run that begins anew, and steps, shares of parts or random states that are lost with the process."""
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
    real, started = st_biomed.training.phases.run_trainer, []

    def interrupted(*arguments, **options):
        started.append(Path(arguments[2].output_dir).name)
        return real(*arguments, *([_Stops()] if len(started) == 1 else []), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "run_trainer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(patch, *given)
        with pytest.raises(InputError, match=r"run-1-training: was trained with max_steps 4, found 6; give the same"):
            run(patch, *given, "--resume_from_checkpoint", "true", "--max_steps", 6)
        run(patch, *given, "--resume_from_checkpoint", "true")
    assert started == ["run-1-training", "run-1-training", "run-2-training"]
    assert re.search(r"going on from .*run-1-training/checkpoint-2$", capsys.readouterr().out, re.MULTILINE)
    for name, tensor in weights(averaged).items():
        torch.testing.assert_close(weights(tmp_path / "out")[name], tensor)
