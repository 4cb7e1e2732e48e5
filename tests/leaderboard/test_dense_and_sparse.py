"""BioSyn's score, against its formula."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.entity_linking.folds import FoldsEvaluator
from st_biomed.leaderboard.dense_and_sparse import dense_and_sparse, read_sparse_weight
from st_biomed.leaderboard.models import LoadedModel, ModelSpec

LINKING = Path(__file__).parents[1] / "fixtures" / "linking" / "ncbi_disease"
NAMES = ["flumpa disease", "terk of the zorb", "gradtha"]


def dense(texts):
    return np.array([[len(text), text.count("a")] for text in texts], dtype=np.float64)


def test_the_inner_product_is_the_sum_of_both_scores():
    """Would catch a weight that is squared, and n-grams of the mentions that change the fit."""
    embed = dense_and_sparse(dense, NAMES, 0.7)
    mentions = ["flumpas", "the zorb"]
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(NAMES)
    sparse = (vectorizer.transform(mentions) @ vectorizer.transform(NAMES).T).toarray()
    expected = dense(mentions) @ dense(NAMES).T + 0.7 * sparse
    np.testing.assert_allclose(embed(mentions) @ embed(NAMES).T, expected, rtol=1e-5)


@pytest.fixture
def biosyn(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiny_bert_folder, tmp_path / "biosyn")
    torch.save(torch.nn.Parameter(torch.tensor([0.25])), tmp_path / "biosyn" / "sparse_weight.pt")
    return tmp_path / "biosyn"


def test_a_model_is_measured_by_it_in_linking_as_published(biosyn: Path):
    settings = {"format": "ncbi_disease", "path": str(LINKING), "dictionary": str(LINKING / "medic.txt")}
    protocol = Benchmark("zorb", "entity_linking", settings).evaluator_settings()
    (published,), (sound,) = protocol.evaluators(as_published=True), protocol.evaluators()
    with_sparse = LoadedModel(ModelSpec("BioSyn", str(biosyn), sparse=True))
    without = LoadedModel(ModelSpec("dense", str(biosyn)))
    assert with_sparse.digest != without.digest  # else the figures of one are taken for the other's
    assert with_sparse.measure(published)["zorb_acc@1"] >= without.measure(published)["zorb_acc@1"]
    scores = published.predictions.scores
    with_sparse.measure(published)
    assert (published.predictions.scores > scores).any()
    with pytest.raises(InputError, match="BioSyn: its score is an inner product, found similarity 'cosine'"):
        with_sparse.measure(sound)


def test_folds_are_measured_by_it_too(biosyn: Path):
    """Catches dense scores alone in the folds of a cross-validation, and n-grams of another fold's names."""
    settings = {"format": "ncbi_disease", "path": str(LINKING), "dictionary": str(LINKING / "medic.txt")}
    protocol = Benchmark("zorb", "entity_linking", settings).evaluator_settings()
    model = LoadedModel(ModelSpec("BioSyn", str(biosyn), sparse=True))
    (single,), (sound,) = protocol.evaluators(as_published=True), protocol.evaluators()
    metrics = model.measure(single)
    folds = FoldsEvaluator([*protocol.evaluators(as_published=True)], name="zorb")
    assert model.measure(folds)["zorb_acc@1"] == metrics["zorb_acc@1"]
    assert (folds.folds[0].predictions.scores == single.predictions.scores).all()
    assert folds.units["acc@1"].value == metrics["zorb_acc@1"]
    with pytest.raises(InputError, match="BioSyn: its score is an inner product"):
        model.measure(FoldsEvaluator([sound]))


def test_a_weight_that_is_none_is_refused(biosyn: Path, tmp_path: Path):
    assert read_sparse_weight(str(biosyn)) == 0.25
    (biosyn / "sparse_weight.pt").write_bytes(b"no weight")
    with pytest.raises(InputError, match="sparse_weight.pt: does not contain a single number"):
        read_sparse_weight(str(biosyn))
    (biosyn / "sparse_weight.pt").unlink()
    with pytest.raises(InputError, match="no such file; a BioSyn model has"):
        read_sparse_weight(str(biosyn))
    with pytest.raises(InputError, match="no-such/model: sparse_weight.pt cannot be loaded"):
        read_sparse_weight("no-such/model")
    with pytest.raises(InputError, match="sparse weight must be at least 0, found -1"):
        dense_and_sparse(dense, NAMES, -1)
