"""Two processes train on the neighbors that the first of them has found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import distributed
from torch import nn

from st_biomed.samplers import HardNegativeBatchSampler, HardNegativeCallback
from tests.two_processes import in_two_processes

pytestmark = pytest.mark.long


def process(rank: int, model_folder: str, out: str) -> dict[str, Any]:
    """What one of the two processes does; its results go to a file."""
    from test_hard_negative_callback import Watch, sampler, train

    class Keep(Watch):
        tables: list[Any] = []

        def refresh(self, sampler, model, number=0, **options):
            super().refresh(sampler, model, number, **options)
            self.tables.append((sampler.table.rows.copy(), sampler.table.model_digest))

    callback = Keep()
    loss = train(Path(out) / "run", Path(model_folder), callback, save_strategy="no")
    on_disk = Keep(folder=f"{out}/disk")
    made = sampler()
    on_disk.refresh(made, loss.model.module if hasattr(loss.model, "module") else loss.model, step=0, epoch=0)
    return {
        "labels": loss.labels,
        "tables": callback.tables,
        "made": callback.made,
        "embedded": embedded(Path(model_folder), sampler()),
    }


def embedded(model_folder: Path, made: HardNegativeBatchSampler) -> set[tuple[int, bool]]:
    """Lengths of the texts that this process embeds for a refresh, and whether under autocast."""
    model, found = SentenceTransformer(str(model_folder), device="cpu"), set()

    def look(module: nn.Module, inputs: tuple[dict[str, Any]]) -> None:
        lengths = inputs[0]["attention_mask"].sum(1).tolist()
        found.update((length, torch.is_autocast_enabled("cpu")) for length in lengths)

    model.register_forward_pre_hook(look)
    HardNegativeCallback(max_length=4).refresh(made, model, bf16=True)
    return found


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


def test_both_hold_the_same_table_of_the_same_weights(ranks):
    """Catches processes that search each for itself, or with weights that have moved apart."""
    first, second = ranks
    assert first["made"] == second["made"] and len(first["made"]) == 2
    for (rows, weights), (other_rows, other_weights) in zip(first["tables"], second["tables"]):
        assert weights == other_weights and (rows == other_rows).all()
    assert first["tables"][0][1] != first["tables"][1][1]


def test_each_gets_batches_of_its_own(ranks):
    """Catches both on one batch, and batches that are lost when they are dealt."""
    first, second = ({tuple(labels) for labels in rank["labels"]} for rank in ranks)
    assert len(first) == len(second) == len(ranks[0]["labels"]) == 6 and not first & second


def test_texts_of_every_process_are_cut_and_rounded_as_in_training(ranks):
    """Catches processes that serve the first one with the model's own limit, or in float32."""
    helps = hasattr(distributed, "distributed_evaluation")  # sentence-transformers shares the work from 6.2 on
    for rank in ranks if helps else ranks[:1]:
        assert max(rank["embedded"]) == (4, True) and {autocast for _, autocast in rank["embedded"]} == {True}
