"""MCSM over as many concepts as a vocabulary of UMLS has: seconds and memory of one measurement."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, peak_memory
from st_biomed.evaluators import MCSMEvaluator, table_embedder

DIMENSIONS, N_TYPES = 384, 13
K = 40


def prepare(n_concepts: int, seconds: str) -> Callable[[], object]:
    """Random vectors and types, one in five concepts with a second one; what is returned measures and notes the time."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_concepts, DIMENSIONS), dtype=np.float32)
    first, second = rng.integers(N_TYPES, size=(2, n_concepts))
    two = rng.random(n_concepts) < 0.2
    types = [[f"type {a}", *([f"type {b}"] if more else [])] for a, b, more in zip(first, second, two)]
    codes = [f"INVENTED:{i}" for i in range(n_concepts)]
    evaluator = MCSMEvaluator(codes, types, k=K)
    embed = table_embedder(codes, vectors)

    def measure() -> object:
        start = time.perf_counter()
        metrics = evaluator.measure(embed)
        Path(seconds).write_text(str(time.perf_counter() - start))
        return metrics

    return measure


def main(*, quick: bool = False) -> Table:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for n_concepts in (2_000,) if quick else (20_000, 100_000, 200_000):
            seconds = Path(scratch) / "seconds"
            memory = peak_memory(prepare, n_concepts, str(seconds))
            rows.append([f"{n_concepts:,}", f"{float(seconds.read_text()):,.1f} s", f"{memory:,.0f} MB"])
    return Table(
        "MCSM over many concepts",
        ["concepts", "a measurement", "memory"],
        rows,
        notes=[
            f"Random vectors of {DIMENSIONS} dimensions, {K} neighbours of each concept, {N_TYPES} types; the bootstrap "
            "over the concepts included. The rise of the resident memory above vectors, codes and types, which are "
            "there before. Goal for 200,000 concepts on two cores: 10 minutes and 4 GB."
        ],
    )
