"""The teacher's table: embedded when a batch asks, the same whatever is asked for with a row, and out of the trainer's reach."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from datasets import Dataset
from datasets.arrow_dataset import Column

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import model_embedder
from st_biomed.losses.distilled import with_distillation
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.self_distillation import SelfDistillationLoss
from st_biomed.terminology import Terminology
from st_biomed.training.teacher import PIECE, TeacherVectors

TEXTS = Terminology.read("toy").strings


def embedded_texts(monkeypatch: pytest.MonkeyPatch, teacher: TeacherVectors) -> list[str]:
    """The texts that the teacher embeds from now on."""
    seen: list[str] = []
    embed = teacher._embedded
    monkeypatch.setattr(teacher, "_embedded", lambda texts: (seen.extend(texts), embed(texts))[1])
    return seen


def test_a_row_is_embedded_when_it_is_first_asked_for_and_never_again(tiny_bert, monkeypatch):
    """Catches texts that no batch has, and a table that forgets."""
    teacher = TeacherVectors(tiny_bert, TEXTS)
    seen = embedded_texts(monkeypatch, teacher)
    assert (teacher.ndim, len(teacher), teacher.shape, teacher.n_known) == (2, len(TEXTS), (len(TEXTS), 16), 0)
    first = teacher[np.array([[3, 1], [3, 8]])]
    assert first.shape == (2, 2, 16) and first.dtype == np.float16 and teacher.n_known == 3
    second = teacher[[8, 9]]
    assert sorted(seen) == sorted(TEXTS[i] for i in (1, 3, 8, 9))
    np.testing.assert_array_equal(second[0], first[1, 1])
    np.testing.assert_array_equal(teacher[3], first[0, 0])
    assert teacher[:0].shape == (0, 16) and len(seen) == 4
    with pytest.raises(IndexError):
        teacher[[len(TEXTS)]]


@pytest.mark.parametrize("bf16", [False, True])
def test_vectors_are_those_of_the_embedder(tiny_bert, bf16):
    """Catches rows that change places between passes, padding that is pooled, and dropout."""
    tiny_bert.train()
    found = TeacherVectors(tiny_bert, TEXTS, bf16=bf16)[:]
    expected = model_embedder(tiny_bert, bf16=bf16)(TEXTS)
    np.testing.assert_allclose(found, expected, atol=3e-2 if bf16 else 2e-3)
    in_full = TeacherVectors(tiny_bert, TEXTS)[:]
    assert np.array_equal(found, in_full) != bf16, "the precision that was asked for"


@pytest.mark.long
@pytest.mark.parametrize("bf16", [False, True])
def test_a_vector_does_not_depend_on_the_texts_beside_it(tiny_bert, bf16):
    """Catches rows that get the vectors of others: a resumed run asks in another order."""
    whole = TeacherVectors(tiny_bert, TEXTS, bf16=bf16)[:]
    rng = np.random.default_rng(2)
    for pieces in (len(TEXTS), 17):
        teacher = TeacherVectors(tiny_bert, TEXTS, bf16=bf16)
        for rows in np.array_split(rng.permutation(len(TEXTS)), pieces):
            teacher[rows]
        np.testing.assert_allclose(teacher[:], whole, atol=3e-2 if bf16 else 2e-3)


def test_pieces_have_the_same_vectors(tiny_bert, monkeypatch):
    """Catches pieces that change places, and a last one that is left out."""
    monkeypatch.setattr("st_biomed.training.teacher.PIECE", 50)
    np.testing.assert_allclose(TeacherVectors(tiny_bert, TEXTS)[:], tiny_bert.encode(TEXTS), atol=2e-3)


@pytest.mark.parametrize("removed", [None, 1])
def test_a_column_of_a_dataset_is_read_once_for_a_batch(removed, tiny_bert, monkeypatch):
    """Catches texts that are read row by row (a tenth of a millisecond each), and in another order than asked for."""
    order = np.random.default_rng(0).permutation(len(TEXTS))
    rows = Dataset.from_dict({"text": [TEXTS[i] for i in np.argsort(order)], "label": range(len(TEXTS))}).select(order)
    column, listed = rows["text"], TeacherVectors(tiny_bert, TEXTS, removed=removed)
    assert isinstance(column, Column) and list(column) == TEXTS
    teacher = TeacherVectors(tiny_bert, column, removed=removed)
    reads, read = [], Column.__getitem__
    monkeypatch.setattr(Column, "__getitem__", lambda self, key: (reads.append(key), read(self, key))[1])
    for wanted in (np.array([9, 2, 70, 2]), np.arange(5, 105)):
        np.testing.assert_array_equal(teacher[wanted], listed[wanted])
    assert len(reads) == 2 + (removed is not None)
    np.testing.assert_allclose(teacher[:], listed[:], atol=2e-3)


def test_the_whole_table_takes_no_memory_beside_the_table(tiny_bert, monkeypatch):
    """Catches the vectors of all texts in float32, and a copy of the table."""
    n = 20_000
    teacher = TeacherVectors(tiny_bert, [f"term {i}" for i in range(n)])
    pieces: list[int] = []
    monkeypatch.setattr(
        teacher,
        "_embedded",
        lambda texts: (pieces.append(len(texts)), np.array([[int(text[5:])] * 16 for text in texts], np.float32))[1],
    )
    teacher[[3, 2_000]]
    size = n * 16 * 2
    tracemalloc.start()
    whole = teacher[:]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(pieces) <= PIECE and sum(pieces) == n and peak < 2 * size  # row numbers, here as large as 16 dimensions
    np.testing.assert_array_equal(whole, np.repeat(np.arange(n, dtype=np.float16)[:, None], 16, axis=1))
    with pytest.raises(ValueError, match="read-only"):
        whole[0] = 0
    assert teacher[10:4:-2].tolist() == [[i] * 16 for i in (10, 8, 6)]


def test_training_does_not_reach_the_teacher(tiny_bert):
    """Catches a copy that is trained, saved or moved with the loss, and weights that are shared with the student."""
    teacher = TeacherVectors(tiny_bert, TEXTS)
    expected = tiny_bert.encode(TEXTS[:9])
    loss = with_distillation(InfoNCELoss(tiny_bert, miner=None), teacher, weight=1000.0)
    assert sum(p.numel() for p in loss.parameters()) == sum(p.numel() for p in tiny_bert.parameters())
    assert {name.partition(".")[0] for name in loss.state_dict()} == {"model"}
    optimizer = torch.optim.SGD(loss.parameters(), lr=0.1)
    for rows in (range(4), range(9)):
        features = dict(tiny_bert.preprocess([TEXTS[i] for i in rows]))
        value = loss([features], torch.tensor(rows))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    copy = teacher._encoder
    assert not copy.training and not any(p.requires_grad or p.grad is not None for p in copy.parameters())
    np.testing.assert_allclose(teacher[:9], expected, atol=2e-3)
    assert np.abs(tiny_bert.encode(TEXTS[:9]) - expected).max() > 0.01, "something was trained"


def test_vectors_beyond_float16_are_refused(tiny_bert):
    teacher = TeacherVectors(tiny_bert, ["flu", "gout"])
    with torch.no_grad():
        teacher._encoder[0].model.encoder.layer[1].output.LayerNorm.weight.mul_(1e6)
    with pytest.raises(InputError, match=r"vector of 'gout' has numbers that are not finite or beyond 65504"):
        teacher[[1]]


def test_a_numpy_array_is_a_teacher_as_well(tiny_bert):
    """Catches a contract that only the table keeps."""
    vectors = TeacherVectors(tiny_bert, TEXTS)
    embeddings, labels = [torch.from_numpy(tiny_bert.encode(TEXTS[4:9])).flip(0)], torch.arange(4, 9)
    values = [
        SelfDistillationLoss(None, table).compute_loss_from_embeddings(embeddings, labels)
        for table in (vectors, vectors[:])
    ]
    assert torch.equal(*values) and values[0] > 0
