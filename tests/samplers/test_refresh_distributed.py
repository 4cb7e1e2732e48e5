"""Two processes train on the neighbors that the first of them has found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from tests.fresh import START


def process(rank: int, model_folder: str, out: str) -> None:
    """What one of the two processes does; its results go to a file."""
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    dist.init_process_group("gloo", init_method=f"file://{out}/meet", rank=rank, world_size=2)
    from test_hard_negative_callback import Watch, sampler, train

    class Keep(Watch):
        tables: list[Any] = []

        def refresh(self, sampler, model, number=0, **options):
            super().refresh(sampler, model, number, **options)
            self.tables.append((sampler.table.rows.copy(), sampler.table.weights))

    callback = Keep()
    loss = train(Path(out) / "run", Path(model_folder), callback, save_strategy="no")
    on_disk = Keep(folder=f"{out}/disk")
    made = sampler()
    on_disk.refresh(made, loss.model.module if hasattr(loss.model, "module") else loss.model, step=0, epoch=0)
    torch.save({"labels": loss.labels, "tables": callback.tables, "made": callback.made}, f"{out}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("ranks")
    mp.start_processes(process, args=(str(tiny_bert_folder), str(out)), nprocs=2, start_method=START)
    return [torch.load(out / f"{rank}.pt", weights_only=False) for rank in range(2)]


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
