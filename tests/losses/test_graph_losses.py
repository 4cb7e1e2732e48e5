"""Deep graph infomax, the intermodal loss, corrupted graphs and the relation loss, each on given vectors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from st_biomed.errors import InputError
from st_biomed.losses.deep_graph_infomax import DeepGraphInfomaxLoss, corrupted_edges
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.intermodal import IntermodalLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.relation_margin import RelationMarginLoss
from tests.losses.bergamot_losses import made, parts
from tests.losses.graph_steps import CLASSES, EDGES, NODE_TEXTS, vectors
from tests.losses.pair_batches import VECTORS, birds, text_ids


def infomax(weight: Tensor | None = None, width: int = 16) -> DeepGraphInfomaxLoss:
    torch.manual_seed(0)
    loss = DeepGraphInfomaxLoss(width).double()
    if weight is not None:
        loss.weight.data = weight
    return loss


def test_infomax_by_hand():
    """Summary sigmoid(.5) in both dimensions, W = [[1, 2], [0, 1]]."""
    nodes, wrong = torch.eye(2, dtype=torch.float64), torch.tensor([[1.0, 1], [0, 0]], dtype=torch.float64)
    s = 1 / (1 + math.exp(-0.5))
    logits = [3 * s, s], [4 * s, 0.0]
    expected = sum(math.log(1 + math.exp(-logit)) for logit in logits[0]) / 2
    expected += sum(math.log(1 + math.exp(logit)) for logit in logits[1]) / 2
    loss = infomax(torch.tensor([[1.0, 2], [0, 1]], dtype=torch.float64))
    assert loss(nodes, wrong).item() == pytest.approx(expected, abs=1e-12)


def test_infomax_is_binary_cross_entropy_of_both_halves():
    """Catches a mean over both halves, a summary of the corrupted nodes, and W transposed."""
    nodes, wrong, loss = vectors()[:6], vectors()[6:12], infomax()
    s = torch.sigmoid(nodes.mean(0))
    right = torch.stack([torch.sigmoid(g @ loss.weight @ s) for g in nodes])
    false = torch.stack([torch.sigmoid(g @ loss.weight @ s) for g in wrong])
    expected = binary_cross_entropy(right, torch.ones_like(right)) + binary_cross_entropy(
        false, torch.zeros(6).double()
    )
    torch.testing.assert_close(loss(nodes, wrong), expected)


def test_what_does_not_look_at_edges_stays_at_two_log_two():
    """The bound of an encoder without edges, met at W = 0; catches a summary or a sign gone wrong."""
    nodes = vectors()
    for seed in range(20):
        weight = torch.randn(16, 16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        assert infomax(weight)(nodes, nodes).item() >= 2 * math.log(2)
    nothing = infomax(torch.zeros(16, 16, dtype=torch.float64))
    assert nothing(nodes, nodes).item() == pytest.approx(2 * math.log(2), abs=1e-12)
    loss = nothing(nodes, nodes)
    loss.backward()
    torch.testing.assert_close(nothing.weight.grad, torch.zeros_like(nothing.weight))  # the minimum over W


def test_infomax_survives_large_logits_and_halves():
    """Catches the logarithm of a sigmoid that is 0."""
    nodes = (vectors(dtype=torch.float32) * 1e4).requires_grad_()
    loss = infomax().float()
    value = loss(nodes, -nodes)
    value.backward()
    assert value.isfinite() and nodes.grad.isfinite().all() and loss.weight.grad.isfinite().all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(nodes, -nodes), value)
    assert loss(nodes.bfloat16(), nodes.bfloat16()).dtype == torch.float32
    assert loss(nodes[:1], nodes[:1]).isfinite()


def test_infomax_of_other_shapes_is_one_line():
    with pytest.raises(InputError, match=r"must be \[B, 16\], found \[3, 16\] and \[2, 16\]"):
        infomax()(vectors()[:3], vectors()[:2])


def test_corrupted_edges_by_hand():
    """Catches relations that travel along, and ends mixed up."""
    edges, order = torch.tensor([[1, 2, 3], [0, 0, 4], [7, 8, 9]]), torch.tensor([2, 0, 1])
    assert corrupted_edges(edges, order).tolist() == [[1, 2, 3], [4, 0, 0], [7, 8, 9]]
    assert corrupted_edges(edges, order, "src").tolist() == [[3, 1, 2], [0, 0, 4], [7, 8, 9]]
    with pytest.raises(InputError, match="unknown corruption 'target': allowed are 'src', 'trg'"):
        corrupted_edges(edges, order, "target")


@pytest.mark.parametrize("cross_view", [False, True])
def test_intermodal_is_two_losses_of_text_and_graph(cross_view):
    """Catches views mixed, a sum for the mean, and one mining for both halves."""
    text, graph = [vectors()[:4], vectors()[4:8]], [vectors()[8:12], vectors()[10:14]]
    pairs = MultiSimilarityLoss.from_preset(None, "bergamot")
    halves = []
    for view in (0, 1):
        rows = [text[view], graph[1 - view if cross_view else view]]
        halves.append(pairs.compute_loss_from_embeddings([torch.cat(rows)], torch.arange(4).repeat(2)))
    found = IntermodalLoss(pairs, cross_view=cross_view).compute_loss_from_embeddings(text, graph, CLASSES)
    torch.testing.assert_close(found, sum(halves) / 2)


def test_intermodal_golden_number():
    """Fixture A as texts 0 and 2 with graph vectors 1 and 3 is fixture A's loss in both views: with all pairs .498811."""
    pairs = MultiSimilarityLoss.from_preset(None, "bergamot", miner=None)
    text, graph = VECTORS[[0, 2]], VECTORS[[1, 3]]
    labels = torch.tensor([[0, 0], [1, 1]])
    value = IntermodalLoss(pairs).compute_loss_from_embeddings([text, text], [graph, graph], labels)
    assert value.item() == pytest.approx(0.498811, abs=1e-6)


@pytest.mark.parametrize("cross_view", [False, True])
def test_intermodal_without_mining_by_a_loop(cross_view):
    """GEBERT's attention network; catches pairs that are still mined, a mean over some rows, and a miner lost elsewhere."""
    views = [vectors()[4 * i : 4 * i + 3].clone().requires_grad_() for i in range(3)]
    views.append((views[1] + vectors()[11:14]).detach().requires_grad_())
    text, graph = views[:2], views[2:]
    expected = torch.zeros((), dtype=torch.float64)
    for view in (0, 1):
        rows = torch.cat([text[view], graph[1 - view if cross_view else view]])
        rows = rows / rows.norm(dim=1, keepdim=True)
        for i in range(6):
            cosines = [rows[i] @ rows[j] for j in range(6)]
            pull = sum(math.exp(1) * torch.exp(-2 * cosines[j]) for j in range(6) if j != i and j % 3 == i % 3)
            push = sum(torch.exp(50 * (cosines[j] - 0.5)) for j in range(6) if j % 3 != i % 3)
            expected = expected + (torch.log1p(pull) / 2 + torch.log1p(push) / 50) / 6 / 2
    pairs = MultiSimilarityLoss.from_preset(None, "bergamot")
    loss = IntermodalLoss(pairs, cross_view=cross_view, mined=False)
    mined = IntermodalLoss(pairs, cross_view=cross_view)
    found = loss.compute_loss_from_embeddings(text, graph, CLASSES[:3])
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, views), torch.autograd.grad(expected, views))
    assert not torch.allclose(found, mined.compute_loss_from_embeddings(text, graph, CLASSES[:3]))


def test_mining_is_left_out_of_the_intermodal_loss_alone():
    """Catches an argument that does nothing, and one that takes the miner of the other losses away."""
    found, mined = parts(made(intermodal_miner=False)), parts(made())
    assert not torch.allclose(found.pop("intermodal"), mined.pop("intermodal"))
    torch.testing.assert_close(found, mined)


@pytest.mark.parametrize("cross_view", [False, True])
def test_intermodal_looks_concepts_up(cross_view):
    """Catches a text masked from its own graph vector, and the label of a view on the graph vectors of the other.

    "crane" is a bird and a machine, so it is no negative of "derrick"; "grus" is one.
    """
    pairs = MultiSimilarityLoss(None, lookup=birds(), mask_same_text=False, miner=None)
    views = text_ids(birds(), "crane", "carp", "derrick"), text_ids(birds(), "grus", "carp", "derrick")
    text, graph = [vectors()[:3], vectors()[3:6]], [vectors()[6:9], vectors()[9:12]]
    halves = [
        pairs.compute_loss_from_embeddings([torch.cat([text[i], graph[j]])], torch.cat([views[i], views[j]]))
        for i, j in ([(0, 1), (1, 0)] if cross_view else [(0, 0), (1, 1)])
    ]
    loss = IntermodalLoss(pairs, cross_view=cross_view)
    found = loss.compute_loss_from_embeddings(text, graph, torch.stack(views, dim=1))
    torch.testing.assert_close(found, sum(halves) / 2)
    assert not torch.allclose(*halves)
    with pytest.raises(InputError, match="pairs must have mask_same_text=False"):
        IntermodalLoss(MultiSimilarityLoss(None, lookup=birds()))


@pytest.mark.parametrize("score", ["distmult", "transe"])
def test_relation_loss_by_a_loop(score):
    """Catches heads for tails, a right answer taken for a wrong one, and a margin with the wrong sign."""
    torch.manual_seed(1)
    loss = RelationMarginLoss(16, 3, score=score, margin=2.0).double()
    loss.relations.data = torch.randn(3, 16, dtype=torch.float64)
    x, order = vectors(), torch.tensor([2, 1, 3, 0, 5, 6, 7, 4])

    def plausibility(h: int, r: int, t: int) -> float:
        if score == "distmult":
            return (x[h] * loss.relations[r] * x[t]).sum().item()
        return -(x[h] + loss.relations[r] - x[t]).norm().item()

    triples = list(zip(*EDGES.tolist()))
    expected, right, itself = 0.0, 0, 0
    for e, (h, t, r) in enumerate(triples):
        wrong = triples[order[e]][1]
        right += (h, wrong, r) in triples
        itself += wrong == h
        if (h, wrong, r) in triples or wrong == h:
            continue
        expected += max(0.0, 2.0 + plausibility(h, r, wrong) - plausibility(h, r, t))
    assert right and itself and right + itself < len(triples)
    value = loss(x, EDGES, order)
    assert value.item() == pytest.approx(expected, abs=1e-9)
    value.backward()
    assert loss.relations.grad.any()


def test_relation_loss_of_bad_arguments_and_of_no_edges():
    with pytest.raises(InputError, match="unknown score 'rotate': allowed are 'distmult', 'transe'"):
        RelationMarginLoss(16, 3, score="rotate")
    with pytest.raises(InputError, match="margin must be a number above 0, found 0"):
        RelationMarginLoss(16, 3, margin=0)
    with pytest.raises(InputError, match="n_relations must be an integer of at least 1, found 0"):
        RelationMarginLoss(16, 0)
    with pytest.raises(InputError, match="texts have 16 dimensions, the relations 8"):
        RelationMarginLoss(8, 3)(vectors(), EDGES, torch.arange(8))
    with pytest.raises(InputError, match="edges have relation 2, the loss has vectors of 2 relations"):
        RelationMarginLoss(16, 2)(vectors(), EDGES, torch.arange(8))
    assert RelationMarginLoss(16, 2)(vectors(), EDGES[:, :0], torch.arange(0)) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GraphBatch(NODE_TEXTS.T, EDGES), r"node_texts must be int64 \[1, 2, n\], found torch.int64 \[9, 2\]"),
        (lambda: GraphBatch(NODE_TEXTS, EDGES[:2]), r"edges must be int64 \[1, 3, n\], found torch.int64 \[2, 8\]"),
        (lambda: GraphBatch(NODE_TEXTS, EDGES.float()), r"edges must be .* found torch.float32 \[3, 8\]"),
        (lambda: GraphBatch(NODE_TEXTS, EDGES).check(13, CLASSES), "node_texts must be from 0 to 12, found 0 to 13"),
        (lambda: GraphBatch(NODE_TEXTS[:, :8], EDGES).check(14, CLASSES), "edges must be from 0 to 7, found 0 to 8"),
        (lambda: GraphBatch(NODE_TEXTS, EDGES).check(14, CLASSES[:, 0]), r"labels must be \[B, 2\].*found"),
        (
            lambda: GraphBatch(NODE_TEXTS, EDGES).check(14, CLASSES > 0),
            "labels must be signed integers, found torch.bool",
        ),
        (lambda: GraphBatch(NODE_TEXTS[:, :3], EDGES).check(14, CLASSES), "with B of at most 3 nodes"),
    ],
)
def test_a_batch_that_does_not_fit_together_is_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()
