"""Fine-tuning on a linking data set, shrunk."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from recipes import sapbert_finetune
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.linking_data import open_linking
from st_biomed.release.privacy import check_training_arguments
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology

CONFIG = Path(sapbert_finetune.__file__).parent / "configs" / "sapbert_finetune_paper.yaml"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"
PROTOCOL = """
name: zorb
evaluator: entity_linking
settings:
  format: ncbi_disease
  path: ncbi_disease
  dictionary: ncbi_disease/medic.txt
  steps: {lower_case: {}, merge_names: {}}
  seen: [train]
"""


FOLDS = """
name: zorb
evaluator: entity_linking
settings:
  format: folds
  path: coder_folds
  options: {columns: [id, mention], pattern: "fold_{fold}/{split}.txt", names: "fold_{fold}/standard.txt", quoted: true}
  folds: [1, 2]
  ks: [1, 3]
  dev: ''
  seen: [train]
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tiny_bert_folder: Path, tmp_path: Path):
    def call(*arguments: object, protocol: str = PROTOCOL) -> Path:
        monkeypatch.setenv("ST_BIOMED_DATA", str(FIXTURES))
        (tmp_path / "zorb.yaml").write_text(protocol)
        folders = ["--linking", tmp_path / "zorb.yaml", "--output_dir", tmp_path / "out"]
        given = [CONFIG, "--base_model", tiny_bert_folder, *folders, "--smoke", "true", *arguments]
        monkeypatch.setattr(sys, "argv", ["sapbert_finetune.py", *map(str, given)])
        run_recipe(sapbert_finetune.main)
        return tmp_path / "out"

    return call


@pytest.mark.long
def test_the_curve_of_a_given_share_is_measured_on_dev(run):
    """Catches a dev split that only a chosen share or an evaluation in training would measure."""
    record = json.loads((run("--average", 0.5, "--average_curve", "true") / "run.json").read_text("utf-8"))
    assert len(record["averaging"]["curve"]) > 2 and not record["averaging"]["chosen"]


def test_raw_prepared_and_refined_figures_are_reported(run, capsys: pytest.CaptureFixture[str]):
    """Catches one figure of which nobody can tell what was done to the mentions."""
    folder = run("--save_strategy", "steps", "--save_steps", 1)
    record = json.loads((folder / "run.json").read_text())
    assert set(record["results"]) == {"zorb_raw", "zorb"}
    assert "zorb_refined_acc@1" in record["results"]["zorb"]["after"]
    assert "zorb (test, 5 mentions)" in capsys.readouterr().out
    assert SentenceTransformer(str(folder), device="cpu").encode(["flumpa"]).shape == (1, 16)


def test_no_test_mention_is_trained_on(run):
    """Catches mentions of the test split among the names that are trained on."""
    folder = run("--save_strategy", "steps", "--save_steps", 1).with_name("out-training")
    terms = set(Terminology.load(folder / "terminology").strings)
    test = sapbert_finetune.LinkingSettings(
        "zorb", "ncbi_disease", str(FIXTURES / "ncbi_disease"), str(FIXTURES / "ncbi_disease" / "medic.txt")
    ).open()
    unseen = {mention.text.lower() for mention in test.split("test")} - set(map(str.lower, test.dictionary.names))
    unseen -= {mention.text.lower() for mention in test.split("train")}
    assert unseen and not unseen & terms
    check_training_arguments(next(folder.glob("checkpoint-*")) / "training_args.bin", [])


def mentions_of(fold: int, split: str) -> set[str]:
    dataset = open_linking(
        "folds",
        FIXTURES / "coder_folds",
        fold=fold,
        columns="id,mention",
        pattern="fold_{fold}/{split}.txt",
        names="fold_{fold}/standard.txt",
        quoted=True,
    )
    return {mention.text for mention in dataset.split(split)}


@pytest.mark.long
def test_each_fold_is_trained_and_measured_by_itself(run, capsys: pytest.CaptureFixture[str]):
    """Catches the first fold's training part under the test parts of all: a fold's test mentions are in the others'."""
    folder = run("--save_strategy", "steps", "--save_steps", 1, protocol=FOLDS)
    for fold in (1, 2):
        terms = set(Terminology.load(folder / f"fold-{fold}-training" / "terminology").strings)
        assert mentions_of(fold, "train") <= terms
        assert not mentions_of(fold, "test") & terms
        record = json.loads((folder / f"fold-{fold}" / "run.json").read_text())
        assert record["configuration"]["fold"] == fold
        assert record["results"]["zorb"]["after"]["zorb_n_mentions"] == len(mentions_of(fold, "test"))
        assert SentenceTransformer(str(folder / f"fold-{fold}"), device="cpu").encode(["flumpa"]).shape == (1, 16)
    printed = capsys.readouterr().out
    table = printed[printed.index("zorb, mean of 2 folds") :].splitlines()
    assert table[1].split() == ["before", "after", "change"]
    assert table[2].split()[0] == "acc@1"


def test_one_fold_may_be_asked_for(run):
    folder = run("--fold", 2, protocol=FOLDS)
    record = json.loads((folder / "run.json").read_text())
    assert record["configuration"]["fold"] == 2
    assert record["results"]["zorb"]["after"]["zorb_n_mentions"] == len(mentions_of(2, "test"))
    assert not (folder / "fold-2").exists()


@pytest.mark.parametrize(
    ("arguments", "protocol", "message"),
    [
        (["--fold", 3], FOLDS, "fold: zorb has 1, 2, found 3"),
        (["--fold", 1], PROTOCOL, "fold: data sets of format 'ncbi_disease' have no folds, found 1"),
        (
            ["--push_to_hub", "me/zorb"],
            FOLDS,
            "push_to_hub: zorb has 2 folds; name one with its folder, e.g. --fold 1 --output_dir ",
        ),
        (
            ["--resume_from_checkpoint", "true"],
            FOLDS,
            "resume_from_checkpoint: zorb has 2 folds; name one with its folder, e.g. --fold 1 --output_dir ",
        ),
        ([], FOLDS.replace("[1, 2]", "[1, 7]"), "fold_7/standard.txt: no such file"),
        (["--base_model", "no/thing"], FOLDS.replace("[1, 2]", "[1, 7]"), "base model 'no/thing' is not a local"),
    ],
)
def test_what_a_fold_lacks_is_said_before_the_first_training(
    run, capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[object], protocol: str, message: str
):
    """Catches an hour of training in front of an error."""
    with pytest.raises(SystemExit):
        run(*arguments, protocol=protocol)
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_back_off_finds_training_mentions(run, tmp_path: Path):
    """Catches an option that changes nothing; the test mentions are those of training here, which it has to find."""
    results, data = {}, Path(shutil.copytree(FIXTURES / "ncbi_disease", tmp_path / "data"))
    shutil.copy(data / "NCBItrainset_corpus.txt", data / "NCBItestset_corpus.txt")
    for back_off in ("false", "true"):
        of_train = PROTOCOL.replace("path: ncbi_disease", f"path: {data}")
        folder = run("--back_off", back_off, "--overwrite", "true", protocol=of_train)
        results[back_off] = json.loads((folder / "run.json").read_text())["results"]["zorb"]["before"]
    assert results["true"]["zorb_exact_match_acc@1"] > results["false"]["zorb_exact_match_acc@1"]


@pytest.mark.parametrize(("form", "epochs"), [("askapatient", 15), ("cometa", 10), ("ncbi_disease", 3)])
@pytest.mark.parametrize("given", [None, 3, 7])
def test_epochs_are_the_papers_unless_given(
    form: str, epochs: int, given: int | None, run, monkeypatch: pytest.MonkeyPatch
):
    """Catches a number that is given and is the library's default, taken for none."""
    found: list[float] = []

    def epochs_of(recipe, protocol, training) -> list[int]:
        found.append(training.num_train_epochs)
        return []

    monkeypatch.setattr(sapbert_finetune, "folds_to_train", epochs_of)
    run(
        *(() if given is None else ("--num_train_epochs", given)),
        protocol=PROTOCOL.replace("ncbi_disease\n", f"{form}\n", 1),
    )
    assert found == [given or epochs]


def test_a_benchmark_of_one_fold_is_not_trained_on_another():
    """Catches figures of fold 3 under the name of fold 0."""
    recipe, training = read_settings(
        (sapbert_finetune.FinetuningArguments, sapbert_finetune.FinetuningTraining),
        [str(CONFIG), "--linking", "askapatient_fold0", "--fold", "3"],
    )
    protocol = read_benchmark_settings("askapatient_fold0", LinkingSettings)
    with pytest.raises(InputError, match="fold: askapatient-fold0 is fold 0 alone, found 3"):
        sapbert_finetune.folds_to_train(recipe, protocol, training)
    recipe.fold = 0
    assert sapbert_finetune.folds_to_train(recipe, protocol, training) == [0]


def test_the_configuration_is_made_of_arguments():
    arguments = [str(CONFIG), "--linking", "ncbi_disease", "--bf16", "false"]
    recipe, training = read_settings(
        (sapbert_finetune.FinetuningArguments, sapbert_finetune.FinetuningTraining), arguments
    )
    assert (recipe.loss, training.per_device_train_batch_size) == ("ms", 128)


def test_bad_input_is_one_line(run, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        run("--linking", "nowhere.yaml")
    assert capsys.readouterr().err.splitlines()[-1] == (
        "error: nowhere.yaml: no such file; expected a YAML file of a benchmark"
    )
    with pytest.raises(SystemExit):
        run("--train_splits", "training")
    assert "no split 'training'; available are 'train', 'dev', 'test'" in capsys.readouterr().err.splitlines()[-1]


def test_a_data_set_without_a_dev_split_is_trained_without_one(run, capsys: pytest.CaptureFixture[str]):
    """Catches settings that measure every epoch, and a trainer that ends for want of something to measure by."""
    folder = run(protocol=PROTOCOL.replace("seen: [train]", "dev: ''\n  seen: [train]"))
    assert (folder / "run.json").is_file()
    assert "no benchmark has a dev split: nothing is measured in training" in capsys.readouterr().out


def test_the_way_of_biosyn_draws_mentions_with_their_nearest_names(run, monkeypatch: pytest.MonkeyPatch):
    """Catches names as anchors, mentions as candidates, batches of pairs, and neighbors that nobody finds."""
    monkeypatch.setattr(sys.modules[__name__], "CONFIG", CONFIG.with_name("sapbert_finetune_biosyn.yaml"))
    seen = []
    begin = sapbert_finetune.train_encoder

    def watched(model, recipe, training, rows, loss, record, *callbacks, **options):
        trainer = begin(model, recipe, training, rows, loss, record, *callbacks, **options)
        seen.append((rows, loss, training.batch_sampler, trainer.state.global_step))
        return trainer

    monkeypatch.setattr(sapbert_finetune, "train_encoder", watched)
    record = json.loads((run("--loss_options", "scale=20") / "run.json").read_text())
    ((rows, loss, plan, steps),) = seen
    assert rows.column_names == ["text", "label"] and steps == 2 and loss.scale == 20 and loss.miner is None
    assert (plan.prototypes, plan.positives, plan.neighbors) == (2, 1, 2)
    assert (plan.prototype_sources, plan.candidate_sources) == (("NCBI-DISEASE",), ("NCBI-DISEASE_DICTIONARY",))
    both = loss.mentions & loss.names
    assert (
        loss.mentions.sum() + loss.names.sum() - both.sum() == len(rows) and 0 < loss.mentions.sum() < loss.names.sum()
    )
    assert record["configuration"]["loss"] == "marginal" and set(record["results"]) == {"zorb_raw", "zorb"}


def test_the_measured_split_is_not_trained_on(run, capsys: pytest.CaptureFixture[str]):
    """Catches a test figure of mentions that were trained on."""
    with pytest.raises(SystemExit):
        run("--train_splits", "train", "test")
    assert "train_splits: test is measured, and would be trained on; leave it out" in capsys.readouterr().err
