"""The open encoder's recipe, shrunk: four parts together, held near the base model, in one run or several, averaged and released."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import TrainerCallback

import st_biomed.training.phases
from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.release.run_data import read_run
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.all_but_the_top import AllButTheTop
from st_biomed.training.teacher import TeacherVectors
from st_biomed.training_data import split_by_subtree

CONFIGS = Path(open_encoder.__file__).parent / "configs"
SMOKE = str(CONFIGS / "open_encoder_smoke.yaml")
TREES = """name: toy_tree
evaluator: tree
settings: {sources: ['toy'], depth: 1, dev: 0.2, test: 0.2, pairs_per_class: 20}
"""
RELATIONS = "name: toy_relations\nevaluator: relation\nsettings: {sources: ['toy'], min_pairs: 1}\n"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["open_encoder.py", SMOKE, *map(str, arguments)])
    open_encoder.main()


@pytest.fixture(scope="module")
def release(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of a smoke run that measures trees."""
    folder = tmp_path_factory.mktemp("recipe")
    (folder / "trees.yaml").write_text(TREES)
    given = ["--base_model", tiny_bert_folder, "--output_dir", folder / "out", "--trees", folder / "trees.yaml"]
    with pytest.MonkeyPatch.context() as patch:
        run(patch, *given)
    return folder / "out"


def test_the_release_loads_and_records_all_four_parts(release: Path):
    """Catches a part that is dropped, and one that is not held."""
    assert SentenceTransformer(str(release), device="cpu").encode(["acute disease"]).shape == (1, 16)
    record = json.loads((release / "run.json").read_text())
    losses = {part: loss["loss"] for part, loss in record["losses"].items()}
    assert losses == dict.fromkeys(open_encoder.PARTS, "DistilledLoss")
    assert {"toy_tree_test", "held-out-names"} <= record["results"].keys()


def test_nothing_that_is_measured_is_trained_on(release: Path):
    """Catches held-out sub-trees, or names equal to theirs, in the training."""
    train = Terminology.load(Path(f"{release}-training") / "terminology")
    splits = split_by_subtree(Hierarchy(Terminology.read("toy")), depth=1, dev=0.2, test=0.2)
    for part in (splits.dev, splits.test):
        assert not set(part.codes) & set(train.codes)
        assert not {name.lower() for name in part.strings} & {name.lower() for name in train.strings}
    assert train.n_definitions and train.relations.num_rows and train.parents.num_rows


def test_relations_that_are_measured_are_held_out(tmp_path: Path):
    """Catches a benchmark of relations whose own pairs are trained on."""
    (tmp_path / "relations.yaml").write_text(RELATIONS)
    given = [SMOKE, "--benchmarks", str(tmp_path / "relations.yaml"), "--held_out_names", "0"]
    recipe, training = read_settings((OpenEncoderArguments, SentenceTransformerTrainingArguments), given)
    data = open_encoder.read(recipe, training)
    assert data.whole.relations.num_rows and not data.train.relations.num_rows
    assert [evaluator.name for evaluator in data.suite.tests] == ["toy_relations"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "synonym"], "unknown part 'synonym'.*did you mean 'synonyms'"),
        (["--parts", "synonyms", "synonyms"], "parts: one or several different ones are needed"),
        (
            ["--shares", "1", "2"],
            "shares: one for each of synonyms definitions hierarchy relations is needed.*found 2",
        ),
        (["--trees", "mayosrs"], "mayosrs"),
        (
            ["--seed", str(2**32 - 2), "--runs", "3"],
            "seed: each run has the next one, up to 4294967296; the largest is 4294967295",
        ),
        (
            ["--corpus", "x", "--parts", "synonyms"],
            "corpus: its passages belong to the part definitions, found synonyms",
        ),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_read(monkeypatch, arguments, message):
    monkeypatch.setattr(open_encoder, "read_terminology", None)
    with pytest.raises(InputError, match=message):
        run(monkeypatch, *arguments)


def test_a_terminology_without_definitions_is_one_line(tiny_bert_folder, tmp_path, monkeypatch, capsys):
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--terminology", "toy"]
    with pytest.raises(SystemExit) as left:
        run_recipe(lambda: run(monkeypatch, *given))
    assert left.value.code == 2
    assert "no definitions" in capsys.readouterr().err.splitlines()[-1]


def test_passages_of_a_corpus_are_trained_on_and_recorded(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches a corpus that is read but not trained on, or not named on the card."""
    toy = Terminology.read("toy")
    (tmp_path / "texts.txt").write_text("".join(f"he had {name} for a week\n" for name in toy.strings[:60]))
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--corpus", tmp_path / "texts.txt"]
    run(monkeypatch, *given, "--shares", 1, 1, 1, 1, "--corpus_license", "CC0-1.0", "--text_form", "lines")
    train = Terminology.load(tmp_path / "out-training" / "terminology")
    passages = [row["text"] for row in train.definitions.to_pylist() if row["source"] == "PASSAGES"]
    assert "he had [MASK] for a week" in passages
    record = read_run(tmp_path / "out" / "run.json")
    assert [(corpus["files"], corpus["documents"], corpus["license"]) for corpus in record["corpora"]] == [
        (["texts.txt"], 60, "CC0-1.0")
    ]
    assert "count as definitions of its concept" in (tmp_path / "out" / "README.md").read_text("utf-8")


SEVERAL = (
    *(
        "--runs",
        2,
        "--smoke",
        "false",
        "--max_steps",
        4,
        "--per_device_train_batch_size",
        16,
        "--partners",
        1,
        1,
        1,
        0,
    ),
    *("--held_out_names", 0, "--eval_strategy", "no", "--save_strategy", "steps", "--save_steps", 2),
    *("--learning_rate", 1e-3, "--average", 0.5, "--logging_steps", 2),
)


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


def test_a_run_starts_from_the_base_and_not_from_the_run_before_it(averaged: Path, tiny_bert_folder: Path, tmp_path):
    """Catches weights, losses or random states that the first run leaves to the second."""
    with pytest.MonkeyPatch.context() as patch:
        given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
        run(patch, *given, "--runs", 1, "--seed", 43)
    alone = weights(Path(f"{tmp_path / 'out'}-training") / "phases" / "run-1")
    for name, tensor in weights(Path(f"{averaged}-training") / "phases" / "run-2").items():
        torch.testing.assert_close(tensor, alone[name])


def test_an_interrupted_command_continues_in_its_second_run(averaged: Path, tiny_bert_folder: Path, tmp_path):
    """Catches a finished run that is trained again, and a resumed one that differs from the unbroken one."""
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
    real, started = st_biomed.training.phases.train_encoder, []

    def interrupted(*arguments, **options):
        started.append(Path(arguments[2].output_dir).name)
        if len(started) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "train_encoder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(patch, *given)
        run(patch, *given, "--resume_from_checkpoint", "true")
    assert started == ["run-1-training", "run-2-training", "run-2-training"]
    for name, tensor in weights(averaged).items():
        torch.testing.assert_close(weights(tmp_path / "out")[name], tensor)


def test_the_runs_share_the_vectors_of_their_teacher(tiny_bert_folder: Path, tmp_path: Path):
    """Catches texts, and the sample of the mean, that each run embeds again, and what finished runs embed for nothing."""
    (tmp_path / "texts.txt").write_text("".join(f"line {i} of other texts\n" for i in range(20)))
    raw = ("--distilled_texts", tmp_path / "texts.txt", "--text_form", "lines", "--distillation_removed", 1)
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL, *raw)
    parts = (*open_encoder.PARTS, "texts")
    embedded: list[str] = []
    samples: list[int] = []
    real, fit = TeacherVectors._halved, AllButTheTop.fit

    def halved(teacher: TeacherVectors, texts: list[str]):
        embedded.extend(texts)
        return real(teacher, texts)

    def fitted(vectors, removed: int):
        samples.append(len(vectors))
        return fit(vectors, removed)

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TeacherVectors, "_halved", halved)
        patch.setattr(AllButTheTop, "fit", fitted)
        with pytest.MonkeyPatch.context() as once:
            once.setattr(open_encoder, "average_encoders", interrupted)
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


def test_a_run_goes_on_from_its_checkpoint(averaged: Path, tiny_bert_folder: Path, tmp_path, capsys):
    """Catches a run that begins anew, and steps, shares of parts or random states that are lost with the process."""
    given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *SEVERAL)
    real, started = st_biomed.training.phases.train_encoder, []

    def interrupted(*arguments, **options):
        started.append(Path(arguments[2].output_dir).name)
        return real(*arguments, *([_Stops()] if len(started) == 1 else []), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_biomed.training.phases, "train_encoder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(patch, *given)
        run(patch, *given, "--resume_from_checkpoint", "true")
    assert started == ["run-1-training", "run-1-training", "run-2-training"]
    assert re.search(r"going on from .*run-1-training/checkpoint-2$", capsys.readouterr().out, re.MULTILINE)
    for name, tensor in weights(averaged).items():
        torch.testing.assert_close(weights(tmp_path / "out")[name], tensor)
