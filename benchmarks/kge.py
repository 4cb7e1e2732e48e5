"""An epoch of a graph embedding and a filtered evaluation against PyKEEN, on the same graph."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks.harness import Table, interleaved
from st_biomed.kge import KGESettings, KnowledgeGraph
from st_biomed.kge.splits import split_triples
from st_biomed.kge.steps import EpochRunner
from st_biomed.kge.train import validation_mrr
from st_biomed.kge.trained import model_for
from st_biomed.metrics.link_prediction import KnownTriples

ENTITIES, TRIPLES, RELATIONS = 5_000, 50_000, 20
DIMENSION, NEGATIVES, BATCH = 100, 32, 1024
PEERS = {"transe": "TransE", "complex": "ComplEx", "rotate": "RotatE", "simple": "SimplE"}
LEFT_OUT: dict[str, dict[str, None]] = {"transe": {"entity_constrainer": None}, "complex": {"regularizer": None}}
"""What PyKEEN does by default in every step, and ours does not: normalize all entities, and sum up a regularizer."""

Step = Callable[[], object]


def invented(n_entities: int, n_triples: int) -> KnowledgeGraph:
    """A random graph with a long tail of degrees, nine tenths of it for training."""
    rng = np.random.default_rng(0)
    ends = (n_entities * rng.random((n_triples, 2)) ** 2).astype(np.int64)
    triples = np.stack([ends[:, 0], rng.integers(RELATIONS, size=n_triples), ends[:, 1]], axis=1)
    triples = np.unique(triples[ends[:, 0] != ends[:, 1]], axis=0)
    names = [f"E:{i}" for i in range(n_entities)]
    return KnowledgeGraph(names, [f"r{i}" for i in range(RELATIONS)], *split_triples(triples, (0.9, 0.0, 0.1)))


def ours(graph: KnowledgeGraph, name: str) -> tuple[Step, Step]:
    """An epoch, and the filtered ranks of the test triples; PyKEEN counts its dimension in complex numbers."""
    dimension = DIMENSION if name == "transe" else 2 * DIMENSION
    loss: dict[str, Any] = {"loss": "self_adversarial", "reciprocal": False, "negatives": NEGATIVES // 2, "n3": 0.0}
    settings = KGESettings(model=name, dimension=dimension, batch_size=BATCH, **loss)  # the same for all models
    model = model_for(graph, settings)
    epochs = EpochRunner(model, graph, settings)

    def evaluate() -> float:
        return validation_mrr(model, graph, graph.test, KnownTriples(graph.triples, len(graph.relations)))

    return lambda: epochs.run(0), evaluate


def peer(graph: KnowledgeGraph, name: str) -> tuple[Step, Step]:
    """The same of PyKEEN: its own loop, self-adversarial loss, Adam, and its rank-based evaluation."""
    from pykeen import models
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    train, test = map(torch.from_numpy, (graph.train, graph.test))
    factory = CoreTriplesFactory.create(
        mapped_triples=train, num_entities=len(graph.entities), num_relations=len(graph.relations)
    )
    model = getattr(models, PEERS[name])(
        triples_factory=factory, embedding_dim=DIMENSION, loss="nssa", random_seed=0, **LEFT_OUT.get(name, {})
    )
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer="adam",
        negative_sampler="basic",
        negative_sampler_kwargs={"num_negs_per_pos": NEGATIVES},
    )

    losses: list[float] = []

    def epoch() -> None:  # it counts from the first: asked for one epoch again, it trains none
        done = len(losses)
        losses[:] = loop.train(
            factory, num_epochs=done + 1, continue_training=done > 0, batch_size=BATCH, use_tqdm=False
        )
        assert len(losses) == done + 1

    def evaluate() -> object:
        return RankBasedEvaluator(metrics=["mrr"], add_defaults=False).evaluate(
            model.eval(), test, additional_filter_triples=[train], batch_size=256, use_tqdm=False
        )

    return epoch, evaluate


def main(quick: bool = False) -> Table:
    if importlib.util.find_spec("pykeen") is None:
        raise ModuleNotFoundError("benchmark kge needs its peer: pip install pykeen")
    graph = invented(*((300, 2_000) if quick else (ENTITIES, TRIPLES)))
    rows = []
    for name in PEERS:
        pairs = {"ours": ours(graph, name), "peer": peer(graph, name)}
        row: list[object] = [PEERS[name]]
        for i in range(2):
            times = interleaved({who: steps[i] for who, steps in pairs.items()}, repeats=1 if quick else 3)
            row += [f"{times[who].median:.2f} s" for who in pairs]
            row.append(f"{times['ours'].times_faster_than(times['peer']):.1f}x")
        rows.append(row)
    return Table(
        "Graph embeddings against PyKEEN",
        ["model", "epoch", "PyKEEN's", "faster", "filtered evaluation", "PyKEEN's", "faster"],
        rows,
        notes=[
            f"{len(graph.entities):,} entities, {len(graph.train):,} training and {len(graph.test):,} test triples of "
            f"{RELATIONS} relations, {DIMENSION} dimensions (complex numbers for ComplEx and RotatE, two real vectors for "
            f"SimplE), batches of {BATCH}, self-adversarial loss, Adam. {NEGATIVES} negatives of each triple: ours half for "
            "its head and half for its tail, shared by 64 triples, true ones filtered out; PyKEEN's default corrupts "
            "either end and filters none. Its regularizer of ComplEx and its normalization of TransE's entities are off. "
            "Evaluation ranks both ends of all test triples among all entities, and computes the MRR alone. "
            "Medians of interleaved rounds, a factor is the median over the rounds.",
        ],
        peers=["pykeen"],
    )
