"""Two processes of a distributed training, and what each of them has found."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from tests.fresh import START

Work = Callable[[int, str, str], dict[str, Any]]
"""What a process does, from its rank, the folder of an encoder and a folder for files."""


def in_two_processes(work: Work, encoder: Path, out: Path) -> list[dict[str, Any]]:
    """What the work returns in each process, by rank.

    Args:
        work: A function at the top level of a module.
        encoder: The folder of the encoder.
        out: An empty folder for files of both processes.
    """
    mp.start_processes(_process, args=(work, str(encoder), str(out)), nprocs=2, start_method=START)
    return [torch.load(out / f"{rank}.pt", weights_only=False) for rank in range(2)]


def _process(rank: int, work: Work, encoder: str, out: str) -> None:
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    dist.init_process_group("gloo", init_method=f"file://{out}/meet", rank=rank, world_size=2)
    torch.save(work(rank, encoder, out), f"{out}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()
