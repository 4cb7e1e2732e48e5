"""Deep graph infomax in training: what the learning rate of the graph encoder decides, and what there is to learn."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from st_biomed.losses.deep_graph_infomax import DeepGraphInfomaxLoss, corrupted_edges
from st_biomed.modules.graph_encoder import GraphEncoder
from st_biomed.modules.published_graph_encoder import PublishedGATv2, PublishedGraphSAGE, PublishedRGCN

WIDTH, COMMUNITIES, MEMBERS, NEIGHBORS = 32, 4, 12, 3
MAKE = {
    "published_sage": lambda: PublishedGraphSAGE(WIDTH),
    "published_rgcn": lambda: PublishedRGCN(WIDTH, 1, blocks=4),
    "published_gat": lambda: PublishedGATv2(WIDTH, 1),
}


def drawn(community: Tensor, generator: torch.Generator, structure: bool) -> Tensor:
    """Edges from some other nodes to each node, of its own community or of any, int64 ``[3, E]``."""
    n = len(community)
    weights = (community[:, None] == community[None]).float() if structure else torch.ones(n, n)
    sources = weights.fill_diagonal_(0).multinomial(NEIGHBORS, generator=generator)
    return torch.stack(
        [sources.flatten(), torch.arange(n).repeat_interleave(NEIGHBORS), torch.zeros(n * NEIGHBORS).long()]
    )


def learned(encoder: GraphEncoder, rate: float, structure: bool = True) -> float:
    """The mean loss of the last of 60 steps over that of the first; neighbors are drawn in every step."""
    generator = torch.Generator().manual_seed(2)
    community = torch.arange(COMMUNITIES * MEMBERS) % COMMUNITIES
    centers = torch.randn(COMMUNITIES, WIDTH, generator=generator)
    texts = normalize(centers[community] + 0.6 * torch.randn(len(community), WIDTH, generator=generator))
    loss = DeepGraphInfomaxLoss(WIDTH)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *loss.parameters()], lr=rate)
    history = []
    for _ in range(60):
        edges = drawn(community, generator, structure)
        wrong = corrupted_edges(edges, torch.randperm(edges.shape[1], generator=generator))
        value = loss(encoder(texts, edges[:2], edges[2]), encoder(texts, wrong[:2], wrong[2]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        history.append(value.item())
    assert history[0] == pytest.approx(2 * math.log(2), rel=0.05)
    return sum(history[-5:]) / sum(history[:5])


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKE)
def test_neighbors_that_belong_together_are_learned_at_the_rate_of_a_graph_encoder(kind: str):
    """Catches a summary, a corruption or a discriminator from which nothing can be learned, and a leak: with neighbors that have
    nothing to do with a node, a corrupted neighborhood is like a true one."""
    torch.manual_seed(0)
    assert learned(MAKE[kind](), 3e-3) < 0.9
    assert learned(MAKE[kind](), 3e-3, structure=False) > 0.97


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKE)
def test_the_rate_of_a_text_encoder_leaves_the_loss_where_it_is(kind: str):
    """Why ``graph_learning_rate`` exists: the same 60 steps at 2e-5."""
    torch.manual_seed(0)
    assert learned(MAKE[kind](), 2e-5) > 0.97
