"""The published graph encoders against dense matrices, and what a residual does to the intermodal loss."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, dropout, gelu, leaky_relu, normalize

from st_biomed.errors import InputError
from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphEncoder, GraphSAGE
from st_biomed.modules.graph_encoders_by_name import load_graph_encoder
from st_biomed.modules.published_graph_encoder import PublishedGATv2, PublishedGraphSAGE, PublishedRGCN
from tests.modules.test_graph_encoder import EDGES, RELATIONS, TYPES, WIDTH, N, states

MAKE = {
    "published_sage": lambda **o: PublishedGraphSAGE(WIDTH, **o),
    "published_rgcn": lambda **o: PublishedRGCN(WIDTH, RELATIONS, blocks=4, **o),
    "published_gat": lambda **o: PublishedGATv2(WIDTH, RELATIONS, heads=2, **o),
}


def made(kind: str, **options) -> GraphEncoder:
    torch.manual_seed(7)
    encoder = MAKE[kind](**options).double().eval()
    with torch.no_grad():
        for parameter in encoder.parameters():  # biases start at 0, where an error in them does not show
            parameter += 0.2 * torch.randn_like(parameter)
    return encoder


def counts() -> Tensor:
    """Edges of a relation from a node to another: ``[R, N, N]``, by target and source."""
    out = torch.zeros(RELATIONS, N, N, dtype=torch.float64)
    out[TYPES, EDGES[1], EDGES[0]] = 1
    return out


def dense(kind: str, conv, x: Tensor, self_loops: bool) -> Tensor:
    """One convolution as products of matrices over all pairs of nodes."""
    edges = counts()
    if kind == "published_sage":
        pairs = edges.sum(0).clamp(max=1)
        mean = pairs @ x / pairs.sum(1, keepdim=True).clamp(min=1)
        return mean @ conv.lin_l.weight.T + conv.lin_l.bias + x @ conv.lin_r.weight.T
    if kind == "published_rgcn":
        out = x @ conv.root + conv.bias
        for pairs, blocks in zip(edges, conv.weight):
            out = out + pairs @ x @ torch.block_diag(*blocks) / pairs.sum(1, keepdim=True).clamp(min=1)
        return out
    times = edges.sum(0) + (torch.eye(N, dtype=torch.float64) if self_loops else 0)
    heads = (x @ conv.lin_l.weight.T + conv.lin_l.bias).view(N, conv.heads, -1)
    out = []
    for h in range(conv.heads):
        v = heads[:, h]
        share = times * (leaky_relu(v[:, None] + v[None], 0.2) @ conv.att[0, h]).exp()
        out.append(share @ v / share.sum(1, keepdim=True).clamp(min=1e-300))
    return torch.cat(out, dim=1) + conv.bias


@pytest.mark.parametrize("options", [{}, {"hidden": 16, "layers": 2}], ids=str)
@pytest.mark.parametrize("kind", [*MAKE, "published_gat alone"])
def test_dense_matrices_give_the_same(kind: str, options: dict):
    """Catches a residual, a second way of a node to itself, a neighbor by two relations that counts once, a last layer without
    its linear one."""
    kind, _, alone = kind.partition(" ")
    encoder = made(kind, **options, **({"self_loops": False} if alone else {}))
    x = states()
    found = encoder(x, EDGES, TYPES)
    for i, conv in enumerate(encoder.convolutions):
        x = dense(kind, conv, x, not alone)
        x = gelu(x) if i + 1 < len(encoder.convolutions) else x
    if kind == "published_gat":
        x = x @ encoder.output.weight.T + encoder.output.bias
    torch.testing.assert_close(found, x)


@pytest.mark.parametrize("kind", MAKE)
def test_gradients_are_those_of_the_dense_matrices(kind: str):
    """Catches a parameter that no gradient reaches, and a detached share of the attention."""
    encoder = made(kind, layers=1)
    grads = []
    for whole in (True, False):
        encoder.zero_grad()
        x = states().requires_grad_()
        out = encoder(x, EDGES, TYPES) if whole else dense(kind, encoder.convolutions[0], x, self_loops=True)
        if kind == "published_gat" and not whole:
            out = encoder.output(out)
        (out**3).sum().backward()
        grads.append([x.grad, *(parameter.grad for parameter in encoder.parameters())])
    torch.testing.assert_close(grads[0], grads[1])
    assert all(grad.any() for grad in grads[0])


def test_dropout_precedes_the_activation():
    """GELU of a dropped and rescaled state is not the dropped and rescaled GELU."""
    encoder = made("published_sage", layers=2, dropout=0.5).train()
    torch.manual_seed(1)
    found = encoder(states(), EDGES)
    torch.manual_seed(1)
    inner = gelu(dropout(dense("published_sage", encoder.convolutions[0], states(), True), 0.5))
    torch.testing.assert_close(found, dense("published_sage", encoder.convolutions[1], inner, True))


def test_the_attention_drops_in_training_alone():
    for share, equal in ((0.0, True), (0.5, False)):
        encoder = made("published_gat", dropout=0.0, attention_dropout=share)
        expected = encoder(states(), EDGES, TYPES)
        assert torch.allclose(encoder.train()(states(), EDGES, TYPES), expected) == equal
    with pytest.raises(InputError, match="attention_dropout must be at least 0 and below 1, found 1"):
        PublishedGATv2(WIDTH, RELATIONS, attention_dropout=1)


def test_without_self_loops_no_text_of_a_node_of_its_own_counts():
    """The states of nodes that nobody speaks to are constant, so they tell nothing in the layers that follow."""
    nobody = [3, 4, 5, 6]
    alone = made("published_gat", self_loops=False, layers=1)(states(), EDGES, TYPES)[nobody]
    assert torch.allclose(alone, alone[:1].expand_as(alone))
    looped = made("published_gat", layers=1)(states(), EDGES, TYPES)[nobody]
    assert not torch.allclose(looped, looped[:1].expand_as(looped))


def test_settings_of_a_saved_encoder_are_its_own(tmp_path):
    """Catches a residual that comes back when an encoder is loaded, and a lost setting of the attention."""
    encoder = made("published_gat", attention_dropout=0.25, self_loops=False).float()
    encoder.save(tmp_path)
    loaded = load_graph_encoder(tmp_path)
    assert "residual" not in encoder.settings and loaded.settings == encoder.settings
    assert loaded.settings["attention_dropout"] == 0.25 and loaded.convolutions[0].dropout == 0.25
    assert torch.equal(loaded(states().float(), EDGES, TYPES), encoder.eval()(states().float(), EDGES, TYPES))


TARGETS, NEIGHBORS, WIDE = 64, 3, 384


def found_first(encoder: GraphEncoder) -> float:
    """Share of targets whose text is nearest to their own graph vector, before any training; chance is 1 of 64."""
    generator = torch.Generator().manual_seed(11)
    texts = normalize(torch.randn(TARGETS * (1 + NEIGHBORS), WIDE, generator=generator))
    sources = torch.arange(TARGETS, len(texts))
    edges = torch.stack([sources, sources % TARGETS])
    with torch.no_grad():
        graphs = encoder.eval()(texts, edges, torch.randint(0, 4, (len(sources),), generator=generator))[:TARGETS]
    nearest = cosine_similarity(texts[:TARGETS, None], graphs[None], dim=2).argmax(1)
    return (nearest == torch.arange(TARGETS)).double().mean().item()


@pytest.mark.parametrize("kind", ["sage", "rgcn", "gat"])
def test_a_residual_solves_the_intermodal_task_before_training(kind: str):
    """With it every text finds its own graph vector first; without it, and as published, it is chance."""
    torch.manual_seed(0)
    make, published = {
        "sage": (lambda **o: GraphSAGE(WIDE, **o), PublishedGraphSAGE(WIDE)),
        "rgcn": (lambda **o: RGCN(WIDE, 4, **o), PublishedRGCN(WIDE, 4)),
        "gat": (lambda **o: GATv2(WIDE, 4, **o), PublishedGATv2(WIDE, 4)),
    }[kind]
    assert found_first(make()) == 1
    assert found_first(make(residual=False)) < 0.1
    assert found_first(published) < 0.1
