"""What finding the neighbors of hard-negative batches anew costs beside embedding, and the batches made of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, resident
from benchmarks.sampler_scale import invented
from st_biomed.samplers.hard_negatives import HardNegativeBatchSampler, HardNegativePlan
from st_biomed.samplers.neighbor_table import NeighborTable, nearest_rows
from st_biomed.training_data import names_dataset

DIMENSION = 384


def sampler(n_items: int) -> HardNegativeBatchSampler:
    """Of an invented terminology with ten names a concept, a few concepts having far more."""
    terminology = invented(n_items // 10, n_items)
    plan = HardNegativePlan()
    return HardNegativeBatchSampler(names_dataset(terminology), plan.batch_size, terminology=terminology, plan=plan)


def vectors(n_items: int) -> np.ndarray:
    """Of length one, in some thousand clusters as a trained model has them, float32 ``[N, D]``."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((n_items // 100, DIMENSION), dtype=np.float32)
    rows = centers[rng.integers(0, len(centers), n_items)] + rng.standard_normal(
        (n_items, DIMENSION), dtype=np.float32
    )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main(*, quick: bool = False) -> Table:
    rows = []
    for n_items in (2_000, 4_000) if quick else (50_000, 200_000):
        start = time.perf_counter()
        made = sampler(n_items)
        making = time.perf_counter() - start
        unit = vectors(n_items)
        if os.access("/proc/self/clear_refs", os.W_OK):
            Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
        before = resident("VmRSS")
        start = time.perf_counter()
        table = nearest_rows(unit, made.prototypes, made.width, device="cpu")
        searching = time.perf_counter() - start
        memory = (resident("VmHWM") - before) / 1e6
        made.use(NeighborTable(table, made.rows_digest, model_digest=""))
        n_batches = min(500, len(made))
        start = time.perf_counter()
        for _, batch in zip(range(n_batches), made):
            assert len(batch) == made.batch_size
        batching = (time.perf_counter() - start) / n_batches
        rows.append(
            [
                f"{n_items:,}",
                f"{len(made.prototypes):,}",
                f"{making:.1f} s",
                f"{searching:.0f} s",
                f"{memory:,.0f} MB",
                f"{table.nbytes / 1e6:,.0f} MB",
                f"{batching * 1e3:.2f} ms",
            ]
        )
    return Table(
        "Refresh of hard negatives",
        ["items", "prototypes", "sampler made", "search", "memory of the search", "table", "a batch"],
        rows,
        notes=[
            f"Exact neighbors ({made.width} for each prototype) by inner product among vectors of {DIMENSION} dimensions, at "
            "most 3 prototypes a concept, batches of 204. Embedding the items, which comes before, is apart: "
            "[embedding_names](embedding_names.md). Memory is the rise of a process that holds the vectors already."
        ],
    )
