"""MS loss v3, forward and backward, beside the loss with fixed margins (v2) and beside Eq. 3 left to autograd."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.harness import Table, interleaved, peak_memory
from benchmarks.loss_and_miner import DIMENSION, SPREADS, batch
from st_biomed.kge import KGETable
from st_biomed.losses import KGEMarginMultiSimilarityLoss, MultiSimilarityLoss
from st_biomed.losses.miners import MultiSimilarityMiner
from st_biomed.losses.pair_loss import concept_pairs
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

SIZES = (204, 1024, 2048)
KGE_DIMENSION = 200


def invented(n_concepts: int) -> tuple[Terminology, KGETable]:
    """Concepts with two names each, of which every fifth has no vector."""
    codes = [f"X:{i:05}" for i in range(n_concepts)]
    terms = (Term(code, f"{code} {n}") for code in codes for n in range(2))
    vectors = np.random.default_rng(0).normal(size=(n_concepts, KGE_DIMENSION))
    known = [i for i in range(n_concepts) if i % 5]
    return Terminology.from_records(terms, SourceInfo("X", "X")), KGETable(
        [codes[i] for i in known], vectors[known], model="complex"
    )


def stepper(embeddings: Tensor, loss_of: Callable[[], Tensor]) -> Callable[[], float]:
    """One forward and backward pass; returns the value."""

    def step() -> float:
        embeddings.grad = None
        value = loss_of()
        value.backward()
        return value.item()

    return step


def ours(size: int, spread: float) -> Callable[[], float]:
    terminology, table = invented(size // 2)
    embeddings, _ = batch(size, spread)
    loss = KGEMarginMultiSimilarityLoss(None, table, lookup=terminology)
    return stepper(embeddings, lambda: loss.compute_loss_from_embeddings([embeddings], torch.arange(size)))


def fixed(size: int, spread: float) -> Callable[[], float]:
    terminology, _ = invented(size // 2)
    embeddings, _ = batch(size, spread)
    loss = MultiSimilarityLoss.from_preset(None, "italian_v2", lookup=terminology)
    return stepper(embeddings, lambda: loss.compute_loss_from_embeddings([embeddings], torch.arange(size)))


def plain(size: int, spread: float) -> Callable[[], float]:
    """Eq. 3 as one would write it down, with the table looked up alike."""
    terminology, table = invented(size // 2)
    embeddings, _ = batch(size, spread)
    loss = KGEMarginMultiSimilarityLoss(None, table, lookup=terminology)
    miner, labels = MultiSimilarityMiner(0.1), torch.arange(size)

    def loss_of() -> Tensor:
        unit = torch.nn.functional.normalize(embeddings)
        s = unit @ unit.T
        positives, negatives = concept_pairs(labels, loss.lookup, mask_same_text=True)
        k = loss._kge_similarity(labels, negatives, None)
        positives, negatives = miner(embeddings, s.detach(), positives, negatives)
        margin, known = (s - k.nan_to_num()).abs(), ~k.isnan()
        pull = -2 * torch.where(known, s - margin, s - 1)
        push = 50 * torch.where(known, s - 1 + margin, s - 0.5)
        pull, push = (
            torch.nn.functional.softplus(e.masked_fill(~mask, -1e30).logsumexp(1))
            for e, mask in ((pull, positives), (push, negatives))
        )
        return (pull / 2 + push / 50).mean()

    return stepper(embeddings, loss_of)


def main(*, quick: bool = False) -> Table:
    rows = []
    for size in SIZES[:1] if quick else SIZES:
        for name, spread in SPREADS.items():
            contestants = {"v3": ours(size, spread), "v2": fixed(size, spread), "autograd": plain(size, spread)}
            times = interleaved(contestants, repeats=3 if quick else 7)
            memory = [peak_memory(prepare, size, spread) for prepare in (ours, fixed, plain)]
            rows.append(
                [
                    size,
                    name,
                    *(f"{times[contestant].median * 1e3:.1f} ms" for contestant in contestants),
                    f"{1 / times['v3'].times_faster_than(times['v2']):.2f}",
                    *(f"{megabytes:.0f} MB" for megabytes in memory),
                ]
            )
    return Table(
        "MS loss v3: a margin for every pair",
        ["B", "embeddings", "v3", "v2", "v3 by autograd", "v3 / v2", "memory v3", "v2", "by autograd"],
        rows,
        notes=[
            f"Forward and backward pass with the miner of margin 0.1 on B embeddings of {DIMENSION} dimensions, two names a "
            f"concept, graph embeddings of {KGE_DIMENSION} dimensions for four concepts of five; the spreads are those of "
            "[loss_and_miner](loss_and_miner.md). Medians of interleaved rounds; memory is the rise of a fresh process during "
            "one step. Goal: v3 at most twice v2."
        ],
    )
