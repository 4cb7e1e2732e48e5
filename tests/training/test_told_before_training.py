"""The steps before training: what a person is told of a terminology and a base model that do not fit each other."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import BertTokenizerFast

from st_biomed.encoder.case import ignores_case
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training.encoder_run import evaluate_base_model

SOURCE = SourceInfo("A", "A", license="CC0-1.0", redistributable=True)
APART = Terminology.from_records([SOURCE, Term("A:1", "Acute disease"), Term("A:2", "acute disease")], SOURCE)
TOGETHER = Terminology.from_records([SOURCE, Term("A:1", "acute disease"), Term("A:2", "disease")], SOURCE)


@pytest.fixture
def cased(tiny_bert_folder: Path, tmp_path: Path) -> SentenceTransformer:
    """The tiny encoder with a tokenizer that keeps case."""
    folder = shutil.copytree(tiny_bert_folder, tmp_path / "cased")
    pieces = SentenceTransformer(str(folder), device="cpu").tokenizer.get_vocab()
    (tmp_path / "vocab.txt").write_text("\n".join(sorted(pieces, key=pieces.__getitem__)) + "\n", "utf-8")
    tokenizer = BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"), do_lower_case=False, model_max_length=32)
    tokenizer.save_pretrained(folder)
    return SentenceTransformer(str(folder), device="cpu")


def told(model: SentenceTransformer, train: Terminology | None, folder: Path) -> list[str]:
    """The warnings before training."""
    training = SentenceTransformerTrainingArguments(output_dir=str(folder), report_to="none", use_cpu=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert evaluate_base_model(EvaluatorSuite([]), model, training, train) == {}
    return [str(warning.message) for warning in caught if "terminology" in str(warning.message)]


def test_names_that_the_model_cannot_tell_apart_are_told_with_the_remedy(tiny_bert: SentenceTransformer, tmp_path):
    """Catches terminologies that are merged into negatives with the same tokens, in silence."""
    (line,) = told(tiny_bert, APART, tmp_path)
    assert line.startswith("terminology: 2 names equal a name of another concept but for case")
    assert "--normalize lower" in line and "\n" not in line
    assert not told(tiny_bert, TOGETHER, tmp_path) and not told(tiny_bert, None, tmp_path)


def test_a_model_that_tells_case_apart_is_told_nothing(cased: SentenceTransformer, tmp_path: Path):
    assert not ignores_case(cased)
    assert not told(cased, APART, tmp_path)
