"""Graph embeddings with the defaults of each model on small public graphs, beside published figures.

    pip download --no-deps pykeen==1.11.1
    python evaluation/graph_embeddings.py pykeen-1.11.1-py3-none-any.whl umls kinships nations
    python evaluation/graph_embeddings.py CODEX/data/triples codex-s --models transe complex

The first argument is a wheel of PyKEEN, which contains the three graphs, or a folder with a folder for each graph, with
`train.txt`, `valid.txt` and `test.txt` (head, relation, tail; tab-separated). Ranks are filtered and realistic (a tie counts as
the mean of its ranks), over heads and tails of the test triples. Figures are means over the seeds, with Student's 95% interval. A
published figure is that of the metric beside it.
"""

from __future__ import annotations

import argparse
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators import LinkPredictionEvaluator
from st_biomed.kge import KGESettings, KnowledgeGraph, TrainedKGE, train_kge
from st_biomed.kge.settings import MODEL_NAMES
from st_biomed.metrics.seed_interval import shown_over_seeds
from st_biomed.settings.recipe import run_recipe

IN_WHEEL = "pykeen/datasets/"
BATCH, EPOCHS, PATIENCE = 256, 100, 3
"""Triples per step, maximum number of epochs, and evaluations (every tenth epoch) without improvement."""


class Published(NamedTuple):
    """Published figures of a graph.

    Attributes:
        metric: ``"mrr"`` or ``"hits@10"``.
        figures: Model to figure; none if no figure by the same protocol of the models that are trained here is known.
        source: Where they are from.
        digest: Digest of the graph with these parts; empty if it is not pinned.
        searched: Whether a figure is the best of a search of settings for this graph; those trained here are defaults.
    """

    metric: str
    figures: dict[str, float]
    source: str
    digest: str = ""
    searched: bool = False


GRAPHS = {
    "umls": Published(
        "mrr",
        {},
        "none of these models",
        "24c614d033aa8d5b8c03cca4de3c4dfcff6198e2e04006a0edfe8c28462b4d8e",
    ),
    "kinships": Published(
        "hits@10",
        {"transe": 0.920, "complex": 0.983, "rotate": 0.985, "simple": 0.984, "distmult": 0.925},
        "Ali et al. 2021, results in the repository pykeen/benchmarking, of average ranks: the best of many settings of each model",
        "4fc71cd921cad84fa16732ca0fc356a3044721b2869c5a7dc625be5e2a8f9a28",
        searched=True,
    ),
    "nations": Published(
        "mrr",
        {},
        "none by this protocol: Pu et al. 2022 (doi 10.2478/jdis-2022-0009) do not state how ties are treated",
        "d525849551c74e19befaebfc30d7e8606d62791cfd6f0a171fb9b3e949d5846f",
    ),
    "codex-s": Published(
        "mrr",
        {"transe": 0.354, "complex": 0.465},
        "Safavi and Koutra 2020, README of the published data",
    ),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a wheel of PyKEEN, or a folder of graphs")
    parser.add_argument("graphs", nargs="+", help=f"one or several of {', '.join(GRAPHS)}")
    parser.add_argument("--models", nargs="+", choices=MODEL_NAMES, default=list(MODEL_NAMES))
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    words = parser.parse_args(argv)
    graphs = {name: read_graph(words.source, name) for name in words.graphs}
    for name, graph in graphs.items():
        published = GRAPHS[name]
        print(f"\n{name}: {graph!r}\npublished {published.metric}: {published.source}\n")
        column = f"published {published.metric}{', best of a search' if published.searched else ''}"
        print(f"| model | filtered MRR | hits@1 | hits@10 | {column} | epochs | time |\n|---|--:|--:|--:|--:|--:|--:|")
        for model in words.models:
            print(line(graph, published, model, words.epochs, words.seeds), flush=True)


def line(graph: KnowledgeGraph, published: Published, model: str, epochs: int, seeds: Sequence[int]) -> str:
    """Train a model with each seed; a row of the table. Epochs and seconds are those of one run on average."""
    started = time.perf_counter()
    runs = [train(graph, model, epochs, seed) for seed in seeds]
    found = [figures(trained) for trained in runs]
    seconds = (time.perf_counter() - started) / len(runs)
    known = f"{published.figures[model]:.3f}" if model in published.figures else ""
    shown = " | ".join(shown_over_seeds([of_run[key] for of_run in found]) for key in ("mrr", "hits@1", "hits@10"))
    last = sum(trained.history[-1]["epoch"] for trained in runs) / len(runs)
    return f"| {model} | {shown} | {known} | {last:.0f} | {seconds:.0f} s |"


def train(graph: KnowledgeGraph, model: str, epochs: int = EPOCHS, seed: int = 0) -> TrainedKGE:
    """Train with the defaults of the model."""
    settings = KGESettings(model=model, batch_size=BATCH, epochs=epochs, patience=PATIENCE, seed=seed)
    return train_kge(graph, settings, device="cpu")


def figures(trained: TrainedKGE) -> dict[str, float]:
    """MRR, hits@1 and hits@10 of the test triples, filtered and realistic."""
    graph = trained.graph
    links = LinkPredictionEvaluator(
        graph.entities,
        train=graph.train,
        valid=graph.valid,
        test=graph.test,
        relations=graph.relations,
        n_bootstrap=0,
    )
    found = links.measure_scorer(trained.model.scorer())
    return {key: float(found[links.headline[key]]) for key in ("mrr", "hits@1", "hits@10")}


def read_graph(source: Path, name: str) -> KnowledgeGraph:
    """A public graph with its published parts.

    Args:
        source: A wheel of PyKEEN, or a folder of graphs.
        name: Name of the graph.

    Raises:
        InputError: An unknown or missing graph, a line without three fields, or other parts than the published ones.
    """
    if name not in GRAPHS:
        raise unknown_name("graph", name, GRAPHS)
    is_wheel = source.suffix == ".whl" and source.is_file()
    folder = zipfile.Path(source, f"{IN_WHEEL}{name}/") if is_wheel else source / name
    triples = {part: _read_part(folder / f"{part}.txt") for part in ("train", "valid", "test")}
    rows = [row for part in triples.values() for row in part]
    entities = sorted({end for head, _, tail in rows for end in (head, tail)})
    relations = sorted({relation for _, relation, _ in rows})
    places = [{code: i for i, code in enumerate(codes)} for codes in (entities, relations, entities)]
    parts = {
        part: np.array([[place[word] for place, word in zip(places, row, strict=True)] for row in of_part]).reshape(
            -1, 3
        )
        for part, of_part in triples.items()
    }
    graph = KnowledgeGraph(entities, relations, parts["train"], parts["valid"], parts["test"])
    pinned = GRAPHS[name].digest
    if pinned and graph.digest != pinned:
        raise InputError(f"{source}: {name} has other triples or parts than the published graph ({graph!r})")
    return graph


def _read_part(path: Path | zipfile.Path) -> list[list[str]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the triples of a part of the graph")
    rows = [text.split("\t") for text in path.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows, start=1):
        if len(row) != 3:
            raise InputError(f"{path}:{number}: expected head, relation and tail, found {len(row)} fields")
    return rows


if __name__ == "__main__":
    run_recipe(main)
