"""BioLORD-2023's recipe, shrunk: three phases, what each leaves, and runs that are interrupted in each of them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import TrainerCallback

import st_biomed.training.phases
from recipes import biolord
from st_biomed.errors import InputError
from st_biomed.release.run_data import read_run
from st_biomed.terminology import Terminology

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIGS = Path(biolord.__file__).parent / "configs"
SMOKE = str(CONFIGS / "biolord_smoke.yaml")
STEPS = (
    *("--smoke", "false", "--per_device_train_batch_size", 32, "--max_steps", 4, "--learning_rate", 1e-3),
    *("--student_steps", 4, "--student_batch_size", 32, "--student_learning_rates", 1e-3, 2e-3, "--dropout", 0.1),
    *("--save_strategy", "steps", "--save_steps", 2, "--logging_steps", 1, "--held_out_names", 0),
)
STOPS = [("contrastive", 3), ("student-1", 0), ("student-1", 3), ("student-2", 3), ("average", 0), ("measure", 0)]


class Stopped(Exception):
    """What interrupts a run."""


class StopAt(TrainerCallback):
    """Ends a training before a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise Stopped


def run(base: Path | str, out: Path, *arguments: object) -> None:
    given = ("biolord.py", SMOKE, "--base_model", base, "--output_dir", out, *arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(word) for word in given])
        biolord.main()


def run_until(phase: str, step: int, base: Path, out: Path, *arguments: object) -> None:
    """A run that is interrupted before a step of a phase, before the students are averaged, or before that is measured."""
    real = st_biomed.training.phases.run_trainer

    def interrupted(model, recipe, training, rows, loss, record, *callbacks, **options):
        stops = [StopAt(step)] if Path(training.output_dir).name == f"{phase}-training" else []
        return real(model, recipe, training, rows, loss, record, *callbacks, *stops, **options)

    def stop(*arguments: object, **options: object) -> None:
        raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "run_trainer", interrupted)
        if phase == "average":
            patch.setattr(biolord, "average_trained", stop)
        if phase == "measure":
            patch.setattr("st_biomed.training.finish.fill_release", stop)
        with pytest.raises(Stopped):
            run(base, out, *arguments)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def phases_of(out: Path) -> Path:
    return Path(f"{out}-training") / "phases"


@pytest.fixture(scope="module")
def release(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of an unbroken run, to which resumed ones are compared."""
    out = tmp_path_factory.mktemp("biolord") / "out"
    run(tiny_bert_folder, out, *STEPS)
    return out


def test_the_release_is_the_mean_of_the_students_and_tells_the_phases(release: Path):
    """Catches a phase that is dropped, a student that is left out, and figures of one phase under another's name."""
    assert SentenceTransformer(str(release), device="cpu").encode(["acute disease"]).shape == (1, 16)
    students = [weights(phases_of(release) / f"student-{i}") for i in (1, 2)]
    for name, tensor in weights(release).items():
        torch.testing.assert_close(tensor, (students[0][name] + students[1][name]) / 2)
    record = read_run(release / "run.json")
    losses = {phase: loss["loss"] for phase, loss in record["losses"].items()}
    distilled = "SelfDistillationLoss"
    assert losses == {"contrastive": "InfoNCELoss", "student-1": distilled, "student-2": distilled}
    assert [(model["name"], model["weight"]) for model in record["averaging"]["models"]] == [
        ("student-1", 0.5),
        ("student-2", 0.5),
    ]
    assert {metric["name"] for metric in record["metrics"]} >= {f"{phase}/loss" for phase in losses}
    assert record["training_arguments"]["learning_rate"] == 1e-3 and "learning_rate" in record["changed_arguments"]
    rates = {name: read_run(phases_of(release) / name / "run.json")["training_arguments"] for name in losses}
    assert [rates[name]["learning_rate"] for name in losses] == [1e-3, 1e-3, 2e-3]
    card = (release / "README.md").read_text("utf-8")
    assert "The weights are the average of 2 encoders" in card and "Phase 2, self-distillation" in card
    assert "remy2024biolord" in card


def test_the_folder_of_each_phase_is_a_plain_model(release: Path):
    """Catches checkpoints that stay where a phase is finished, and a teacher that nobody can measure."""
    assert sorted(path.name for path in phases_of(release).iterdir()) == ["contrastive", "student-1", "student-2"]
    for folder in phases_of(release).iterdir():
        assert SentenceTransformer(str(folder), device="cpu").encode(["zorb"]).shape == (1, 16)


@pytest.mark.long
def test_students_begin_as_the_base_model(tiny_bert_folder: Path, tmp_path: Path):
    """Catches a student that goes on from the contrastive model."""
    run(tiny_bert_folder, tmp_path / "out", "--learning_rate", 1e-2, "--student_learning_rates", 1e-12)
    base = weights(tiny_bert_folder)
    assert all(torch.allclose(tensor, base[name]) for name, tensor in weights(tmp_path / "out").items())
    teacher = weights(phases_of(tmp_path / "out") / "contrastive")
    assert not all(torch.allclose(tensor, base[name]) for name, tensor in teacher.items())


@pytest.mark.long
def test_students_come_near_the_contrastive_model(tiny_bert_folder: Path, tmp_path: Path):
    """Catches students of another teacher, and of rows that are not those of its vectors."""
    more = ("--max_steps", 20, "--student_steps", 20, "--student_learning_rates", 3e-3, "--save_strategy", "no")
    run(tiny_bert_folder, tmp_path / "out", *STEPS, *more)
    toy = Terminology.read("toy", definitions=True)
    texts = [*toy.strings, *toy.definitions["text"].to_pylist()]
    folders = (tiny_bert_folder, phases_of(tmp_path / "out") / "contrastive", tmp_path / "out")
    base, teacher, student = (SentenceTransformer(str(folder), device="cpu").encode(texts) for folder in folders)

    def cosine(vectors: np.ndarray, other: np.ndarray) -> float:
        products = (vectors * other).sum(axis=1)
        return float((products / np.linalg.norm(vectors, axis=1) / np.linalg.norm(other, axis=1)).mean())

    assert cosine(base, teacher) < cosine(student, teacher)
    assert read_run(tmp_path / "out" / "run.json")["averaging"]["models"] == []


@pytest.mark.long
@pytest.mark.parametrize(("phase", "step"), STOPS)
def test_a_run_that_is_interrupted_in_any_phase_ends_as_the_unbroken_one(
    phase: str, step: int, release: Path, tiny_bert_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Catches a phase that is trained twice or begun anew, dropout of another state, and lost figures."""
    out = tmp_path / "out"
    run_until(phase, step, tiny_bert_folder, out, *STEPS)
    assert not out.exists()
    capsys.readouterr()
    run(tiny_bert_folder, out, *STEPS, "--resume_from_checkpoint", "true")
    printed = capsys.readouterr().out
    before = ["contrastive", "student-1", "student-2"]
    before = before[: before.index(phase)] if phase in before else before
    assert [line.partition(":")[0] for line in printed.splitlines() if "finished in an earlier run" in line] == before
    assert (f"going on from {phases_of(out) / f'{phase}-training'}/checkpoint-2" in printed) == (step > 2)
    for folder in ("", "contrastive", "student-1", "student-2"):
        resumed_folder, unbroken_folder = (
            phases_of(output) / folder if folder else output for output in (out, release)
        )
        unbroken = weights(unbroken_folder)
        assert all(torch.equal(tensor, unbroken[name]) for name, tensor in weights(resumed_folder).items()), folder
    resumed, whole = (read_run(output / "run.json") for output in (out, release))
    kept = [
        sorted((metric["name"], metric["step"], metric["value"]) for metric in run["metrics"])
        for run in (resumed, whole)
    ]
    assert kept[0] == kept[1] and len(kept[0]) > 30
    assert resumed["losses"] == whole["losses"] and resumed["averaging"] == whole["averaging"]


@pytest.mark.long
def test_a_new_run_takes_nothing_of_an_earlier_one(release: Path, tiny_bert_folder: Path, tmp_path: Path):
    """Catches a teacher of other settings, taken where a run that began anew is interrupted and resumed."""
    out = Path(shutil.copytree(release, tmp_path / "out"))
    shutil.copytree(Path(f"{release}-training"), tmp_path / "out-training")
    changed = [*STEPS, "--learning_rate", 2e-3, "--overwrite", "true"]
    run_until("contrastive", 3, tiny_bert_folder, out, *changed)
    aside = phases_of(out).with_name("earlier-phases")
    assert (aside / "student-2" / "run.json").is_file()
    run_until("contrastive", 1, tiny_bert_folder, out, *changed)
    assert phases_of(out).with_name("earlier-phases-2").is_dir()
    copied = shutil.copytree(aside, aside.with_name("earlier-phases-backup"))
    aside.with_name("earlier-phases.txt").write_text("what I did")
    with pytest.raises(InputError, match="holds no finished phase and no whole checkpoint to resume from"):
        run(tiny_bert_folder, out, *changed, "--resume_from_checkpoint", "true")
    run(tiny_bert_folder, out, *changed)
    left = [*Path(f"{out}-training").glob("earlier-*")]
    assert sorted(left) == [copied, aside.with_name("earlier-phases.txt")], "what somebody else put there"
    assert not torch.equal(*(weights(output)["embeddings.word_embeddings.weight"] for output in (out, release)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--learning_rate", 2e-3], "contrastive: was trained with learning_rate 0.001, found 0.002; give the same"),
        (["--definition_temperature", 0.1], "contrastive: was trained with definition_temperature .*; give the same"),
        (["--siblings", 0.3], "contrastive: was trained with siblings 0.*, found 0.3"),
        (["--distillation", 5], "contrastive: was trained with distillation 0.*, found 5"),
        (["--adam_beta2", 0.9], "contrastive: was trained with adam_beta2 0.999, found 0.9"),
        (["--components", 2], "student-1: was trained with components 0, found 2"),
        (["--seed", 7], "contrastive: was trained with seed 42, found 7"),
        (["--held_out_names", 4], "was trained on another terminology or split than this run"),
        (["--student_learning_rates", 5e-3], "student-1: was trained with learning_rate 0.001, found 0.005"),
    ],
)
def test_a_run_is_resumed_with_the_settings_of_its_finished_phases(
    arguments: list[object], message: str, release: Path, tiny_bert_folder: Path, tmp_path: Path
):
    """Catches a release whose record says other settings than its phases were trained with."""
    shutil.copytree(Path(f"{release}-training"), tmp_path / "out-training")
    with pytest.raises(InputError, match=message):
        run(tiny_bert_folder, tmp_path / "out", *STEPS, *arguments, "--resume_from_checkpoint", "true")


@pytest.mark.long
def test_a_student_is_added_to_a_finished_run(release: Path, tiny_bert_folder: Path, tmp_path: Path):
    """Catches phases that are trained again where only one is new."""
    shutil.copytree(Path(f"{release}-training"), tmp_path / "out-training")
    more = ("--student_learning_rates", 1e-3, 2e-3, 3e-3, "--resume_from_checkpoint", "true")
    run(tiny_bert_folder, tmp_path / "out", *STEPS, *more)
    models = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))["averaging"]["models"]
    assert [model["name"] for model in models] == ["student-1", "student-2", "student-3"]


@pytest.mark.parametrize("trusted", ["true", "false"])
def test_a_finished_phase_is_loaded_with_the_code_that_is_trusted(
    trusted: str, release: Path, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a base model with its own code that trains and whose phases cannot be loaded again."""
    shutil.copytree(Path(f"{release}-training"), tmp_path / "out-training")
    asked: list[object] = []

    def loaded(*arguments: object, trust_remote_code: bool = False, **options: object) -> None:
        asked.append(trust_remote_code)
        raise Stopped

    monkeypatch.setattr(st_biomed.training.phases, "load_encoder", loaded)
    given = ("--resume_from_checkpoint", "true", "--trust_remote_code", trusted)
    with pytest.raises(Stopped):
        run(tiny_bert_folder, tmp_path / "out", *STEPS, *given)
    assert asked == [trusted == "true"]


@pytest.mark.long
def test_students_learn_the_main_components(tiny_bert_folder: Path, tmp_path: Path):
    """Catches an argument that changes nothing, and one that is refused after the first phase was trained."""
    run(tiny_bert_folder, tmp_path / "all")
    run(tiny_bert_folder, tmp_path / "two", "--components", 2)
    student, other = (weights(tmp_path / name)["embeddings.word_embeddings.weight"] for name in ("all", "two"))
    assert not torch.equal(student, other)
    assert "learns the 2 main principal components of the vectors" in (tmp_path / "two" / "README.md").read_text()
    with pytest.raises(InputError, match="components must be at most 16, the dimension of the base model, found 17"):
        run(tiny_bert_folder, tmp_path / "many", "--components", 17)
    assert not phases_of(tmp_path / "many").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", 2**32 - 1], "seed: each run has the next one, up to 42949672"),
        (["--student_learning_rates", 1e-5, 1e-5], "student_learning_rates: one or several different ones are needed"),
        (["--resume_from_checkpoint", "true"], "holds no finished phase and no whole checkpoint to resume from"),
        (["--resume_from_checkpoint", "."], r"resume_from_checkpoint: a run of several phases takes true, found \."),
        (["--base_model", "nowhere/at/all"], "base model 'nowhere/at/all' is not a local folder"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(
    arguments: list[object], message: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(biolord, "read_terminology", None)
    with pytest.raises(InputError, match=message):
        run(tiny_bert_folder, tmp_path / "out", *arguments)


def test_a_terminology_without_definitions_is_refused(tiny_bert_folder: Path, tmp_path: Path):
    with pytest.raises(InputError, match="no definitions"):
        run(tiny_bert_folder, tmp_path / "out", "--terminology", "toy")
