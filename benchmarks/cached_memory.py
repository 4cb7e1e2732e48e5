"""Peak memory of a loss over thousands of names, cached and not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.embedding_names import encoder, synonym_pairs
from benchmarks.harness import Table, on_device, peak_memory
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss

DEVICES = ("cpu", "cuda")


def main(quick: bool = False) -> Table:
    """One training step of 512 names either way, and of 4,096 and 16,384 cached (quick: of 16 to 64)."""
    small, large, huge = (16, 32, 64) if quick else (512, 4096, 16_384)
    runs: list[tuple[str, int, dict[str, Any]]] = [
        ("uncached", small, {}),
        ("cached, mini-batches of 64", small, {"mini_batch_size": 64}),
        ("cached, mini-batches of 64", large, {"mini_batch_size": 64}),
        ("cached, mini-batches of 64", huge, {"mini_batch_size": 64}),
    ]
    rows = [[way, size, f"{peak_memory(prepare, size, settings):,.0f} MB"] for way, size, settings in runs]
    return Table(
        "Memory of a loss over many names",
        ["way", "names", "peak"],
        rows,
        notes=[
            "How far a process rises above the loaded encoder in one step, forward and backward in float32, of "
            "all-MiniLM-L6-v2 with SapBERT's multi-similarity loss on ICD-10-CM names cut at 25 tokens; the gradients of "
            "all weights are included."
        ],
        peers=["sentence-transformers", "transformers"],
    )


def prepare(size: int, settings: dict[str, Any]) -> Callable[[], object]:
    """One step of the loss; cached where ``settings`` say how."""
    model = encoder()
    texts, labels = synonym_pairs(size)
    loss_class = CachedMultiSimilarityLoss if settings else MultiSimilarityLoss
    loss = loss_class.from_preset(model, "sapbert", **settings)
    features, labels = [on_device(model.preprocess(texts))], labels.to(harness.DEVICE)

    def step() -> None:
        model.zero_grad()  # a run before it leaves gradients
        loss(features, labels).backward()

    return step
