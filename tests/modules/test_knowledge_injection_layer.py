"""The layer that injects knowledge: its formula by loops, all candidates, padding, gradients and precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from st_biomed.modules import knowledge_injection_layer
from st_biomed.modules.inject_knowledge import inject_knowledge, injection_of
from st_biomed.modules.knowledge_injection_layer import KnowledgeInjection, nearest
from tests.modules.knowledge_layers import SPANS, injected, layer_of_knowledge, mentions_of
from tests.modules.mention_texts import TERMS, table
from tests.modules.test_mention_pooling import features


def naive(injection: KnowledgeInjection, hidden: Tensor, mentions: Tensor) -> Tensor:
    """Mention by mention and token by token."""
    result = hidden.clone()
    for b in range(len(hidden)):
        added = [torch.zeros_like(hidden[0, 0]) for _ in hidden[b]]
        for tokens in mentions[b]:
            members = tokens.nonzero().flatten().tolist()
            if not members:
                continue
            query = (
                injection.project.weight @ (sum(hidden[b, t] for t in members) / len(members)) + injection.project.bias
            )
            scores = sorted(((query @ e).item(), j) for j, e in enumerate(injection.entities))[::-1][
                : injection.candidates
            ]
            total = sum(np.exp(score / injection.temperature) for score, _ in scores)
            mixture = sum(np.exp(score / injection.temperature) / total * injection.entities[j] for score, j in scores)
            for t in members:
                added[t] = added[t] + injection.restore.weight @ mixture + injection.restore.bias
        if mentions[b].any():
            for t in range(hidden.shape[1]):
                x = hidden[b, t] + added[t]
                x = (x - x.mean()) / (x.var(correction=0) + injection.norm.eps).sqrt()
                result[b, t] = x * injection.norm.weight + injection.norm.bias
    return result


@pytest.mark.parametrize(
    "options", [{"candidates": 3}, {"candidates": 12}, {"candidates": 3, "temperature": 0.5}], ids=str
)
def test_a_loop_over_mentions_and_tokens_gives_the_same(options):
    """Catches overlaps added once, a padded mention at the first token, and a sequence without mentions normalized."""
    injection = layer_of_knowledge(**options)
    hidden = torch.randn(3, 6, 6, dtype=torch.float64)
    mentions = mentions_of(SPANS, 6)
    found, queries = injection(hidden, mentions)
    torch.testing.assert_close(found, naive(injection, hidden, mentions))
    assert torch.equal(found[2], hidden[2])
    expected = injection.project(hidden[0, 2:5].mean(0))
    torch.testing.assert_close(queries[0, 1], expected)
    assert not queries[0, 2].any() and not queries[2].any() and queries.shape == (3, 3, 5)


def test_all_candidates_are_the_full_softmax(monkeypatch):
    """Catches the search in parts that forgets a part, and candidates in the order of the table."""
    few, all_of_them = layer_of_knowledge(candidates=11), layer_of_knowledge(candidates=100)
    queries = torch.randn(7, 5, dtype=torch.float64)
    similarities = queries @ few.entities.T
    for largest in (1, 14, 2**24):
        monkeypatch.setattr(knowledge_injection_layer, "_LARGEST", largest)
        for count in (1, 4, 11, 12):
            assert torch.equal(nearest(queries, few.entities, count), similarities.topk(count, dim=1).indices)
    shares = similarities.softmax(1)
    torch.testing.assert_close(all_of_them.link(queries), shares @ few.entities)
    few.candidates = 12
    torch.testing.assert_close(few.link(queries), shares @ few.entities)
    few.candidates = 11  # one less: the smallest share is missing, and the others are divided by the rest
    rest = shares.scatter(1, shares.argmin(1, keepdim=True), 0)
    torch.testing.assert_close(few.link(queries), rest / rest.sum(1, keepdim=True) @ few.entities)


def test_a_padded_mention_touches_no_token():
    """Catches spans of padding that mean the first token, or [CLS]."""
    injection = layer_of_knowledge(candidates=3)
    hidden = torch.randn(1, 6, 6, dtype=torch.float64)
    unpadded, padded = (mentions_of(SPANS[:1, m], 6) for m in ([0], [0, 2, 2]))
    torch.testing.assert_close(injection(hidden, padded)[0], injection(hidden, unpadded)[0])
    nothing = mentions_of(SPANS[:1, [2]], 6)
    assert torch.equal(injection(hidden, nothing)[0], hidden)


def test_gradients_reach_the_projection_through_the_shares_and_never_the_entities():
    """Catches a table that trains, shares that were detached, and a wrong derivative."""
    injection = layer_of_knowledge(candidates=4)
    hidden = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    mentions = mentions_of(SPANS[:2], 5)
    injection(hidden, mentions)[0].square().sum().backward()
    assert injection.project.weight.grad.abs().max() > 1e-6 and not injection.entities.requires_grad
    assert {name for name, _ in injection.named_parameters()} == {
        f"{part}.{kind}" for part in ("project", "restore", "norm") for kind in ("weight", "bias")
    }
    assert torch.autograd.gradcheck(lambda states: injection(states, mentions), hidden)


def test_autocast_computes_the_linker_in_full(tiny_bert):
    """Catches similarities and shares in bfloat16: half precision of the encoder alone moves the states."""
    injection = layer_of_knowledge().float()
    hidden, mentions = torch.randn(3, 6, 6), mentions_of(SPANS, 6)
    expected = injection(hidden, mentions)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = injection(hidden, mentions)
        vectors = injected(tiny_bert)(features(tiny_bert, TERMS))["sentence_embedding"]
        vectors.float().sum().backward()
    torch.testing.assert_close(found, expected, atol=0, rtol=0)
    assert vectors.isfinite().all() and injection_of(tiny_bert).project.weight.grad.isfinite().all()


def test_the_normalization_begins_as_nearly_the_identity(tiny_bert):
    """Catches states that arrive at the next layer in another scale than it was trained for."""
    weights = tiny_bert[0].model.encoder.layer[0].output.LayerNorm
    nn.init.constant_(weights.weight, 0.5)
    nn.init.constant_(weights.bias, 0.2)
    before = tiny_bert.encode(TERMS)
    inject_knowledge(tiny_bert, table() / 1e4, layer=1)
    np.testing.assert_allclose(tiny_bert.encode(TERMS), before, atol=1e-3)
