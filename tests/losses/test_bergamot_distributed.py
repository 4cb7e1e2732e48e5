"""BERGAMOT in two processes, each with half of the targets, learns what one process learns from all."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from tests.losses.graph_steps import CLASSES, RELATIONS, TEXTS, encoder_of, step_of
from tests.two_processes import in_two_processes

pytestmark = pytest.mark.long

CASES = ("sage", "rgcn", "gat", "cached", "one without edges", "distilled", "distilled, cached")

TEACHER = np.random.default_rng(5).normal(size=(4, 6))
"""A row for each class."""

# What each process has: rows of the texts, nodes with two targets first, and edges; not equally many.
TARGETS = [torch.tensor([[0, 2], [1, 3]]), torch.tensor([[4, 6], [5, 7]])]
OTHERS = [torch.tensor([[8, 9, 10], [9, 8, 11]]), torch.tensor([[12], [13]])]
GRAPHS = [
    torch.tensor([[2, 3, 1, 4, 3], [0, 0, 0, 1, 1], [0, 1, 2, 0, 1]]),
    torch.tensor([[2, 2, 0], [0, 1, 1], [1, 2, 0]]),
]


def of_process(rank: int, case: str) -> tuple[Any, list[str], Tensor]:
    """Graph, texts and labels of one process; the texts are its own and start at 0."""
    from st_biomed.losses.graph_batch import GraphBatch

    nodes = torch.cat([TARGETS[rank], OTHERS[rank]], dim=1)
    used, nodes = nodes.unique(return_inverse=True)
    edges = GRAPHS[rank][:, :0] if case == "one without edges" and rank == 1 else GRAPHS[rank]
    return GraphBatch(nodes, edges), [TEXTS[i] for i in used], CLASSES[2 * rank : 2 * rank + 2]


def of_both(case: str) -> tuple[Any, list[str], Tensor]:
    """The same as one batch: targets first, then the other nodes."""
    from st_biomed.losses.graph_batch import GraphBatch

    nodes = torch.cat([*TARGETS, *OTHERS], dim=1)
    places = [torch.tensor([0, 1, 4, 5, 6]), torch.tensor([2, 3, 7])]
    graphs = [of_process(rank, case)[0].edges for rank in (0, 1)]
    edges = [torch.cat([places[rank][graph[:2]], graph[2:]]) for rank, graph in enumerate(graphs)]
    return GraphBatch(nodes, torch.cat(edges, dim=1)), TEXTS, CLASSES


def learned(folder: str, case: str, batch: tuple[Any, list[str], Tensor], gather: bool) -> dict[str, Tensor]:
    """The parts of a step, and the gradients of the model and of the loss."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.losses.bergamot import BergamotLoss
    from st_biomed.losses.cached_bergamot import CachedBergamotLoss
    from st_biomed.losses.distilled import with_distillation
    from st_biomed.losses.loss_parameters_callback import LossParametersCallback
    from st_biomed.losses.relation_margin import RelationMarginLoss

    model = SentenceTransformer(folder, device="cpu").double()
    encoder = encoder_of(case if case in ("sage", "rgcn") else "gat")
    relation = RelationMarginLoss(16, RELATIONS)
    arguments: dict[str, Any] = {"relation": relation, "gather_across_devices": gather}
    kind: Any = BergamotLoss
    if "cached" in case:
        kind, arguments = CachedBergamotLoss, {**arguments, "mini_batch_size": 3}  # 3 and 2 mini-batches
    loss = kind(model, encoder, **arguments).double()
    if "distilled" in case:
        loss = with_distillation(loss, TEACHER, weight=4.0)
    callback = LossParametersCallback(loss)
    arguments = SimpleNamespace(max_grad_norm=0.0, fp16=False)
    if gather:
        loss.model = DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=False)
        callback.on_train_begin(arguments, SimpleNamespace(global_step=0), None)
    else:
        callback.on_train_begin(arguments, SimpleNamespace(global_step=0), None)
        sizes = [of_process(rank, case)[0].edges.shape[1] for rank in (0, 1)]
        loss._order = lambda edges, draw: orders_of_both(sizes, draw)
    graph, texts, labels = batch
    parts = loss(step_of(model, graph, texts), labels)
    sum(parts.values()).backward()
    if gather:
        callback.on_pre_optimizer_step(arguments, None, None)
    gradients = {name: p.grad for name, p in loss.named_parameters() if p.grad is not None}
    return {
        **{f"part {name}": value.detach() for name, value in parts.items()},
        **{name.replace("model.module.", "model."): value.clone() for name, value in gradients.items()},
    }


def orders_of_both(sizes: list[int], draw: int) -> Tensor:
    """What the two processes draw in their first step, as one permutation."""
    first, second = (np.random.default_rng([0, 0, rank, draw]).permutation(size) for rank, size in enumerate(sizes))
    return torch.from_numpy(np.concatenate([first, second + sizes[0]]))


def process(rank: int, folder: str, out: str) -> dict[str, Any]:
    """What one of the two processes does; its results go to a file."""
    results = {case: learned(folder, case, of_process(rank, case), gather=True) for case in CASES}
    return results


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("case", CASES)
def test_two_processes_learn_what_one_learns_from_all_targets(ranks, tiny_bert_folder, case):
    """Catches summaries and pairs of half of the targets, means over the wrong edges, and a process that waits for ever."""
    expected = learned(str(tiny_bert_folder), case, of_both(case), gather=False)
    names = {name.split(".")[0] for name in expected}
    assert {"model", "graph_encoder", "dgi", "relation", "part dgi", "part relation"} <= names
    assert ("part distillation" in names) == ("distilled" in case)
    relation = [rank[case].pop("part relation") for rank in ranks]
    torch.testing.assert_close(sum(relation) / 2, expected.pop("part relation"), atol=1e-9, rtol=1e-9)
    for rank in ranks:
        assert rank[case].keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(rank[case][name], value, atol=1e-9, rtol=1e-7, msg=name)
