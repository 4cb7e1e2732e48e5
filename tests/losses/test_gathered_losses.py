"""MS loss v3, Barlow Twins, self-distillation and definitions in two processes, each with half of the names, learn what one learns from all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from st_biomed.losses.gathering import _number
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.terminology import Terminology
from st_biomed.terminology.definition_lookup import DefinitionLookup
from st_biomed.training_data.relation_lookup import RelationLookup
from tests.fresh import START
from tests.losses.bird_graph import BIRDS, GRAPH, graph_similarity

KINDS = (
    "kge table",
    "kge similarity given",
    "barlow twins, one column",
    "barlow twins, two columns",
    "self-distillation",
    "self-distillation, a share",
    "definitions with self-distillation, a share",
    "definitions with self-distillation, a share, cached",
)
LABELS = torch.tensor([0, 1, 2, 0, 3, 1, 4, 4])


def gradient(kind: str, rows: slice, gather: bool) -> tuple[Tensor, Tensor]:
    """Value of the loss of these rows, and its gradient on a weight that the embeddings come from."""
    from st_biomed.losses.barlow_twins import BarlowTwinsLoss
    from st_biomed.losses.distilled import CachedDistilledLoss, DistilledLoss
    from st_biomed.losses.info_nce import InfoNCELoss
    from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss
    from st_biomed.losses.self_distillation import SelfDistillationLoss

    generator = torch.Generator().manual_seed(6)
    weight = torch.randn(5, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    columns = [(column @ weight)[rows] for column in torch.randn(2, 8, 5, generator=generator, dtype=torch.float64)]
    labels = LABELS[rows]
    options = {"gather_across_devices": gather}
    if kind == "kge table":
        loss: nn.Module = KGEMarginMultiSimilarityLoss(
            None, GRAPH, lookup=BIRDS, mask_same_text=False, miner=None, **options
        )
        value = loss.compute_loss_from_embeddings(columns[:1], labels)
    elif kind == "kge similarity given":
        loss = KGEMarginMultiSimilarityLoss(None, None, miner=None, **options)
        value = loss.compute_loss_from_embeddings(columns[:1], labels, kge_similarity=graph_similarity(LABELS))
    elif kind.startswith("self-distillation"):
        loss = SelfDistillationLoss(None, np.eye(5), share=0.7 if "share" in kind else 1.0, **options)
        value = loss.compute_loss_from_embeddings(columns[:1], labels)
    elif kind.startswith("definitions"):
        toy = Terminology.read("toy", definitions=True, trees=2, depth=1)
        parts = (
            InfoNCELoss(None, miner=None, temperature=0.5, lookup=DefinitionLookup(toy), **options),
            SelfDistillationLoss(None, np.eye(len(toy.strings) + len(toy.definitions), 5), 2.0, share=0.5, **options),
        )
        texts = [[toy.concept_texts.row(row["concept"])[0], n] for n, row in enumerate(toy.definitions.to_pylist())]
        labels = torch.tensor([place + i * len(toy.strings) for pair in texts for i, place in enumerate(pair)])[rows]
        if "cached" in kind:
            return cached_gradient(CachedDistilledLoss(None, *parts, mini_batch_size=3), columns[0], labels, weight)
        loss = DistilledLoss(None, *parts)
        value = loss.compute_loss_from_embeddings(columns[:1], labels)
    else:
        loss = BarlowTwinsLoss(None, 0.3, **options)
        columns = columns[:1] if "one" in kind else columns
        value = loss.compute_loss_from_embeddings(columns, labels)
    value.backward()
    return value.detach(), weight.grad


def cached_gradient(loss: nn.Module, rows: Tensor, labels: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The same of a cached loss, whose backward pass ends at the embeddings of each mini-batch."""
    pieces = rows.split(loss.mini_batch_size)
    leaves = [piece.detach().requires_grad_() for piece in pieces]
    value = loss.calculate_loss([leaves], (labels, None), with_backward=True)
    torch.autograd.backward(pieces, [leaf.grad for leaf in leaves])
    return value.detach(), weight.grad


def refused(rank: int) -> str:
    """What is said where the processes are in batches of different datasets, whose losses have equally many rows."""
    from st_biomed.errors import InputError
    from st_biomed.losses.info_nce import InfoNCELoss

    loss = InfoNCELoss(None, temperature=0.5 + rank, gather_across_devices=True)
    try:
        loss.compute_loss_from_embeddings([torch.eye(4)], torch.tensor([0, 0, 1, 1]))
    except InputError as error:
        return str(error)
    return ""


def process(rank: int, out: str) -> None:
    """What one of the two processes does; its results go to a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{out}/meet", rank=rank, world_size=2)
    results = {}
    for kind in KINDS:
        value, grad = gradient(kind, slice(4 * rank, 4 * rank + 4), gather=True)
        dist.all_reduce(grad)  # sentence-transformers averages over the processes
        results[kind] = value, grad / 2
    results["other losses"] = refused(rank)
    torch.save(results, f"{out}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, tuple[Tensor, Tensor]]]:
    out: Path = tmp_path_factory.mktemp("ranks")
    mp.start_processes(process, args=(str(out),), nprocs=2, start_method=START)
    return [torch.load(out / f"{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_learn_what_one_learns_from_all(ranks, kind):
    """Catches K of one process's labels, pairs that are found in one process only, and means over half of the batch."""
    expected = gradient(kind, slice(None), gather=False)
    assert expected[1].abs().max() > 1e-3
    for rank in ranks:
        torch.testing.assert_close(rank[kind], expected, atol=1e-9, rtol=1e-9)


@pytest.mark.long
def test_texts_of_two_datasets_are_not_gathered_into_one_loss(ranks):
    """Catches sentence-transformers' mixing of several datasets, where each process draws its own."""
    for rank in ranks:
        assert "the processes are in batches of different datasets" in rank["other losses"]
        assert "RankAlignedMixing()" in rank["other losses"]


def test_labels_of_another_kind_make_another_loss():
    """Catches relation pairs gathered with names: one preset for both, and one terminology."""
    terms = Terminology.read("toy", definitions=True, trees=2, depth=1)
    lookups = [
        terms,
        RelationLookup(terms),
        RelationLookup(terms, shared_concept_negatives=True),
        DefinitionLookup(terms),
    ]
    made = [MultiSimilarityLoss.from_preset(None, "hiprbert", lookup=lookup) for lookup in lookups]
    assert len({_number(loss) for loss in made}) == len(lookups)
    assert _number(made[0]) == _number(MultiSimilarityLoss.from_preset(None, "hiprbert", lookup=terms))
