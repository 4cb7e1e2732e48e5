"""Texts are cut in training; a model is measured, saved and released with its own limit."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor

from st_biomed.encoder.text_limit import limited_preprocess, text_limit
from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.encoder_run import record_run, train_encoder
from st_biomed.training.teacher import TeacherVectors

LONG = "acute disease of the heart with chronic disease of the liver and the kidney"


def n_tokens(features: dict[str, Any]) -> int:
    ids = features["input_ids"]
    assert isinstance(ids, Tensor)
    return ids.shape[-1]


def test_the_limit_ends_with_the_block(tiny_bert: SentenceTransformer) -> None:
    own = tiny_bert.max_seq_length
    whole = n_tokens(tiny_bert.preprocess([LONG]))
    with pytest.raises(RuntimeError), text_limit(tiny_bert, 5):
        assert n_tokens(tiny_bert.preprocess([LONG])) == 5 < whole
        raise RuntimeError
    with text_limit(tiny_bert, None):
        assert tiny_bert.max_seq_length == own
    assert n_tokens(limited_preprocess(tiny_bert, 6)([LONG])) == 6
    assert tiny_bert.max_seq_length == own and n_tokens(tiny_bert.preprocess([LONG])) == whole
    with (
        pytest.raises(InputError, match="max_length must leave room for a token between .*, found 2"),
        text_limit(tiny_bert, 2),
    ):
        pass


def test_a_worker_of_the_data_loader_gets_the_limit(tiny_bert: SentenceTransformer) -> None:
    """Catches what spawned workers cannot unpickle."""
    limited = limited_preprocess(tiny_bert, 6)
    there = pickle.loads(pickle.dumps(limited))
    assert there([LONG])["input_ids"].tolist() == limited([LONG])["input_ids"].tolist()
    assert n_tokens(there([LONG])) == 6


def test_options_of_the_host_do_not_collide_with_the_limit() -> None:
    """Catches a collator of a later sentence-transformers that says ``max_length`` itself."""
    model: Any = SimpleNamespace(preprocess=lambda texts, **options: {"texts": texts, **options})
    assert limited_preprocess(model, None)(["flu"], max_length=9) == {"texts": ["flu"], "max_length": 9}


def test_training_cuts_its_texts_and_nothing_else(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a release that cuts the names of its users, and a training that does not cut."""
    recipe = EncoderArguments(base_model=str(tiny_bert_folder), pooling="own", max_length=6)
    model = recipe.encoder()
    own = SentenceTransformer(str(tiny_bert_folder), device="cpu").max_seq_length
    assert model.max_seq_length == own and own is not None and own > 6
    lengths: list[int] = []
    step = SentenceTransformerTrainer.compute_loss

    def seen(self: Any, model: Any, inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
        lengths.append(inputs["text_input_ids"].shape[-1])
        return step(self, model, inputs, *args, **options)

    monkeypatch.setattr(SentenceTransformerTrainer, "compute_loss", seen)
    training = SentenceTransformerTrainingArguments(
        str(tmp_path), use_cpu=True, max_steps=2, per_device_train_batch_size=4, save_steps=1, report_to="none"
    )
    rows = Dataset.from_dict({"text": [LONG, f"{LONG} of the heart", "zoster", LONG] * 2, "label": [0, 0, 1, 1] * 2})
    loss = MultiSimilarityLoss(model)
    train_encoder(
        model, recipe, training, rows, loss, record_run("r", recipe, training, {"names": loss}, terminologies=[])
    )
    assert lengths == [6, 6] and model.max_seq_length == own
    assert SentenceTransformer(str(tmp_path / "checkpoint-1"), device="cpu").max_seq_length == own


def test_a_teacher_reads_what_training_reads(tiny_bert: SentenceTransformer) -> None:
    """Catches a student that is held near the vector of words that it never sees."""
    with text_limit(tiny_bert, 6):
        cut = tiny_bert.encode([LONG])
    found = TeacherVectors(tiny_bert, [LONG], max_length=6)[:]
    np.testing.assert_allclose(found, cut, atol=2e-3)
    assert np.abs(TeacherVectors(tiny_bert, [LONG])[:] - cut).max() > 1e-2
