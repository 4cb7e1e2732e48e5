"""What BERGAMOT's graph part costs on top of training with text alone, at equal texts embedded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.embedding_names import encoder, precisions, random_names
from benchmarks.harness import Table, interleaved, missed
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.embed import embed_columns
from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphSAGE
from st_biomed.modules.graph_encoder import GraphEncoder

NEIGHBORS = 3
"""Of a target, at most; the paper's code."""

MOST = 1.25
"""The goal, in times of the text alone."""

FEW, MANY = 24, 300
"""Relations: UMLS's 12 kinds of REL with their inverses, and names of relations as NCIt or SNOMED CT have them."""

TEXT_ONLY: dict[str, Any] = {"node_weight": 0, "intermodal_weight": 0, "dgi_weight": 0}


def main(quick: bool = False) -> Table:
    """One step of 128 targets (quick: 4), forward and backward, with each graph encoder and without."""
    targets, repeats = (4, 1) if quick else (128, 3)
    model = encoder()
    width = model.get_embedding_dimension() or 0
    kinds: dict[str, Callable[[], GraphEncoder | None]] = {
        "text alone": lambda: None,
        "GraphSAGE": lambda: GraphSAGE(width),
        f"RGCN, 64 blocks, {FEW} relations": lambda: RGCN(width, FEW),
        f"RGCN, 64 blocks, {MANY} relations": lambda: RGCN(width, MANY),
        f"RGCN, 30 bases, {MANY} relations": lambda: RGCN(width, MANY, bases=30),
        f"RGCN, 64 blocks, {MANY} relations, RGCNConv of the library": lambda: library_convolution(RGCN(width, MANY)),
        f"GATv2, {MANY} relations": lambda: GATv2(width, MANY),
    }
    rows, slower = [], {}
    for precision, encode in precisions(model).items():
        steps, n_texts, n_edges = {}, 0, 0
        for kind, make in kinds.items():
            features, labels = step_of(model, targets, FEW if f" {FEW} " in kind else MANY)
            n_texts, n_edges = len(features["input_ids"]), features["edges"].shape[2]
            steps[kind] = stepper(model, encode, make(), features, labels)
        times = interleaved(steps, repeats)
        alone = times["text alone"]
        for kind, time in times.items():
            overhead = 1 / time.times_faster_than(alone)
            if overhead > MOST and "of the library" not in kind:
                slower[f"{kind} in {precision}"] = f"{overhead:.2f}"
            rows.append([precision, kind, n_texts, n_edges, f"{time.median:.2f} s", f"{overhead:.2f}"])
    return Table(
        "The graph part of BERGAMOT",
        ["text encoder", "graph encoder", "texts", "edges", "a step", "time / text alone"],
        rows,
        notes=[
            f"Forward and backward of all-MiniLM-L6-v2 ({width} wide) on {targets} targets with two ICD-10-CM names each and "
            f"at most {NEIGHBORS} neighbors with a name in each view, cut at 25 tokens; graph encoders as wide, with three "
            "layers, in float32; node-node, intermodal and infomax losses. Text alone embeds the same texts and learns from "
            f"the targets' names. Medians of {repeats} interleaved rounds. Goal: at most {MOST}{missed(slower)}."
        ],
        peers=["sentence-transformers", "transformers", "torch-geometric"],
    )


def step_of(model: Any, targets: int, n_relations: int) -> tuple[dict[str, Any], Tensor]:
    """An invented neighborhood of real names: one in ten neighbors is another target."""
    generator = np.random.default_rng(0)
    counts = generator.integers(0, NEIGHBORS + 1, targets)
    target = np.repeat(np.arange(targets), counts)
    n_edges = len(target)
    new = np.arange(n_edges) + targets
    source = np.where(generator.random(n_edges) < 0.1, generator.integers(0, targets, n_edges), new)
    n_nodes = targets + n_edges
    node_texts = torch.arange(2 * n_nodes).view(2, n_nodes)
    edges = torch.from_numpy(np.stack([source, target, generator.integers(0, n_relations, n_edges)]))
    features = dict(model.preprocess(random_names(2 * n_nodes)))
    labels = torch.arange(targets)[:, None].repeat(1, 2)
    return {**features, "node_texts": node_texts[None], "edges": edges[None]}, labels


def stepper(
    model: Any, encode: Any, graph: GraphEncoder | None, features: dict[str, Any], labels: Tensor
) -> Callable[[], float]:
    """One step; returns the loss."""
    loss = BergamotLoss(model, graph, **({} if graph is not None else TEXT_ONLY))
    loss.embed = lambda texts: embed_columns(encode, [texts])[0]  # type: ignore[method-assign]

    def step() -> float:
        loss.zero_grad()
        value = torch.stack(list(loss([features], labels).values())).sum()
        value.backward()
        return value.item()

    return step


def library_convolution(graph: RGCN) -> RGCN:
    """The same encoder with the convolution that ours takes the parameters of."""
    from torch_geometric.nn import RGCNConv

    for i, ours in enumerate(graph.convolutions):
        sizes = ours.in_channels, ours.out_channels, ours.num_relations
        graph.convolutions[i] = theirs = RGCNConv(*sizes, num_blocks=ours.num_blocks)
        theirs.load_state_dict(ours.state_dict())
    return graph
