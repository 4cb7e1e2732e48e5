"""Self-distillation from an encoder in two processes, each with half of the texts, learns what one process learns from all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from tests.losses.graph_steps import TEXTS
from tests.two_processes import in_two_processes

pytestmark = pytest.mark.long

FORMS = ("plain", "cached")
CLASSES = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
STEPS = (torch.arange(8), torch.arange(13, 5, -1))
"""Texts of each step: in the second some are new, and the student has been trained."""


def trained(folder: str, form: str, rows: slice, gather: bool) -> dict[str, Any]:
    """The losses of the steps, the weights after them, the rows that the teacher was asked for, and its vectors of them."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.losses.cached import CachedInfoNCELoss
    from st_biomed.losses.distilled import with_distillation
    from st_biomed.losses.info_nce import InfoNCELoss
    from st_biomed.training.teacher import TeacherVectors

    model = SentenceTransformer(folder, device="cpu").double()
    teacher = TeacherVectors(model, TEXTS)
    arguments: dict[str, Any] = {"miner": None, "gather_across_devices": gather}
    if form == "cached":
        loss: Any = CachedInfoNCELoss(model, mini_batch_size=3, **arguments)
    else:
        loss = InfoNCELoss(model, **arguments)
    loss = with_distillation(
        loss, teacher, weight=50.0, rows=lambda labels: labels, labels=lambda labels: CLASSES[labels % 8]
    )
    if gather:
        loss.model = DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    values, known = [], []
    for step in STEPS:
        optimizer.zero_grad()
        labels = step[rows]
        value = loss([dict(model.preprocess([TEXTS[i] for i in labels]))], labels)
        value.backward()
        optimizer.step()
        values.append(value.detach())
        known.append(teacher.n_known)
    return {
        "values": values,
        "weights": {name: tensor.clone() for name, tensor in model.state_dict().items()},
        "known": known,
        "teacher": torch.from_numpy(teacher[:].copy()),
    }


def process(rank: int, folder: str, out: str) -> dict[str, Any]:
    """What one of the two processes does; its results go to a file."""
    return {form: trained(folder, form, slice(4 * rank, 4 * rank + 4), gather=True) for form in FORMS}


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("form", FORMS)
def test_two_processes_are_held_near_the_teacher_like_one(ranks, tiny_bert_folder, form):
    """Catches a table without the other process's texts, a teacher that is trained along, and cosines of half of the batch."""
    from sentence_transformers import SentenceTransformer

    expected = trained(str(tiny_bert_folder), form, slice(None), gather=False)
    base = SentenceTransformer(str(tiny_bert_folder), device="cpu").double()
    began: dict[str, Tensor] = base.state_dict()
    vectors = base.encode(TEXTS, convert_to_tensor=True)
    torch.testing.assert_close(expected["teacher"].to(vectors), vectors, atol=2e-3, rtol=0)
    assert max((began[name] - tensor).abs().max() for name, tensor in expected["weights"].items()) > 1e-3
    assert expected["known"] == [8, 14]
    for rank in ranks:
        assert rank[form]["known"] == expected["known"], "both processes need the rows of all texts of the batch"
        torch.testing.assert_close(rank[form]["values"], expected["values"], atol=1e-8, rtol=1e-7)
        torch.testing.assert_close(rank[form]["weights"], expected["weights"], atol=1e-8, rtol=1e-7)
        torch.testing.assert_close(rank[form]["teacher"], expected["teacher"], atol=0, rtol=0)
