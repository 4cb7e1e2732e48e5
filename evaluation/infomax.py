"""When deep graph infomax learns: BERGAMOT's graph encoder over the vectors of a frozen text encoder.

    python evaluation/infomax.py obograph:hp.json -o out/infomax.md --rates 1e-3 1e-2 --steps 100 1000

The losses of the graph are those of ``bergamot_multilingual_open.yaml``. The text encoder is not trained, and each of its vectors is
computed once, so that thousands of steps take minutes. A figure is the loss on other batches of the same terminology,
in evaluation mode; guessing has 2 ln 2 = 1.386. Shuffled neighbors carry no knowledge that
distinguishes true from corrupted nodes:
a loss below that of guessing there comes from elsewhere.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import get_linear_schedule_with_warmup, set_seed

from st_biomed.encoder.load import load_encoder
from st_biomed.encoder.sources import PACKAGED
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.metrics.seed_interval import shown_over_seeds
from st_biomed.modules.graph_arguments import GRAPHS, GraphArguments
from st_biomed.samplers.graph import GraphBatchSampler
from st_biomed.samplers.graph_collator import GraphCollator
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.encoder_run import read_terminology
from st_biomed.training.teacher import TeacherVectors
from st_biomed.training_data import names_dataset
from st_biomed.training_data.concept_graph import ConceptGraph

MEASURED = 20
"""Batches that are measured."""

Step = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("terminology", nargs="+", help="a reader's name, reader:path, or folders; several are merged")
    parser.add_argument("--model", default=PACKAGED, help="the text encoder")
    encoders = [graph for graph in GRAPHS if graph != "none"]
    parser.add_argument("--graphs", nargs="+", default=["published_gat"], choices=encoders)
    parser.add_argument(
        "--neighborhoods", nargs="+", default=["original", "shuffled"], choices=["original", "shuffled"]
    )
    parser.add_argument("--rates", nargs="+", type=float, default=[1e-3], help="learning rates of the graph encoder")
    parser.add_argument("--steps", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--weights", nargs="+", type=float, default=[0.1], help="weights of the node and intermodal losses"
    )
    parser.add_argument("--batch", type=int, default=128, help="names of a batch, two of each concept")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the table")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    terminology = read_terminology(arguments.terminology)
    teacher = TeacherVectors(load_encoder(arguments.model), terminology.strings, max_length=32)
    head = "| graph encoder | neighbors | weights | learning rate | steps | infomax, mean of the seeds | node loss |"
    write(arguments.output, f"{head}\n|---|---|--:|--:|--:|--:|--:|\n")
    for graph, weight, rate, steps, neighborhood in product(
        arguments.graphs, arguments.weights, arguments.rates, arguments.steps, arguments.neighborhoods
    ):
        cell = Cell(graph, neighborhood, weight, rate, steps)
        figures = [trained(terminology, teacher, cell, seed, arguments.batch) for seed in arguments.seeds]
        columns = [
            shown_over_seeds([found[name] for found in figures]) if name in figures[0] else "-"
            for name in ("dgi", "node")
        ]
        row = [graph, neighborhood, f"{weight:g}", f"{rate:g}", f"{steps:,}", *columns]
        write(arguments.output, f"| {' | '.join(row)} |\n", append=True)


class Cell(NamedTuple):
    """What is trained.

    Attributes:
        graph: The graph encoder.
        neighborhood: ``original`` or ``shuffled``.
        weight: Of the node-node and the intermodal loss.
        rate: Learning rate after a warm-up of a tenth of the steps; it decays linearly to 0.
        steps: Number of batches.
    """

    graph: str
    neighborhood: str
    weight: float
    rate: float
    steps: int


def trained(terminology: Terminology, teacher: TeacherVectors, cell: Cell, seed: int, batch: int) -> dict[str, float]:
    """The parts of the loss after training, without their weights, on batches of another seed."""
    set_seed(seed)
    shuffle = seed if cell.neighborhood == "shuffled" else None
    concepts = ConceptGraph(terminology, relations=True, parents=True, inverses=True, shuffle_seed=shuffle)
    encoder = GraphArguments(graph=cell.graph).graph_encoder(teacher.shape[1], len(concepts.relations))
    options: dict[str, Any] = {"node_weight": cell.weight, "intermodal_weight": cell.weight, "lookup": terminology}
    loss = BergamotLoss(None, encoder, dgi_weight=0.1, seed=seed, **options).train()
    optimizer = torch.optim.AdamW(loss.parameters(), lr=cell.rate, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, cell.steps // 10, cell.steps)
    for _, step in zip(range(cell.steps), batches(terminology, concepts, batch, seed)):
        parts = of_step(loss, teacher, step)
        optimizer.zero_grad()
        sum(parts.values(), torch.zeros(())).backward()
        optimizer.step()
        schedule.step()
    loss.eval()
    loss.steps.zero_()  # the same corruptions in every cell
    with torch.no_grad():
        others = zip(range(MEASURED), batches(terminology, concepts, batch, seed + 1000))
        measured = [of_step(loss, teacher, step) for _, step in others]
    return {
        name: sum(float(parts[name]) for parts in measured) / MEASURED / loss.weights[name]
        for name in ("dgi", "node")
        if loss.weights[name]
    }


def batches(terminology: Terminology, concepts: ConceptGraph, batch: int, seed: int) -> Iterator[Step]:
    """Batches without end, with text ids in place of the features of the texts."""
    rows = names_dataset(terminology)
    places = {text: i for i, text in enumerate(terminology.strings)}
    sampler = GraphBatchSampler(rows, batch, terminology=terminology, seed=seed)
    collate = GraphCollator(concepts, lambda texts: {"ids": torch.tensor([places[text] for text in texts])}, seed=seed)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        for drawn in sampler:
            yield collate([rows[i] for i in drawn])
        epoch += 1


def of_step(loss: BergamotLoss, teacher: TeacherVectors, step: Step) -> dict[str, torch.Tensor]:
    """The weighted parts of a step."""
    vectors = torch.from_numpy(teacher[step["text_ids"].numpy()]).float()
    graph = GraphBatch(step["text_node_texts"], step["text_edges"])
    return loss.compute_loss_from_embeddings([vectors], step["label"], graph)


def write(file: Path, text: str, *, append: bool = False) -> None:
    """Write to the file, and print."""
    with file.open("a" if append else "w", encoding="utf-8") as out:
        out.write(text)
    print(text, end="", flush=True)


if __name__ == "__main__":
    run_recipe(main)
