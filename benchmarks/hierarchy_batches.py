"""What making a hierarchy batch and its distance matrix costs beside the training step that it feeds."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.harness import Table, interleaved
from st_biomed.encoder import PACKAGED, load_encoder
from st_biomed.hierarchy import DISTANCES, Hierarchy
from st_biomed.losses import OrdinalMultiSimilarityLoss
from st_biomed.samplers import HierarchyBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset


def batch_maker(hierarchy: Hierarchy, batch_size: int, n_batches: int) -> Callable[[], object]:
    """Make that many batches, each with its distances."""
    sampler = HierarchyBatchSampler(names_dataset(hierarchy.terminology), batch_size, hierarchy=hierarchy)

    def make() -> None:
        for _, batch in zip(range(n_batches), sampler):
            labels = torch.tensor(batch)
            hierarchy.distance(labels, labels)

    return make


def training_step(hierarchy: Hierarchy, batch_size: int) -> Callable[[], object]:
    """Forward and backward pass of the encoder and the loss on one such batch, tokenizing included."""
    sampler = HierarchyBatchSampler(names_dataset(hierarchy.terminology), batch_size, hierarchy=hierarchy)
    batch = next(iter(sampler))
    texts = hierarchy.terminology.texts["text"].take(batch).to_pylist()
    model = load_encoder(PACKAGED, max_length=32, device="cpu").train()
    loss = OrdinalMultiSimilarityLoss(model, hierarchy)

    def step() -> None:
        loss([dict(model.preprocess(texts))], torch.tensor(batch)).backward()
        model.zero_grad()

    return step


def main(*, quick: bool = False) -> Table:
    terminology = Terminology.read("icd10cm")
    n_batches = 32 if quick else 320
    rows = []
    for distance in DISTANCES[:1] if quick else DISTANCES:
        hierarchy = Hierarchy(terminology, distance)
        for batch_size in (128,) if quick else (128, 256, 512):
            contestants = {
                "batches": batch_maker(hierarchy, batch_size, n_batches),
                "step": training_step(hierarchy, batch_size),
            }
            times = interleaved(contestants, repeats=1 if quick else 5)
            batch, step = times["batches"].median / n_batches, times["step"].median
            rows.append(
                [distance, batch_size, f"{1000 * batch:.2f} ms", f"{1000 * step:,.0f} ms", f"{batch / step:.2%}"]
            )
    return Table(
        "Hierarchy batches",
        ["distance", "batch size", "batch and distances", "training step", "share"],
        rows,
        notes=[
            f"{terminology!r}; MiniLM, float32, forward and backward without the optimizer. The batches of an epoch's "
            f"first {n_batches}. Goal: at most 1%."
        ],
        peers=["sentence-transformers"],
    )
