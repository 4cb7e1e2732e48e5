"""BERGAMOT's loss: its contract, its parts by their formulas, and what is refused."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from sentence_transformers.sentence_transformer.losses import AdaptiveLayerLoss, MatryoshkaLoss
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached_bergamot import CachedBergamotLoss
from st_biomed.losses.deep_graph_infomax import corrupted_edges
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.relation_margin import RelationMarginLoss
from tests.contracts.loss_contract import LossContract
from tests.losses.bergamot_losses import KINDS, LABELS, TEXT_ONLY, made, parts
from tests.losses.graph_steps import (
    CLASSES,
    EDGES,
    GRAPH,
    NO_EDGES,
    NODE_TEXTS,
    RELATIONS,
    TEXTS,
    encoder_of,
    step_of,
    vectors,
)
from tests.losses.pair_batches import birds, text_ids


class TestBergamotLossContract(LossContract):
    """Every row a target whose names are one, every target a neighbor of every other; no draw in it."""

    loss_class = BergamotLoss
    arguments = {"graph_encoder": encoder_of("gat", 6), "dgi_weight": 0}
    nothing_to_learn = {"one row": [3], "one class": [3, 3, 3]}
    after_labels = (GRAPH,)

    def value(self, loss: nn.Module, embeddings: Tensor, labels: Tensor) -> Tensor:
        loss.to(torch.promote_types(embeddings.dtype, torch.float32))
        n = len(labels)
        pairs = [(i, j, 0) for i, j in product(range(n), range(n)) if i != j]
        graph = GraphBatch(torch.arange(n).expand(2, -1), torch.tensor(pairs, dtype=torch.int64).reshape(-1, 3).T)
        labels = labels[:, None].expand(-1, 2)
        return sum(loss.compute_loss_from_embeddings([embeddings], labels, graph).values())


class TestCachedBergamotLossContract(TestBergamotLossContract):
    loss_class = CachedBergamotLoss


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_by_their_formulas(kind):
    """One view after the other; catches views or names mixed, a weight unused, and corrupted nodes for real ones."""
    loss = made(kind, node_weight=2.0, intermodal_weight=3.0, dgi_weight=5.0, text_weight=7.0)
    found = parts(loss)
    pairs = MultiSimilarityLoss.from_preset(None, "bergamot")
    names = [vectors()[NODE_TEXTS[view]] for view in (0, 1)]
    t = [text_vectors[:4] for text_vectors in names]
    g = [loss.graph_encoder(text_vectors, EDGES[:2], EDGES[2])[:4] for text_vectors in names]
    value = lambda a, b: pairs.compute_loss_from_embeddings([torch.cat([a, b])], torch.arange(4).repeat(2))
    loss.steps.zero_()
    dgi = [
        loss.dgi(
            g[view], loss.graph_encoder(names[view], *split(corrupted_edges(EDGES, loss._order(EDGES, view))))[:4]
        )
        for view in (0, 1)
    ]
    expected = {
        "text": 7 * value(*t),
        "node": 2 * value(*g),
        "intermodal": 3 * (value(t[0], g[0]) + value(t[1], g[1])) / 2,
        "dgi": 5 * (dgi[0] + dgi[1]) / 2,
    }
    assert all(part.item() > 0 for part in expected.values())
    torch.testing.assert_close(found, expected)


def split(edges: Tensor) -> tuple[Tensor, Tensor]:
    return edges[:2], edges[2]


def test_views_have_corruptions_of_their_own_that_change_with_the_steps():
    """Catches one corruption for both views, as published, and one for all steps."""
    loss = made()
    draws = {tuple(loss._order(EDGES, view).tolist()) for view in (0, 1)}
    loss.steps += 1
    draws |= {tuple(loss._order(EDGES, view).tolist()) for view in (0, 1)}
    draws |= {tuple(made(seed=1)._order(EDGES, view).tolist()) for view in (0, 1)}
    assert len(draws) == 6 and all(sorted(draw) == list(range(8)) for draw in draws)
    assert made()._order(EDGES, 0).tolist() == made()._order(EDGES, 0).tolist()
    assert parts(made(), at=0)["dgi"] != parts(made(), at=1)["dgi"]
    assert parts(made(), at=0)["dgi"] != parts(made(corruption="src"), at=0)["dgi"]


def test_steps_are_counted_in_training_alone():
    """Catches an evaluation that changes what training draws next."""
    loss = made()
    parts(loss)
    assert loss.steps == 1
    with torch.no_grad():
        parts(loss, at=5)
    assert loss.steps == 5


class WithoutEdges(nn.Module):
    """An encoder that does not look at the edges."""

    width, kind, settings = 16, "blind", {}

    def forward(self, states: Tensor, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        return states.tanh()


def test_infomax_of_an_encoder_blind_to_edges_cannot_learn():
    """At least 2 log 2 a view, equal at W = 0; catches features that are corrupted along with the edges."""
    loss = BergamotLoss(None, WithoutEdges(), dgi_weight=1).double()
    assert parts(loss)["dgi"].item() > 2 * math.log(2)
    loss.dgi.weight.data.zero_()
    assert parts(loss)["dgi"].item() == pytest.approx(2 * math.log(2), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_node_order_and_repeated_edges_change_nothing(kind):
    """Catches draws that follow the numbers of nodes or count repeats, and edges that count twice."""
    relation = RelationMarginLoss(16, RELATIONS).double()
    loss = made(kind, relation=relation)
    expected = parts(loss)
    order = torch.tensor([2, 0, 3, 1, 8, 4, 7, 6, 5])
    place = order.argsort()
    moved = torch.cat([place[EDGES[:2]], EDGES[2:]])
    repeated = torch.cat([moved, moved[:, [3, 0]], torch.tensor([[1, 4], [1, 4], [0, 1]])], dim=1)
    found = parts(loss, GraphBatch(NODE_TEXTS[:, order], repeated), CLASSES[order[:4]])
    torch.testing.assert_close(found, expected)


def test_a_relation_matters_where_the_encoder_has_relations():
    graph = GraphBatch(NODE_TEXTS, torch.cat([EDGES[:2], (EDGES[2:] + 1) % RELATIONS]))
    for kind in KINDS:
        same = torch.equal(parts(made(kind), graph)["node"], parts(made(kind))["node"])
        assert same == (kind in ("sage", "published_gat"))


def test_the_relation_loss_is_a_mean_over_edges_and_views():
    relation = RelationMarginLoss(16, RELATIONS).double()
    loss = made(relation=relation, relation_weight=0.5)
    found = parts(loss)["relation"]
    loss.steps.zero_()
    both = [relation(vectors()[NODE_TEXTS[view]], EDGES, loss._order(EDGES, 2 + view)) for view in (0, 1)]
    torch.testing.assert_close(found, 0.5 * sum(both) / 2 / 8)
    assert not torch.allclose(*both)
    assert "relation" not in parts(made(relation=relation, relation_weight=0))


def test_labels_are_looked_up_and_one_name_in_both_views_is_still_a_node():
    """Catches text ids taken for classes, and neighborhoods left out because the target has one name."""
    labels = torch.stack([text_ids(birds(), "grus", "carp"), text_ids(birds(), "crane", "carp")], dim=1)
    found, expected = parts(made(lookup=birds()), GRAPH, labels), parts(made(), GRAPH, CLASSES[:2])
    torch.testing.assert_close(found["node"], expected["node"])
    torch.testing.assert_close(found["intermodal"], expected["intermodal"])
    assert not torch.allclose(found["text"], expected["text"])  # carp is no pair of itself
    unmasked = made(lookup=birds(), mask_same_text=False)
    torch.testing.assert_close(parts(unmasked, GRAPH, labels)["text"], expected["text"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_nodes_alone_has_graph_vectors_where_they_are_asked_for(kind):
    """The control without neighbors; catches infomax of equal graphs, and parts that are silently 0."""
    loss = made(kind, edgeless=True)
    found = parts(loss, NO_EDGES)
    assert found["dgi"] == 0 and found["text"] > 0
    alone = torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    names = vectors()[NO_EDGES.node_texts[:, : len(CLASSES)]]
    graphs = [loss.graph_encoder(view, *alone) for view in names]
    torch.testing.assert_close(found["node"], loss.node.compute_loss_from_embeddings(graphs, CLASSES))
    expected = loss.intermodal.compute_loss_from_embeddings(list(names), graphs, CLASSES)
    torch.testing.assert_close(found["intermodal"], expected)
    plain = parts(made(kind), NO_EDGES)
    assert plain["node"] == plain["intermodal"] == plain["dgi"] == 0
    torch.testing.assert_close(parts(loss), parts(made(kind)))


def test_what_has_no_weight_is_not_computed():
    """Catches a graph encoder that runs for nothing."""
    loss = made(**TEXT_ONLY)
    loss.graph_encoder.forward = None
    assert parts(loss).keys() == {"text"} and loss.dgi is None
    alone = BergamotLoss(None, None, **TEXT_ONLY)
    torch.testing.assert_close(parts(alone), parts(loss))
    assert parts(made(text_weight=0, dgi_weight=0, intermodal_weight=0)).keys() == {"node"}
    calls: list[int] = []
    loss = made(dgi_weight=0)
    loss.graph_encoder.register_forward_pre_hook(lambda module, args: calls.append(len(args[0])))
    parts(loss)
    assert calls == [2 * 9]  # both views at once, no corrupted ones


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_weight": -1}, "node_weight must be a number of at least 0, found -1"),
        ({**TEXT_ONLY, "text_weight": 0}, "at least one weight must be above 0, found only 0"),
        ({"graph_encoder": None}, "graph_encoder may be None only if node_weight, intermodal_weight, dgi_weight is 0"),
        ({"graph_encoder": nn.Linear(6, 6)}, "graph_encoder must be a graph encoder, found Linear"),
        ({"corruption": "target"}, "unknown corruption 'target': allowed are 'src', 'trg'"),
        ({"seed": -1}, "seed must be an integer of at least 0, found -1"),
        ({"lookup": 3}, "lookup must be a ConceptLookup, a Terminology or None, found int"),
    ],
)
def test_arguments_are_checked_when_the_loss_is_made(arguments, message):
    with pytest.raises(InputError, match=message):
        BergamotLoss(None, **{"graph_encoder": encoder_of("sage"), **arguments})


def test_what_does_not_fit_the_model_or_the_batch_is_one_line(tiny_bert):
    with pytest.raises(InputError, match="graph_encoder must have the model's width 16, found 8"):
        BergamotLoss(tiny_bert, encoder_of("sage", 8))
    with pytest.raises(InputError, match="mini_batch_size must be an integer of at least 1, found 0"):
        CachedBergamotLoss(tiny_bert, encoder_of("sage"), mini_batch_size=0)
    with pytest.raises(InputError, match="cannot be wrapped in a loss over parts of the vectors"):
        MatryoshkaLoss(tiny_bert, CachedBergamotLoss(tiny_bert, encoder_of("sage")), [16, 8])
    loss = BergamotLoss(tiny_bert, encoder_of("sage"))
    for wrapped in (MatryoshkaLoss(tiny_bert, loss, [16, 8]), AdaptiveLayerLoss(tiny_bert, loss)):
        with pytest.raises(InputError, match="^BergamotLoss cannot be wrapped in a loss over parts of the vectors"):
            wrapped(step_of(tiny_bert), LABELS)
    with pytest.raises(InputError, match="the batch has no 'node_texts', it has attention_mask, input_ids"):
        loss([dict(tiny_bert.preprocess(TEXTS))], LABELS)
    with pytest.raises(InputError, match="the batch must have one text column, found 2"):
        loss(step_of(tiny_bert) * 2, LABELS)
    with pytest.raises(InputError, match="embedding needs a model"):
        made()(step_of(tiny_bert), LABELS)


def test_config_tells_what_the_graph_was():
    config = BergamotLoss(None, encoder_of("rgcn"), cross_view=True).get_config_dict()
    assert config["graph_encoder"]["kind"] == "rgcn" and config["graph_encoder"]["n_relations"] == RELATIONS
    assert config["dgi_weight"] == 0.1 and config["cross_view"] is True and config["intermodal_miner"] is True
    assert CachedBergamotLoss(None, encoder_of("sage")).get_config_dict()["mini_batch_size"] == 64
    assert parts(made(), NO_EDGES)["dgi"] == 0
