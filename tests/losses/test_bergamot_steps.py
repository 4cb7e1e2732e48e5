"""Gradients of BERGAMOT's steps: SapBERT's step inside, the cached form, dropout, padding and precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached_bergamot import CachedBergamotLoss
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.loss_parameters_callback import own_parameters
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.relation_margin import RelationMarginLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss
from tests.losses.bergamot_losses import KINDS, LABELS, TEXT_ONLY
from tests.losses.graph_steps import (
    EDGES,
    GRAPH,
    NODE_TEXTS,
    RELATIONS,
    TEXTS,
    encoder_of,
    step_of,
)


def gradients(loss: nn.Module, module: nn.Module, *step: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """Value and gradients after a backward pass that is scaled by a half, as gradient accumulation does."""
    loss.zero_grad()
    value = loss(*step)
    value = value if isinstance(value, Tensor) else sum(value.values())
    (value / 2).backward()
    return value.detach(), {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("cached", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize("case", ["no edges", "no weights"])
def test_without_a_graph_the_step_is_that_of_sapbert(tiny_bert, case, cached):
    """Catches neighbors that learn though no one looks at them, and a graph that teaches without edges."""
    for module in tiny_bert.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3 if case == "no edges" and not cached else 0.0
    tiny_bert.train()
    names, labels = [TEXTS[i] for i in range(8)], LABELS
    graph = GraphBatch(torch.tensor([[0, 2, 4, 6], [1, 3, 5, 7]]), EDGES[:, :0]) if case == "no edges" else GRAPH
    arguments = TEXT_ONLY if case == "no weights" else {}
    kind = {"mini_batch_size": 3} if cached else {}
    loss = (CachedBergamotLoss if cached else BergamotLoss)(
        tiny_bert, encoder_of("gat", dropout=0.3), **kind, **arguments
    )
    plain = MultiSimilarityLoss.from_preset(tiny_bert, "bergamot")
    torch.manual_seed(1)
    expected = gradients(plain, tiny_bert, [dict(tiny_bert.preprocess(names))], labels.flatten())
    torch.manual_seed(1)
    texts = names if case == "no edges" else TEXTS
    found = gradients(loss, tiny_bert, step_of(tiny_bert, graph, texts), labels)
    assert any(gradient.abs().max() > 1e-3 for gradient in expected[1].values())
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)
    assert all(parameter.grad is None for parameter in own_parameters(loss).values())


@pytest.mark.parametrize("size", [1, 4, 99])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cached_form_gives_the_gradients_of_the_uncached_one(tiny_bert, kind, size):
    """Those of graph encoder and tables, too, after a scaled backward pass, where sentence-transformers' form fails."""
    tiny_bert.double()
    results = []
    for loss_class, arguments in ((BergamotLoss, {}), (CachedBergamotLoss, {"mini_batch_size": size})):
        torch.manual_seed(0)
        relation = RelationMarginLoss(16, RELATIONS)
        loss = loss_class(tiny_bert, encoder_of(kind), relation=relation, **arguments).double()
        results.append(gradients(loss, loss, step_of(tiny_bert), LABELS))
    assert {"dgi.weight", "relation.relations"} < results[0][1].keys()
    assert any(name.startswith("graph_encoder") for name in results[0][1])
    torch.testing.assert_close(results[1], results[0], atol=1e-9, rtol=1e-9)


def test_the_cached_form_has_the_gradients_of_the_uncached_one_with_distillation(tiny_bert):
    """Catches a teacher whose rows go to the texts as they were sorted, and a distillation without a gradient."""
    tiny_bert.double()
    teacher = np.random.default_rng(5).normal(size=(4, 6))
    results = []
    for weight, arguments in ((4.0, {}), (4.0, {"mini_batch_size": 3}), (0.0, {})):
        loss = (CachedBergamotLoss if arguments else BergamotLoss)(tiny_bert, encoder_of("gat"), **arguments).double()
        if weight:
            loss.add_distillation(SelfDistillationLoss(None, teacher, weight))
        results.append(gradients(loss, loss, step_of(tiny_bert), LABELS))
    torch.testing.assert_close(results[1], results[0], atol=1e-9, rtol=1e-9)
    added = [(results[0][1][name] - gradient).abs().max() for name, gradient in results[2][1].items()]
    assert max(added) > 1e-3


def test_dropout_of_the_cached_form_is_the_same_in_both_passes(tiny_bert):
    """Catches a gradient that belongs to other embeddings than those the loss saw."""
    for module in tiny_bert.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    tiny_bert.train()
    seen: list[Tensor] = []
    tiny_bert.register_forward_hook(lambda module, args, output: seen.append(output["sentence_embedding"].detach()))
    loss = CachedBergamotLoss(tiny_bert, encoder_of("sage", dropout=0.5), mini_batch_size=5)
    gradients(loss, loss, step_of(tiny_bert), LABELS)
    assert len(seen) == 6 and not torch.equal(seen[0], seen[1][: len(seen[0])])
    assert torch.equal(torch.cat(seen[:3]), torch.cat(seen[3:]))
    with torch.no_grad():
        loss(step_of(tiny_bert), LABELS)
    assert len(seen) == 9


def test_left_padded_texts_are_embedded_whole(tiny_bert):
    """Catches ends cut off where the padding stands in front."""
    tiny_bert.tokenizer.padding_side = "left"
    results = []
    for loss_class, arguments in ((BergamotLoss, {}), (CachedBergamotLoss, {"mini_batch_size": 3})):
        loss = loss_class(tiny_bert, encoder_of("sage"), **arguments)
        results.append(gradients(loss, loss, step_of(tiny_bert), LABELS))
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-4)


def test_the_graph_encoder_follows_the_mode_of_the_model(tiny_bert):
    """Catches dropout in evaluation: the trainer sets the mode of the model alone."""
    loss = BergamotLoss(tiny_bert, encoder_of("sage", dropout=0.5))
    for mode in (True, False):
        tiny_bert.train(mode)
        with torch.no_grad():
            values = [sum(loss(step_of(tiny_bert), LABELS).values()) for _ in range(2)]
        assert (values[0] == values[1]) != mode


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_and_mixed_precision_steps_are_finite(tiny_bert, kind):
    """One target, one text, one edge, a target alone; and the encoder in bfloat16."""
    target = torch.zeros(2, 1, dtype=torch.int64)
    steps = [
        (GraphBatch(target, torch.empty(3, 0, dtype=torch.int64)), LABELS[:1]),
        (GraphBatch(torch.tensor([[0, 1], [0, 1]]), torch.tensor([[1], [0], [0]])), LABELS[:1]),
        (GraphBatch(NODE_TEXTS, EDGES[:, :1]), LABELS),
        (GRAPH, torch.zeros_like(LABELS)),
    ]
    loss = BergamotLoss(tiny_bert, encoder_of(kind), relation=RelationMarginLoss(16, RELATIONS))
    for graph, labels in steps:
        for dtype in (torch.float32, torch.bfloat16):
            loss.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                value = loss(step_of(tiny_bert, graph), labels)
            sum(value.values()).backward()
            assert value.keys() == {"text", "node", "intermodal", "dgi", "relation"}
            assert all(part.isfinite() and part.dtype == torch.float32 for part in value.values())
            assert all(p.grad is None or p.grad.isfinite().all() for p in loss.parameters())
    assert not any(part.item() for part in loss(step_of(tiny_bert, *steps[0][:1]), steps[0][1]).values())
