"""Triplet miner and multi-similarity loss, forward and backward, against pytorch-metric-learning."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks import harness
from benchmarks.harness import Table, interleaved, peak_memory

DEVICES = ("cpu", "cuda")
DIMENSION = 768
SIZES = (512, 1024, 2048, 4096)
SPREADS = {"untrained": math.inf, "half-way": 1.5, "trained": 1.3}
"""Length of the noise around a concept's center, in units of the center's length."""
GOAL = 20
"""Times as fast as the peer on a CPU, at the smallest size."""


def batch(size: int, spread: float) -> tuple[Tensor, Tensor]:
    """Embeddings ``[B, D]`` and labels ``[B]``: two names a concept, of random direction if the spread is infinite."""
    generator = torch.Generator().manual_seed(7)
    labels = torch.arange(size) // 2
    names = torch.randn(size, DIMENSION, generator=generator)
    if not math.isinf(spread):
        names = torch.randn(size // 2, DIMENSION, generator=generator)[labels] + spread * names
    return names.to(harness.DEVICE).requires_grad_(), labels.to(harness.DEVICE)


def ours(size: int, spread: float) -> Callable[[], float]:
    """One forward and backward of this package's loss; returns its value."""
    from st_biomed.losses import MultiSimilarityLoss

    embeddings, labels = batch(size, spread)
    loss = MultiSimilarityLoss.from_preset(None, "sapbert")

    def step() -> float:
        embeddings.grad = None
        value = loss.compute_loss_from_embeddings([embeddings], labels)
        value.backward()
        return value.item()

    return step


def peer(size: int, spread: float) -> Callable[[], float]:
    """The same of pytorch-metric-learning."""
    from pytorch_metric_learning.losses import MultiSimilarityLoss
    from pytorch_metric_learning.miners import TripletMarginMiner

    embeddings, labels = batch(size, spread)
    loss, miner = MultiSimilarityLoss(alpha=1, beta=60, base=0.5), TripletMarginMiner(margin=0.2)

    def step() -> float:
        embeddings.grad = None
        value = loss(embeddings, labels, miner(embeddings, labels))
        value.backward()
        return value.item()

    return step


def main(quick: bool = False) -> Table:
    rows: list[list[int | str]] = []
    warmup = 1 if harness.DEVICE == "cpu" else 3
    for size in SIZES[:1] if quick else SIZES:
        for name, spread in SPREADS.items():
            times = interleaved(
                {"ours": ours(size, spread), "peer": peer(size, spread)}, repeats=3 if quick else 5, warmup=warmup
            )
            memory = [peak_memory(prepare, size, spread) for prepare in (ours, peer)]
            rows.append(
                [
                    size,
                    name,
                    f"{times['ours'].median * 1e3:.1f} ms",
                    f"{times['peer'].median * 1e3:.1f} ms",
                    f"{times['ours'].times_faster_than(times['peer']):.1f}x",
                    f"{memory[0]:.0f} MB",
                    f"{memory[1]:.0f} MB",
                    f"{memory[0] / memory[1]:.2f}",
                ]
            )
    factors = [str(row[4]) for row in rows if row[0] == SIZES[0]]
    missed = sum(float(factor.removesuffix("x")) < GOAL for factor in factors)
    verdict = (
        f", missed for {missed} of {len(factors)} spreads ({', '.join(factors)})" if harness.DEVICE == "cpu" else ""
    )
    return Table(
        "Triplet miner and multi-similarity loss against pytorch-metric-learning",
        ["B", "embeddings", "ours", "peer", "faster", "our memory", "peer's memory", "ratio"],
        rows,
        notes=[
            "Forward and backward of the SapBERT preset (margin 0.2, alpha 1, beta 60, base 0.5) on B embeddings of "
            f"{DIMENSION} dimensions, two names a concept. *Untrained*: random directions, so that nearly every negative "
            "is mined; *half-way* and *trained*: names around their concept's center, so that about a sixth and less than "
            "a hundredth are. Medians of interleaved rounds, a factor is the median over the rounds; memory is the rise of "
            "a fresh process during one step, on a GPU that of PyTorch's memory there. The peer lists all triplets at once up to B = 1,290, and anchor by anchor "
            "beyond, which takes less time and memory. "
            f"Goal on a CPU: {GOAL} times as fast as the peer with {SIZES[0]} names{verdict}.",
        ],
        peers=["pytorch-metric-learning"],
    )
