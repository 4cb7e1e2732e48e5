"""BERGAMOT's loss: its parts, SapBERT's step inside it, its cached form, and a run of the trainer."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached_bergamot import CachedBergamotLoss
from st_biomed.losses.callbacks import LossParametersCallback, own_parameters
from st_biomed.losses.graph import corrupted_edges
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.relation_margin import RelationMarginLoss
from tests.contracts.loss_contract import LossContract
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

KINDS = ("sage", "rgcn", "gat")
LABELS = CLASSES.contiguous()
TEXT_ONLY = {"node_weight": 0, "intermodal_weight": 0, "dgi_weight": 0}


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


def made(kind: str = "sage", **arguments: Any) -> BergamotLoss:
    encoder = encoder_of(kind)
    return BergamotLoss(None, encoder, **arguments).double()


def parts(loss: BergamotLoss, graph: GraphBatch = GRAPH, labels: Tensor = CLASSES, at: int = 0) -> dict[str, Tensor]:
    """The loss of a step, by number, for the draws."""
    loss.steps.fill_(at)
    return loss.compute_loss_from_embeddings([vectors()], labels, graph)


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
        assert same == (kind == "sage")


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
    """Those of graph encoder and tables, too, after a scaled backward pass, where the host's form fails."""
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


def test_a_few_steps_bring_text_and_graph_together(tiny_bert):
    """Catches a part that goes up when it is trained."""
    loss = BergamotLoss(tiny_bert, encoder_of("gat"), relation=RelationMarginLoss(16, RELATIONS))
    optimizer = torch.optim.Adam(loss.parameters(), lr=5e-3)
    history = []
    for _ in range(40):
        optimizer.zero_grad()
        values = loss(step_of(tiny_bert), LABELS)
        history.append({name: value.item() for name, value in values.items()})
        sum(values.values()).backward()
        optimizer.step()
    for name in history[0]:
        before, after = (sum(step[name] for step in part) for part in (history[:5], history[-5:]))
        assert after < 0.9 * before, name


class Collator:
    """A step made from rows: their first two are targets, the texts of the rest neighbors."""

    valid_label_columns = ("label",)

    def __init__(self, model: SentenceTransformer) -> None:
        self.preprocess = model.preprocess

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        first = [row["concept"] for row in rows]
        texts = [TEXTS[i] for i in NODE_TEXTS[:, first].flatten()] + TEXTS[8:]
        n = len(rows)
        nodes = torch.tensor([[*range(n), 2 * n, 2 * n + 1], [*range(n, 2 * n), 2 * n + 2, 2 * n + 3]])
        edges = torch.tensor([[n, n + 1, 0], [0, 1, 1], [0, 1, 2]])
        features = {f"text_{name}": value for name, value in self.preprocess(texts).items()}
        label = torch.tensor([[c, c] for c in first])
        return {"label": label, "text_node_texts": nodes[None], "text_edges": edges[None], **features}


def train(model_folder: Path, save: Path, resume: str | None = None, **settings: Any) -> tuple[Any, BergamotLoss]:
    model = SentenceTransformer(str(model_folder), device="cpu")
    torch.manual_seed(0)
    relation = RelationMarginLoss(16, RELATIONS)
    loss_class = settings.pop("loss_class", BergamotLoss)
    loss = loss_class(model, encoder_of("rgcn", dropout=0.3), relation=relation)
    args = SentenceTransformerTrainingArguments(
        output_dir=str(save), use_cpu=True, max_steps=4, per_device_train_batch_size=2, save_steps=2, logging_steps=1,
        learning_rate=1e-2, disable_tqdm=True, seed=1, resume_from_checkpoint=resume, remove_unused_columns=False,
        **settings,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model=model,
        args=args,
        loss=loss,
        train_dataset=Dataset.from_dict({"concept": [0, 1, 2, 3], "label": [0, 1, 2, 3]}),
        data_collator=Collator(model),
        callbacks=[LossParametersCallback(loss)],
    )
    trainer.train(resume_from_checkpoint=resume)
    return trainer, loss


@pytest.mark.parametrize("loss_class", [BergamotLoss, CachedBergamotLoss])
def test_a_resumed_run_ends_where_the_uninterrupted_one_does(tiny_bert_folder, tmp_path, loss_class):
    """Catches a graph encoder, a discriminator or a table that starts anew, and corruptions drawn from the start again."""
    trainer, loss = train(tiny_bert_folder, tmp_path / "whole", loss_class=loss_class)
    assert {"text", "node", "intermodal", "dgi", "relation"} <= trainer.state.log_history[0].keys()
    torch.manual_seed(0)
    fresh = {name: value.clone() for name, value in encoder_of("rgcn").state_dict().items()}
    moved = [name for name, value in loss.graph_encoder.state_dict().items() if not torch.equal(value, fresh[name])]
    assert len(moved) == len(fresh) and loss.steps == 4
    half = str(tmp_path / "whole" / "checkpoint-2")
    _, again = train(tiny_bert_folder, tmp_path / "resumed", half, loss_class=loss_class)
    torch.testing.assert_close(again.state_dict(), loss.state_dict(), atol=1e-6, rtol=0)
    files = {file.name for file in (tmp_path / "whole" / "checkpoint-4").rglob("*.safetensors")}
    assert files == {"model.safetensors", "loss.safetensors"}
    SentenceTransformer(str(tmp_path / "whole" / "checkpoint-4"), device="cpu")  # plain, and without a flag


def test_accumulated_steps_of_the_cached_form_are_those_of_the_plain_one(tiny_bert_folder, tmp_path):
    """Catches gradients of the graph encoder that miss the division by the number of accumulated batches."""
    runs = [
        train(
            tiny_bert_folder,
            tmp_path / loss_class.__name__,
            loss_class=loss_class,
            gradient_accumulation_steps=2,
            optim="sgd",
        )[1]
        for loss_class in (BergamotLoss, CachedBergamotLoss)
    ]
    torch.testing.assert_close(runs[1].state_dict(), runs[0].state_dict(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_weight": -1}, "node_weight must be a number of at least 0, found -1"),
        ({**TEXT_ONLY, "text_weight": 0}, "at least one weight must be above 0, found only 0"),
        ({"graph_encoder": None}, "graph_encoder may be None only if node_weight, intermodal_weight, dgi_weight is 0"),
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
    loss = BergamotLoss(tiny_bert, encoder_of("sage"))
    with pytest.raises(InputError, match="the batch has no 'node_texts', it has attention_mask, input_ids"):
        loss([dict(tiny_bert.preprocess(TEXTS))], LABELS)
    with pytest.raises(InputError, match="the batch must have one text column, found 2"):
        loss(step_of(tiny_bert) * 2, LABELS)
    with pytest.raises(InputError, match="embedding needs a model"):
        made()(step_of(tiny_bert), LABELS)


def test_config_tells_what_the_graph_was():
    config = BergamotLoss(None, encoder_of("rgcn"), cross_view=True).get_config_dict()
    assert config["graph_encoder"]["kind"] == "rgcn" and config["graph_encoder"]["n_relations"] == RELATIONS
    assert config["dgi_weight"] == 0.1 and config["cross_view"] is True
    assert CachedBergamotLoss(None, encoder_of("sage")).get_config_dict()["mini_batch_size"] == 64
    assert parts(made(), NO_EDGES)["dgi"] == 0
