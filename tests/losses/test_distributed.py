"""Two processes, each with half of the batch, learn what one process learns from all of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from st_biomed.errors import InputError
from tests.two_processes import in_two_processes

pytestmark = pytest.mark.long

# Half of the names per process, so that one cuts its names into more chunks than the other.
NAMES = ["flu", "flue", "gout", "gots", "other", "acute gout", "zoster of the ear", "chronic disease (simple)"]
OTHER = ["pox", "poxe", "kuru", "kurs", "ague", "a, b", "unspecified pox", "type 2 disease with the fever"]
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {
        name.removeprefix("module."): value.grad.clone()
        for name, value in model.named_parameters()
        if value.grad is not None
    }


def embedding(folder: str, kind: str, rows: slice, wrap: bool) -> tuple[dict[str, Tensor], int]:
    """The encoder's gradients for these rows of the batch, and in how many forwards."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.losses import embed
    from st_biomed.losses.cached import CachedMultiSimilarityLoss
    from st_biomed.losses.multi_similarity import MultiSimilarityLoss

    model = SentenceTransformer(folder, device="cpu").double()
    forwards: list[int] = []
    model.register_forward_pre_hook(lambda module, args: forwards.append(len(args[0]["input_ids"])))
    features = [dict(model.preprocess(names[rows])) for names in (NAMES, OTHER)]
    arguments: dict[str, Any] = {"miner": None, "gather_across_devices": wrap}
    loss: nn.Module = MultiSimilarityLoss(model, **arguments)
    if kind == "cached":
        loss = CachedMultiSimilarityLoss(model, mini_batch_size=3, **arguments)
    if kind == "cached by tokens":
        loss = CachedMultiSimilarityLoss(model, mini_batch_num_tokens=20, **arguments)
    if wrap:
        # sentence-transformers' defaults: its pooler is unused, and its buffers are the same everywhere.
        loss.model = DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
    with patch.object(embed, "CHUNK_COST_CPU", 0):
        for _ in range(2):  # the second step would stumble over what the first left behind
            model.zero_grad()
            forwards.clear()
            loss(features, LABELS[rows]).backward()
    return gradients(model), len(forwards)


def training(folder: str, output: str, with_callback: bool) -> dict[str, Tensor]:
    """Two steps of a loss with a table, on rows that differ between the processes."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from test_loss_parameters_callback import RelationLoss

    from st_biomed.losses.loss_parameters_callback import LossParametersCallback

    model = SentenceTransformer(folder, device="cpu")
    loss = RelationLoss(model)
    with torch.no_grad():
        loss.relations += dist.get_rank()  # as if a process had drawn other first values
    args = SentenceTransformerTrainingArguments(
        output_dir=output,
        use_cpu=True,
        max_steps=2,
        per_device_train_batch_size=2,
        learning_rate=1e-2,
        max_grad_norm=1.0,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=loss,
        train_dataset=Dataset.from_dict({"text": NAMES, "label": [0, 1, 2, 0, 1, 2, 0, 1]}),
        callbacks=[LossParametersCallback(loss)] if with_callback else [],
    )
    trainer.train()
    return {
        "relations": loss.relations.detach().clone(),
        "weight": model[0].model.encoder.layer[0].output.dense.weight,
    }


def partly_used(folder: str) -> dict[str, Tensor | None]:
    """Gradients after the callback, where one process used one parameter, and none used the other."""
    from types import SimpleNamespace

    from transformers import TrainerControl, TrainerState

    from st_biomed.losses.loss_parameters_callback import LossParametersCallback

    loss = nn.ParameterDict({"one": torch.zeros(2), "none": torch.zeros(2)})
    if dist.get_rank() == 1:
        loss["one"].grad = torch.full((2,), 3.0)
    arguments = SimpleNamespace(max_grad_norm=0.0)
    LossParametersCallback(loss).on_pre_optimizer_step(arguments, TrainerState(), TrainerControl())
    return {name: loss[name].grad for name in ("one", "none")}


def process(rank: int, folder: str, out: str) -> dict[str, Any]:
    """What one of the two processes does; its results go to a file."""
    rows = slice(4 * rank, 4 * rank + 4)
    results: dict[str, Any] = {kind: embedding(folder, kind, rows, wrap=True) for kind in ("plain", "cached")}
    try:
        results["cached by tokens"] = embedding(folder, "cached by tokens", rows, wrap=True)
    except InputError as error:
        results["cached by tokens"] = str(error)
    results["partly used"] = partly_used(folder)
    try:
        training(folder, f"{out}/without", with_callback=False)
    except InputError as error:
        results["refused"] = str(error)
    results["training"] = training(folder, f"{out}/with", with_callback=True)
    return results


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("kind", ["plain", "cached", "cached by tokens"])
def test_two_processes_get_the_gradients_of_the_whole_batch(ranks, tiny_bert_folder, kind):
    """Catches gradients reduced before the last chunk is in, and processes that wait for each other's chunks."""
    if isinstance(ranks[0][kind], str):
        assert all(re.search(r"needs sentence-transformers>=6\.2, found 6\.[01]", rank[kind]) for rank in ranks)
        return
    expected, _ = embedding(str(tiny_bert_folder), kind, slice(None), wrap=False)
    counts = [rank[kind][1] for rank in ranks]
    assert (counts[0] == counts[1]) == (kind == "cached") and min(counts) > 1
    for rank in ranks:
        torch.testing.assert_close(rank[kind][0], expected, atol=1e-9, rtol=0)


def test_parameters_of_the_loss_stay_the_same_on_both(ranks):
    """Catches tables that start apart, or move apart, with batches that differ."""
    first, second = (rank["training"] for rank in ranks)
    torch.testing.assert_close(first, second, atol=0, rtol=0)


def test_without_the_callback_both_refuse(ranks):
    """Catches training on in silence."""
    for rank in ranks:
        assert "RelationLoss learns relations" in rank["refused"]


def test_a_parameter_used_by_one_process_moves_on_both_and_one_unused_rests(ranks):
    """Catches a process that does not join, and optimizer steps of parameters that no batch has touched."""
    for rank in ranks:
        torch.testing.assert_close(rank["partly used"]["one"], torch.full((2,), 1.5))
        assert rank["partly used"]["none"] is None
