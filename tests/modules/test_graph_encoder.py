"""Graph encoders against loops over the edges, and against the library's own convolution."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from torch import Tensor
from torch.nn.functional import gelu, leaky_relu
from torch_geometric.nn import RGCNConv

from st_biomed.errors import InputError
from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphEncoder, GraphSAGE
from st_biomed.modules.graph_edges import distinct_edges, side_by_side
from st_biomed.modules.graph_encoders_by_name import GRAPH_ENCODERS, load_graph_encoder
from st_biomed.modules.published_graph_encoder import PublishedGATv2, PublishedGraphSAGE, PublishedRGCN
from st_biomed.modules.relational_convolution import EdgewiseRGCNConv

WIDTH, N, RELATIONS = 8, 7, 5

# Node 5 is isolated, 6 only speaks; 0 and 1 hear each other; two relations of one pair.
EDGES = torch.tensor([[3, 4, 0, 1, 2, 3, 6, 6], [0, 0, 1, 0, 1, 2, 2, 2]])
TYPES = torch.tensor([0, 2, 1, 1, 4, 0, 2, 3])

MAKE = {
    "sage": lambda **o: GraphSAGE(WIDTH, **o),
    "rgcn, blocks": lambda **o: RGCN(WIDTH, RELATIONS, blocks=4, **o),
    "rgcn, bases": lambda **o: RGCN(WIDTH, RELATIONS, bases=3, **o),
    "gat": lambda **o: GATv2(WIDTH, **o),
    "gat, relations": lambda **o: GATv2(WIDTH, RELATIONS, relation_width=3, **o),
    "gat, own weights": lambda **o: GATv2(WIDTH, RELATIONS, heads=4, share_weights=False, **o),
    "published sage": lambda **o: PublishedGraphSAGE(WIDTH, **o),
    "published rgcn": lambda **o: PublishedRGCN(WIDTH, RELATIONS, blocks=4, **o),
    "published gat": lambda **o: PublishedGATv2(WIDTH, RELATIONS, **o),
}
TYPED = [kind for kind in MAKE if "relations" in kind or "rgcn" in kind or "own" in kind]


def made(kind: str, **options) -> GraphEncoder:
    torch.manual_seed(4)
    encoder = MAKE[kind](**options).double().eval()
    with torch.no_grad():
        for parameter in encoder.parameters():  # biases start at 0, where an error in them does not show
            parameter += 0.1 * torch.randn_like(parameter)
    return encoder


def states(n: int = N) -> Tensor:
    return torch.randn(n, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def loop(encoder: GraphEncoder, conv, x: Tensor, edges: Tensor, types: Tensor) -> Tensor:
    """One convolution, node by node and edge by edge."""
    triples = list(zip(*edges.tolist(), types.tolist()))
    out = []
    for i in range(len(x)):
        incoming = [(s, r) for s, t, r in triples if t == i]
        if encoder.kind == "sage":
            mean = torch.stack([x[s] for s in dict.fromkeys(s for s, _ in incoming)]).mean(0) if incoming else x[i] * 0
            out.append(conv.lin_l.weight @ mean + conv.lin_l.bias + conv.lin_r.weight @ x[i])
        elif encoder.kind == "rgcn":
            total = x[i] @ conv.root + conv.bias
            for s, r in incoming:
                if conv.num_bases is None:
                    matrix = torch.block_diag(*conv.weight[r])
                else:
                    matrix = sum(conv.comp[r, b] * conv.weight[b] for b in range(conv.num_bases))
                total = total + x[s] @ matrix / sum(1 for _, other in incoming if other == r)
            out.append(total)
        else:
            if encoder.relations is None:
                incoming = [(s, None) for s in dict.fromkeys(s for s, _ in incoming)]
            incoming.append((i, None if encoder.relations is None else RELATIONS))
            heads = []
            for h in range(conv.heads):
                part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
                left = lambda v: (conv.lin_l.weight @ v + conv.lin_l.bias)[part]  # noqa: B023
                right = lambda v: (conv.lin_r.weight @ v + conv.lin_r.bias)[part]  # noqa: B023
                scores = []
                for s, r in incoming:
                    inner = right(x[i]) + left(x[s])
                    if r is not None:
                        inner = inner + (conv.lin_edge.weight @ encoder.relations.weight[r])[part]
                    scores.append(conv.att[0, h] @ leaky_relu(inner, 0.2))
                share = torch.stack(scores).softmax(0)
                heads.append(sum(a * left(x[s]) for a, (s, _) in zip(share, incoming)))
            out.append(torch.cat(heads) + conv.bias)
    return torch.stack(out)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("hidden", [None, 16])
@pytest.mark.parametrize("kind", [kind for kind in MAKE if "published" not in kind])
def test_a_loop_over_the_edges_gives_the_same(kind, hidden, residual):
    """Catches edges read the wrong way round, sums for means, layers that lose the neighbors, and GELU after the last."""
    encoder = made(kind, hidden=hidden, residual=residual)
    x = states()
    found = encoder(x, EDGES, TYPES)
    for i, conv in enumerate(encoder.convolutions):
        out = loop(encoder, conv, x, EDGES, TYPES)
        out = gelu(out) if i < 2 else out
        x = encoder.residuals[i](x) + out if residual else out
    assert len(encoder.convolutions) == 3
    torch.testing.assert_close(found, x)


@pytest.mark.parametrize("options", [{"num_blocks": 4}, {"num_bases": 3}], ids=str)
def test_the_relational_convolution_is_that_of_the_library(options):
    """Values and gradients; catches edges of one relation multiplied with the matrix of another."""
    torch.manual_seed(0)
    theirs = RGCNConv(WIDTH, 12, RELATIONS, **options).double()
    ours = EdgewiseRGCNConv(WIDTH, 12, RELATIONS, **options).double()
    ours.load_state_dict(theirs.state_dict())
    generator = torch.Generator().manual_seed(3)
    edges = torch.randint(0, 9, (2, 40), generator=generator)  # repeated ones and self-loops among them
    types = torch.randint(0, RELATIONS - 1, (40,), generator=generator)  # no edge of the last relation
    results = []
    for conv in (ours, theirs):
        x = states(9).requires_grad_()
        out = conv(x, edges, types)
        out.square().sum().backward()
        results.append([out.detach(), x.grad, *(parameter.grad for parameter in conv.parameters())])
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("kind", MAKE)
def test_a_relation_changes_the_output_where_relations_count(kind):
    """Catches relations that are carried along and never used, as in the published code."""
    encoder = made(kind)
    before = encoder(states(), EDGES, TYPES)
    for i in range(len(TYPES)):
        types = TYPES.clone()
        types[i] = next(r for r in range(RELATIONS) if r not in TYPES[i : i + 2].tolist() + TYPES[i - 1 : i].tolist())
        after = encoder(states(), EDGES, types)
        if kind in TYPED:
            assert not torch.allclose(after[EDGES[1, i]], before[EDGES[1, i]], atol=1e-6)
        else:
            assert torch.equal(after, before)
    if kind not in TYPED and kind != "published gat":  # it counts the relations of a neighbor
        assert torch.equal(encoder(states(), EDGES), before)
        assert torch.equal(encoder(states(), EDGES, torch.zeros_like(TYPES)), before)


@pytest.mark.parametrize("kind", MAKE)
def test_order_repeats_and_self_loops_change_nothing(kind):
    """Catches an edge listed twice that counts twice, and nodes or edges whose number matters."""
    encoder = made(kind)
    expected = encoder(states(), EDGES, TYPES)
    twice = torch.cat([EDGES, EDGES[:, 2:5], torch.arange(N).expand(2, -1)], dim=1)
    types = torch.cat([TYPES, TYPES[2:5], torch.zeros(N, dtype=torch.int64)])
    torch.testing.assert_close(encoder(states(), twice, types), expected)
    generator = torch.Generator().manual_seed(5)
    nodes, edges = torch.randperm(N, generator=generator), torch.randperm(EDGES.shape[1], generator=generator)
    place = nodes.argsort()
    torch.testing.assert_close(encoder(states()[nodes], place[EDGES][:, edges], TYPES[edges]), expected[nodes])


@pytest.mark.parametrize("kind", MAKE)
def test_graphs_side_by_side_do_not_touch(kind):
    """Catches views that are mixed when they go through the encoder together."""
    encoder = made(kind)
    x, other = states(), -states()
    graph, reverse = torch.stack([*EDGES, TYPES]), torch.stack([*EDGES.flip(0), TYPES])
    together = side_by_side([graph, reverse, graph], N)
    found = encoder(torch.cat([x, other, other]), together[:2], together[2]).view(3, N, WIDTH)
    for part, vectors, edges in zip(found, (x, other, other), (graph, reverse, graph)):
        torch.testing.assert_close(part, encoder(vectors, edges[:2], edges[2]))


@pytest.mark.parametrize("kind", MAKE)
def test_without_edges_a_node_sees_itself_alone(kind):
    """Catches a mean over nothing, an attention over nothing, and an empty list of relations."""
    encoder = made(kind)
    nothing = torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    whole = encoder(states(), *nothing)
    assert whole.isfinite().all()
    torch.testing.assert_close(encoder(states()[2:3], *nothing), whole[2:3])
    torch.testing.assert_close(encoder(states(), EDGES, TYPES)[5], whole[5])
    assert encoder(states()[:0], *nothing).shape == (0, WIDTH)


@pytest.mark.parametrize("kind", MAKE)
def test_mixed_precision_and_gradients_are_finite(kind):
    """Catches halves that are added into floats, and a parameter that no gradient reaches."""
    encoder = made(kind).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = encoder(states().float(), EDGES, TYPES)
    out.float().square().sum().backward()
    torch.testing.assert_close(out.float(), encoder(states().float(), EDGES, TYPES), atol=0.3, rtol=0.1)
    assert all(p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in encoder.parameters())


def test_dropout_acts_in_training_alone_and_not_on_what_comes_out():
    encoder = made("sage", dropout=0.9)
    expected = encoder(states(), EDGES, TYPES)
    encoder.train()
    dropped = encoder(states(), EDGES, TYPES)
    assert not torch.allclose(dropped, expected) and (dropped != 0).all()
    assert torch.equal(made("sage", dropout=0.9)(states(), EDGES, TYPES), expected)


@pytest.mark.parametrize("kind", MAKE)
def test_a_saved_encoder_is_the_same(kind, tmp_path):
    """Catches a setting that is not written, and weights that two names share."""
    encoder = made(kind, hidden=16, dropout=0.1, layers=2)
    encoder.float().save(tmp_path / "graph")
    loaded = load_graph_encoder(tmp_path / "graph")
    assert loaded.settings == encoder.settings and not loaded.training
    x = states().float()
    assert torch.equal(loaded(x, EDGES, TYPES), encoder(x, EDGES, TYPES))


def test_a_folder_that_holds_none_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"graph_encoder\.json: missing"):
        load_graph_encoder(tmp_path)
    made("sage").save(tmp_path)
    settings = json.loads((tmp_path / "graph_encoder.json").read_text())
    for change, message in (
        (
            {"kind": "sagee"},
            "kind 'sagee': allowed are 'gat', 'published_gat', 'published_rgcn', 'published_sage', 'rgcn', 'sage'; did you mean 'sage'",
        ),
        ({"heads": 2}, "holds no graph encoder: .*unexpected keyword argument 'heads'"),
        ({"hidden": 16}, "holds no graph encoder: Error"),
        ({"layers": 0}, "graph_encoder.json: layers must be an integer of at least 1"),
    ):
        (tmp_path / "graph_encoder.json").write_text(json.dumps(settings | change))
        with pytest.raises(InputError, match=message):
            load_graph_encoder(tmp_path)
    for content in (b"[]", b'{"kind": "\xff"}', b"[" * 99_999):
        (tmp_path / "graph_encoder.json").write_bytes(content)
        with pytest.raises(InputError, match="holds no graph encoder"):
            load_graph_encoder(tmp_path)
    (tmp_path / "graph_encoder.json").write_text(json.dumps(settings))
    (tmp_path / "graph_encoder.safetensors").unlink()
    (tmp_path / "graph_encoder.safetensors").mkdir()
    with pytest.raises(InputError, match="graph_encoder.safetensors: holds no graph encoder"):
        load_graph_encoder(tmp_path)


def test_first_of_its_kind_counts():
    """By hand: a repeat, a self-loop, and one pair under two relations."""
    edges, types = torch.tensor([[1, 2, 1, 0, 1], [0, 2, 0, 1, 0]]), torch.tensor([0, 1, 3, 0, 0])
    assert distinct_edges(edges, types, 3).tolist() == [True, False, True, True, False]
    assert distinct_edges(edges, None, 3).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GraphSAGE(0), "width must be an integer of at least 1, found 0"),
        (lambda: GraphSAGE(8, layers=True), "layers must be an integer of at least 1, found True"),
        (lambda: GraphSAGE(8, hidden=2.5), "hidden must be an integer of at least 1, found 2.5"),
        (lambda: GraphSAGE(8, dropout=1.0), "dropout must be at least 0 and below 1, found 1.0"),
        (lambda: RGCN(8, 0), "n_relations must be an integer of at least 1, found 0"),
        (lambda: RGCN(8, 3), "blocks must divide width=8, found 64"),
        (lambda: RGCN(8, 3, blocks=4, hidden=6), "blocks must divide hidden=6, found 4"),
        (lambda: RGCN(8, 3, blocks=4, bases=2), "one of blocks and bases may be given, found 4 and 2"),
        (lambda: RGCN(8, 3, bases=0), "bases must be an integer of at least 1, found 0"),
        (lambda: GATv2(9), "heads must divide width=9, found 2"),
        (lambda: GATv2(8, 3, relation_width=0), "relation_width must be an integer of at least 1, found 0"),
    ],
)
def test_arguments_are_checked_when_the_encoder_is_made(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((states()[:, :5], EDGES, TYPES), r"states must be \[N, 8\], found \[7, 5\]"),
        ((states(), EDGES.T, TYPES), r"edge_index must be int64 \[2, E\], found torch.int64 \[8, 2\]"),
        ((states(), EDGES + 2, TYPES), "edge_index must be from 0 to 6, of 7 nodes, found 2 to 8"),
        ((states(), EDGES), "RGCN needs edge_type, the relation of every edge, found none"),
        ((states(), EDGES, TYPES[:3]), r"edge_type must be int64 \[8\], one for each edge, found torch.int64 \[3\]"),
        ((states(), EDGES, TYPES - 1), "edge_type must be from 0 to 4, of 5 relations, found -1 to 3"),
    ],
)
def test_graphs_that_do_not_fit_are_one_line(arguments, message):
    with pytest.raises(InputError, match=message):
        made("rgcn, blocks")(*arguments)


@pytest.mark.parametrize("kind", GRAPH_ENCODERS)
def test_without_the_extra_the_line_to_install_it_is_given(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    arguments = {"n_relations": 3} if "rgcn" in kind or kind == "published_gat" else {}
    with pytest.raises(InputError, match=r"need torch-geometric: pip install 'st-biomed\[graph\]'"):
        GRAPH_ENCODERS[kind](8, **arguments)
