"""What one more chunk costs: seconds of a training batch against the ``chunk_cost`` it is cut with."""

from __future__ import annotations

from functools import partial
from typing import Any

from sentence_transformers import SentenceTransformer

from benchmarks import harness
from benchmarks.embedding_names import Encode, encoder, precisions, random_names
from benchmarks.harness import Table, interleaved, on_device
from st_biomed.losses.embed import chunk_bounds, embed_columns

DEVICES = ("cpu", "cuda")
COSTS = {"cpu": (0, 16, 32, 64, 128, 256, 512, 10**9), "cuda": (0, 128, 512, 2048, 4096, 8192, 16_384, 10**9)}
"""Of each device, up to one chunk."""


def main(quick: bool = False) -> Table:
    """Forward and backward of 128, 256 and 512 names (quick: 8) at each cost, the last of which is one chunk."""
    sizes, repeats = ((8,), 1) if quick else ((128, 256, 512) if harness.DEVICE == "cpu" else (512, 2048, 8192), 5)
    model, costs = encoder(), COSTS[harness.DEVICE]
    rows = []
    for size in sizes:
        features = on_device(model.preprocess(random_names(size)))
        lengths = features["attention_mask"].sum(1).sort(descending=True).values.cpu().numpy()
        chunks = [len(list(chunk_bounds(lengths, cost))) for cost in costs]
        rows.append([f"**{size}**, chunks", *chunks])
        for precision, encode in precisions(model).items():
            times = interleaved({str(cost): partial(step, model, encode, features, cost) for cost in costs}, repeats)
            rows.append([f"{size}, {precision}", *(f"{times[str(cost)].median * 1e3:,.0f} ms" for cost in costs)])
    return Table(
        "The cost of a chunk, in tokens",
        ["names", *map(str, costs[:-1]), "one chunk"],
        rows,
        notes=[
            "Forward and backward of all-MiniLM-L6-v2 on random ICD-10-CM names cut at 25 tokens, in chunks that "
            "minimize padded tokens plus `chunk_cost` (the columns) for each chunk: `CHUNK_COST_CPU` in "
            "`st_biomed/losses/embed.py` comes from the table of a CPU; `CHUNK_COST_ACCELERATOR` is an estimate. "
            f"Medians of {repeats} interleaved rounds."
        ],
        peers=["sentence-transformers", "transformers"],
    )


def step(model: SentenceTransformer, encode: Encode, features: dict[str, Any], cost: int) -> None:
    """One batch forward and backward."""
    model.zero_grad()
    embed_columns(encode, [features], chunk_cost=cost)[0].float().square().sum().backward()
