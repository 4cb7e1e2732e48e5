"""MCSM over as many concepts as a vocabulary of UMLS has, and against the published way of working."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.harness import Table, interleaved, missed, peak_memory
from st_biomed.evaluators import MCSMEvaluator, table_embedder

DIMENSIONS, N_TYPES = 384, 13
K = 40
COMPARED = 5_000
FASTER = 20  # the goal, times as fast as the published way


def invented(n_concepts: int) -> tuple[np.ndarray, list[list[str]]]:
    """Random vectors float32 ``[N, D]`` and the types of each, one in five concepts with a second one."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_concepts, DIMENSIONS), dtype=np.float32)
    first, second = rng.integers(N_TYPES, size=(2, n_concepts))
    two = rng.random(n_concepts) < 0.2
    return vectors, [[f"type {a}", *([f"type {b}"] if more else [])] for a, b, more in zip(first, second, two)]


def ours(n_concepts: int, last_type_only: bool = False, n_bootstrap: int = 1000) -> Callable[[], dict[str, float]]:
    """A measurement, the evaluator made anew."""
    vectors, types = invented(n_concepts)
    if last_type_only:
        types = [concept_types[-1:] for concept_types in types]
    codes = [f"INVENTED:{i}" for i in range(n_concepts)]
    embed = table_embedder(codes, vectors)
    return lambda: MCSMEvaluator(codes, types, k=K, n_bootstrap=n_bootstrap).measure(embed)


def peer(n_concepts: int) -> Callable[[], dict[str, float]]:
    """The way of CODER's script: a product, a top k and a loop over the neighbors for each concept, the last type only."""
    vectors, types = invented(n_concepts)
    last = [concept_types[-1] for concept_types in types]
    gain = 1 / np.log2(np.arange(2, K + 2))

    def measure() -> dict[str, float]:
        unit = torch.nn.functional.normalize(torch.from_numpy(vectors), dim=1)
        scores: dict[str, list[float]] = {}
        for i, own in enumerate(last):
            nearest = torch.topk(unit @ unit[i], k=K + 1).indices
            score = 0.0
            for rank in range(1, K + 1):
                if last[nearest[rank]] == own:
                    score += gain[rank - 1]
            scores.setdefault(own, []).append(score)
        return {"mcsm": float(np.mean([np.mean(type_scores) for type_scores in scores.values()]))}

    return measure


def timed(n_concepts: int, seconds: str) -> Callable[[], object]:
    """What measures and notes the time."""
    measure = ours(n_concepts)

    def run() -> object:
        start = time.perf_counter()
        metrics = measure()
        Path(seconds).write_text(str(time.perf_counter() - start))
        return metrics

    return run


def main(*, quick: bool = False) -> Table:
    size, repeats = (500, 1) if quick else (COMPARED, 5)
    ways = {"published loop": peer(size), "ours, without intervals": ours(size, last_type_only=True, n_bootstrap=0)}
    times = interleaved(ways, repeats)
    rows, slower = [], {}
    for way, timing in times.items():
        factor = timing.times_faster_than(times["published loop"])
        if way != "published loop" and factor < FASTER:
            slower[way] = f"{factor:.1f}x"
        rows.append([f"{size:,}", way, f"{timing.median:.2f} s", f"{factor:.1f}x", f"{ways[way]()['mcsm']:.4f}", ""])
    with tempfile.TemporaryDirectory() as scratch:
        for n_concepts in (2_000,) if quick else (20_000, 100_000, 200_000):
            seconds = Path(scratch) / "seconds"
            memory = peak_memory(timed, n_concepts, str(seconds))
            rows.append(
                [f"{n_concepts:,}", "ours", f"{float(seconds.read_text()):,.1f} s", "", "", f"{memory:,.0f} MB"]
            )
    return Table(
        "MCSM over many concepts",
        ["concepts", "way", "time", "against the published way", "MCSM", "memory"],
        rows,
        notes=[
            f"Random vectors of {DIMENSIONS} dimensions, {K} neighbors of each concept, {N_TYPES} types. The published way "
            "compares one concept with all others at a time, and loops over its neighbors; both sides then take the last "
            "type of each concept. Ours, where nothing else is said: every type, and the bootstrap over the concepts. The "
            "evaluator is made anew each time. Memory: the rise above vectors, codes and types, which are there before. "
            f"Goals: {FASTER}x on 5,000 concepts{missed(slower)}; 10 minutes and 4 GB for 200,000 on two cores."
        ],
    )
