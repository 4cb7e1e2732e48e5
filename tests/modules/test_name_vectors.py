"""A table of vectors as a model's first module: looking up, training with sentence-transformers' trainer, saving, refusing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch import nn

from st_biomed.errors import InputError
from st_biomed.modules.name_vectors import NameVectors
from st_biomed.modules.residual_feed_forward import ResidualFeedForward

NAMES = ["flu", "acute flu", "zoster", "Zoster", "glorp of the ear", ""]
VECTORS = np.random.default_rng(0).normal(size=(6, 4))


@pytest.fixture
def table() -> NameVectors:
    return NameVectors(NAMES, VECTORS)


def test_a_name_has_its_row_in_any_order(table):
    """Catches encode's sorting by length, and names that are lower-cased."""
    model = SentenceTransformer(modules=[table], device="cpu")
    order = ["zoster", "Zoster", "", "flu", "flu"]
    expected = VECTORS.astype(np.float32)[[2, 3, 5, 0, 0]]
    assert np.array_equal(model.encode(order, batch_size=2), expected)
    assert np.array_equal(model.encode("flu"), expected[3])
    found = table.preprocess(order)["sentence_embedding"]
    assert found.dtype == torch.float32 and np.array_equal(found, expected)
    assert model.get_embedding_dimension() == 4 and not list(model.parameters())


def test_nothing_writes_into_the_table(table):
    """Catches a row handed out as it lies there, and a table that is the caller's own memory."""
    table.preprocess(["flu"])["sentence_embedding"].zero_()
    own = torch.ones(1, 2)
    other = NameVectors(["a"], own)
    own.zero_()
    assert table.vectors[0].all() and other.vectors.all()


def test_an_unknown_name_is_named(table):
    with pytest.raises(InputError, match="no vector for 'Flu': it is not among the 6 names of the table"):
        table.preprocess(["flu", "Flu"])
    with pytest.raises(InputError, match=r"no vector for \['flu', 'zoster'\]"):
        table.preprocess([["flu", "zoster"]])
    with pytest.raises(InputError, match="no vector for 'query: flu'"):
        table.preprocess(["flu"], prompt="query: ")


@pytest.mark.parametrize(
    ("names", "vectors", "message"),
    [
        ([], np.ones((0, 2)), r"vectors: expected \[0, D\] for as many names, found shape \[0, 2\]"),
        (["a", "b"], np.ones((1, 2)), r"expected \[2, D\] for as many names, found shape \[1, 2\]"),
        (["a", "b"], np.ones(2), r"found shape \[2\]"),
        (["a", "b", "a"], np.ones((3, 2)), "names: 'a' occurs twice, as entries 1 and 3"),
        (["a", 7], np.ones((2, 2)), "names: entry 2 must be a string, found 7"),
        (["a", "b"], [[1.0, 1.0], [np.nan, 1.0]], "vectors: 1 of 2 have NaN or infinity, the first of 'b'"),
        (["a", "b"], np.array([[1e39, 1.0], [1.0, 1.0]]), "1 of 2 have NaN or infinity, the first of 'a'"),
        (["a", "b"], [[1.0, 1.0], [0.0, 0.0]], "1 of 2 have zeros alone, .* the first of 'b'"),
    ],
)
def test_wrong_tables(names, vectors, message):
    with pytest.raises(InputError, match=message):
        NameVectors(names, vectors)
    assert NameVectors(["a"], [[0.0, 1.0]]).vectors.tolist() == [[0.0, 1.0]]


def test_saved_copied_and_pickled_it_is_the_same(table, tmp_path):
    model = SentenceTransformer(modules=[table, ResidualFeedForward(4, 6)], device="cpu")
    expected = model.encode(NAMES)
    model.save_pretrained(str(tmp_path), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other[0].names == NAMES and np.array_equal(other.encode(NAMES), expected)
    (tmp_path / "names.json").unlink()
    with pytest.raises(InputError, match="no table of names, names.json is missing"):
        NameVectors.load(str(tmp_path))


class Pull(nn.Module):
    """Moves every vector towards one of its class."""

    def __init__(self, model: SentenceTransformer, targets: torch.Tensor) -> None:
        super().__init__()
        self.model, self.targets = model, targets

    def forward(self, features, labels):
        return (self.model(features[0])["sentence_embedding"] - self.targets[labels]).square().mean()


def trainer(folder: str, epochs: int) -> SentenceTransformerTrainer:
    torch.manual_seed(0)
    model = SentenceTransformer(modules=[NameVectors(NAMES, VECTORS), ResidualFeedForward(4, 16, 0.0)], device="cpu")
    rows = Dataset.from_dict({"text": NAMES[:5], "label": [0, 0, 1, 1, 0]})
    arguments = SentenceTransformerTrainingArguments(
        output_dir=folder,
        num_train_epochs=epochs,
        per_device_train_batch_size=2,
        learning_rate=3e-2,
        lr_scheduler_type="constant",
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        logging_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    loss = Pull(model, torch.eye(4)[:2])
    return SentenceTransformerTrainer(model, arguments, train_dataset=rows, eval_dataset=rows, loss=loss)


def test_the_hosts_trainer_trains_saves_and_goes_on(tmp_path):
    """Catches features that are moved or trimmed, a table that is trained, and checkpoints that cannot be resumed."""
    whole = trainer(str(tmp_path / "whole"), 3)
    before = whole.evaluate()["eval_loss"]
    whole.train()
    assert whole.evaluate()["eval_loss"] < before / 2
    assert np.array_equal(whole.model[0].vectors, VECTORS.astype(np.float32))
    first, *_ = sorted((tmp_path / "whole").glob("checkpoint-*"))
    again = trainer(str(tmp_path / "again"), 3)
    again.train(resume_from_checkpoint=str(first))
    np.testing.assert_allclose(again.model.encode(NAMES), whole.model.encode(NAMES), atol=1e-6)
