"""The open encoder's recipe, shrunk: four parts together, held near the base model, in one run or several, averaged and released."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments

from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.release.run_data import read_run
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
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
    assert list(record["batches"]) == list(open_encoder.PARTS) and all(record["batches"].values())
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
            ["--alone", "texts"],
            "alone: none, or different ones of synonyms hierarchy relations definitions are possible, found texts",
        ),
        (["--alone", "hierarchy", "hierarchy"], "alone: none, or different ones of"),
        (["--alone_steps", "3"], "alone_steps: is not used with alone none"),
        (["--alone", "hierarchy", "--alone_weight", "1e308"], "alone_weight must be above 0 and at most 1000"),
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


def test_the_corpus_of_a_configuration_gives_way_to_later_parts():
    """Catches a corpus of a file that has to be taken back by hand, and one that is dropped without a later choice."""
    settings = OpenEncoderArguments, SentenceTransformerTrainingArguments
    english = str(CONFIGS / "open_encoder_english.yaml")
    for arguments, corpus in (
        (["--parts", "synonyms", "hierarchy", "--shares", "1", "1"], []),
        (["--parts", "definitions", "--shares", "1"], ["out/open_texts.jsonl"]),
        (["--corpus", "x", "--parts", "synonyms", "--shares", "1"], ["x"]),
    ):
        recipe, _ = read_settings(settings, [english, *arguments])
        open_encoder.without_none(recipe)
        assert recipe.corpus == corpus
        if not corpus:
            open_encoder.check(recipe)


def test_a_terminology_without_definitions_is_one_line(tiny_bert_folder, tmp_path, monkeypatch, capsys):
    given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--terminology", "toy"]
    with pytest.raises(SystemExit) as left:
        run_recipe(lambda: run(monkeypatch, *given))
    assert left.value.code == 2
    assert "no definitions" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.long
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
