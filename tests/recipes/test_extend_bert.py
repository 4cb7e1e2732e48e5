"""The vocabulary recipe, shrunk: what it leaves behind and what a person is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM, AutoTokenizer

from recipes import extend_bert
from st_biomed.errors import InputError
from st_biomed.release.run_data import read_run
from st_biomed.terminology import Terminology

SMOKE = str(Path(extend_bert.__file__).parent / "configs" / "extend_bert_smoke.yaml")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    names = Terminology.read("toy").strings
    path = tmp_path / "texts" / "corpus.txt"
    path.parent.mkdir()
    path.write_text("".join(f"flumpaterkia with {name} of flumpaterkia.\n" for name in names[:20]), encoding="utf-8")
    return path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tiny_bert_folder: Path, tmp_path: Path):
    def call(*arguments: object) -> Path:
        given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", *arguments]
        monkeypatch.setattr(sys, "argv", ["extend_bert.py", SMOKE, *map(str, given)])
        extend_bert.main()
        return tmp_path / "out"

    return call


def test_the_model_loads_with_its_new_pieces(run, corpus: Path, tiny_bert_folder: Path):
    """Catches a tokenizer saved beside another model, and a run that leaves no record."""
    folder = run("--corpus", corpus, "--terminology", "toy", "--language", "en")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder)
    assert tokenizer.tokenize("flumpaterkia") == ["flumpaterkia"]
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)
    assert len(tokenizer) > len(AutoTokenizer.from_pretrained(tiny_bert_folder))
    results = read_run(folder / "run.json")["results"]["held-out documents"]
    assert set(results) == {"before", "after"} and results["before"] != results["after"]
    record = json.loads((folder / "corpus.json").read_text())
    assert record["corpus"]["mentions"] >= 20 and 0 < record["vocabulary"]["derived_share"] <= 1
    assert SentenceTransformer(str(folder), device="cpu").encode("flumpaterkia").shape == (16,)


def test_a_base_model_without_a_head_is_refused(run, corpus: Path):
    with pytest.raises(InputError, match="a trained head for masked tokens is needed"):
        run("--corpus", corpus, "--new_head", "false")


def test_without_a_terminology_and_without_pieces(run, corpus: Path):
    folder = run("--corpus", corpus.parent, "--vocabulary_size", 0)
    record = json.loads((folder / "corpus.json").read_text())
    assert "vocabulary" not in record and record["corpus"]["mentions"] == 0
    with pytest.raises(InputError, match="already contains a release; .* --overwrite"):
        run("--corpus", corpus)


def test_what_is_refused(run, corpus: Path):
    for arguments, message in (
        ((), "corpus: files or folders"),
        (("--corpus", corpus, "--held_out", 1), "held_out must be above 0 and below 1"),
        (("--corpus", corpus, "--max_length", 2), "max_length must be at least 3, found 2"),
        (("--corpus", corpus, "--text_form", "files"), "two documents are needed"),
    ):
        with pytest.raises(InputError, match=message):
            run(*arguments)


def test_an_earlier_model_is_replaced_where_that_is_asked_for(run, corpus: Path):
    """Catches a model of this recipe that it does not take for its own."""
    folder = run("--corpus", corpus, "--vocabulary_size", 0)
    (folder / "marker").write_text("mine")
    with pytest.raises(InputError, match="contains marker in addition to a release"):
        run("--corpus", corpus, "--overwrite", "true")
    (folder / "marker").unlink()
    assert run("--corpus", corpus, "--overwrite", "true", "--seed", 5) == folder
    assert read_run(folder / "run.json")["seed"] == 5
    assert sorted(path.name for path in folder.parent.iterdir()) == ["out", "out-training", "texts"]


def test_a_run_is_not_resumed_with_other_settings_or_another_corpus(run, corpus: Path, tmp_path: Path):
    """Catches rows of the embedding that belong to the word pieces of another corpus."""
    begin = ("--corpus", corpus, "--save_strategy", "steps", "--save_steps", 1, "--smoke", "false", "--max_steps", 1)
    run(*begin, "--per_device_train_batch_size", 2)
    resume = ("--resume_from_checkpoint", tmp_path / "out-training" / "checkpoint-1", "--overwrite", "true")
    other = corpus.with_name("other.txt")
    other.write_text("zorbaterkia without any of them, in two documents.\n" * 30)
    for arguments, message in (
        (("--mlm_probability", 0.5), "was trained with mlm_probability 0.15, found 0.5"),
        (("--learning_rate", 1e-6), "was trained with learning_rate"),
        (("--corpus", other), "was trained with corpus"),
    ):
        with pytest.raises(InputError, match=message):
            run(*begin, "--per_device_train_batch_size", 2, *resume, *arguments)
