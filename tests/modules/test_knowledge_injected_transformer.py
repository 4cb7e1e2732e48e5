"""Injection of knowledge: the formula, what is a mention, gradients, and how a saved model loads without this package."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.modules import knowledge_injected_transformer, knowledge_injection_layer
from st_biomed.modules.inject_knowledge import inject_knowledge, injection_of
from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer
from st_biomed.modules.knowledge_injection_layer import KnowledgeInjection, nearest
from st_biomed.modules.markers import add_markers, pool_mentions
from tests.modules.mention_texts import FAMILIES, MARKED, TERMS, family, table
from tests.modules.test_mention_pooling import features, imports_of, load_elsewhere

SPANS = torch.tensor([[[1, 3], [2, 5], [-1, -1]], [[2, 3], [-1, -1], [-1, -1]], [[-1, -1], [-1, -1], [-1, -1]]])


def layer_of_knowledge(width: int = 6, **options) -> KnowledgeInjection:
    """In double precision, stirred as if trained."""
    torch.manual_seed(3)
    injection = KnowledgeInjection(width, table(), **options)
    for parameter in injection.parameters():
        nn.init.normal_(parameter, std=0.5)
    return injection.double()


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


def mentions_of(spans: Tensor, length: int) -> Tensor:
    mentions = torch.zeros(*spans.shape[:2], length, dtype=torch.bool)
    for b, row in enumerate(spans.tolist()):
        for m, (start, end) in enumerate(row):
            if start >= 0:
                mentions[b, m, start:end] = True
    return mentions


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


def injected(model: SentenceTransformer, **settings) -> SentenceTransformer:
    """With a layer that does something."""
    inject_knowledge(model, table(), **{"layer": 1, "candidates": 3, **settings})
    torch.manual_seed(4)
    for parameter in model[0].injection.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 3)
    return model


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("layer", [1, 2])
def test_switched_off_or_with_an_empty_table_it_is_the_encoder(tiny_bert, kind, layer):
    """Catches a layer run twice or left out, and a normalization that stays; after use, too, and the layers are its own."""
    family(tiny_bert, kind)
    before = tiny_bert.encode(TERMS)
    encoder, names = tiny_bert[0].model, list(tiny_bert[0].model.state_dict())
    empty = inject_knowledge(copy.deepcopy(tiny_bert), table()[:0], layer=layer)
    np.testing.assert_allclose(empty.encode(TERMS), before, atol=1e-6)
    injected(tiny_bert, layer=layer)
    assert np.abs(tiny_bert.encode(TERMS) - before).max() > 0.05
    assert tiny_bert[0].model is encoder and list(encoder.state_dict()) == names
    tiny_bert[0].inject = False
    np.testing.assert_allclose(tiny_bert.encode(TERMS), before, atol=1e-6)
    plain = tiny_bert[0].export_plain()
    assert type(plain) is Transformer and list(dict(plain.named_children())) == ["model"]
    tiny_bert[0] = plain
    assert np.array_equal(tiny_bert.encode(TERMS), before)


@pytest.mark.parametrize("kind", FAMILIES)
def test_it_happens_between_the_layers(tiny_bert, kind):
    """By hand from the states after the first layer; catches layer counted from 0, and [CLS] in the mention."""
    injected(family(tiny_bert, kind))
    batch = features(tiny_bert, TERMS)
    module, mask = tiny_bert[0], batch["attention_mask"]
    with torch.no_grad():
        encoder = module.model
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        states = encoder(**inputs, output_hidden_states=True).hidden_states[1]
        mentions = (mask * ~torch.isin(batch["input_ids"], torch.tensor([0, 2, 3]))).bool()[:, None, :]
        assert mentions.sum((1, 2)).tolist() == [n - 2 for n in mask.sum(1).tolist()]
        expected = module.injection(states, mentions)[0]
        attends = torch.zeros(len(mask), 1, 1, mask.shape[1]).masked_fill(mask[:, None, None] == 0, -torch.inf)
        expected = module._stack.layer[1](expected, attends)
        found = module(batch)["token_embeddings"]
    torch.testing.assert_close(found[mask.bool()], expected[mask.bool()], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("mention", ["whole", "marked"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_batch_of_mixed_lengths_is_each_text_alone(tiny_bert_folder, mention, attention):
    """Catches padding in a mention, and a text that changes by what stands beside it."""
    kwargs = {"attn_implementation": attention}
    model = add_markers(SentenceTransformer(str(tiny_bert_folder), device="cpu", model_kwargs=kwargs))
    injected(model, mention=mention)
    texts = [*TERMS, *MARKED, ""]
    together = model.encode(texts)
    np.testing.assert_allclose(together, [model.encode(text) for text in texts], atol=1e-5)


def test_modes_say_what_a_mention_is(tiny_bert):
    """Marked mentions are those spans by hand, and a text without markers is whole; catches markers inside a mention."""
    model = pool_mentions(injected(add_markers(tiny_bert), mention="marked"))
    module = model[0]
    given = torch.tensor([[[3, 7], [-1, -1]], [[2, 6], [9, 15]], [[1, 3], [-1, 2]]])

    reached: dict = {}
    module._stack.register_forward_pre_hook(lambda _, args, kwargs: reached.update(kwargs), with_kwargs=True)

    def states(spans: Tensor | None = None) -> Tensor:
        batch = features(model, MARKED)
        if spans is not None:
            batch["mention_spans"] = spans
        result = module(batch)
        assert ("mention_spans" in result) == (spans is not None)
        assert result["mention_present"].tolist() == [[True, False], [True, True], [True, False]]
        return result["token_embeddings"].detach()

    marked = states()
    torch.testing.assert_close(states(given), marked)
    torch.testing.assert_close(states(given[:, None]), marked)
    assert "attention_mask" in reached and "mention_spans" not in reached  # which the layers would be handed
    wide = given + torch.tensor([-1, 1]) * (given >= 0) * torch.tensor([1, 1, 0])[:, None, None]
    torch.testing.assert_close(states(wide), marked)  # markers belong to no mention, whatever a span says
    module.mention = "none"
    torch.testing.assert_close(states(given), marked)
    bare = module(features(model, MARKED))
    assert "mention_queries" not in bare
    module.inject = False
    torch.testing.assert_close(module(features(model, MARKED))["token_embeddings"], bare["token_embeddings"])


def test_spans_of_the_width_of_the_tokens_are_no_tokens(tiny_bert):
    """The form [B, 1, M, 2] passes through embedding in chunks; catches mentions that are cut with padding."""
    from st_biomed.losses.embed import embed_columns

    model = injected(tiny_bert)
    batch = features(model, TERMS)
    width = batch["input_ids"].shape[1]
    spans = torch.full((len(TERMS), 1, width, 2), -1)
    spans[:, 0, -1] = torch.tensor([1, 2])
    batch["mention_spans"] = spans
    expected = model(dict(batch))["sentence_embedding"]
    (found,) = embed_columns(model, [dict(batch)], chunk_cost=0)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


def gradients(model: SentenceTransformer) -> dict[str, Tensor]:
    model.zero_grad()
    model(features(model, TERMS))["sentence_embedding"].square().sum().backward()
    return {name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None}


def test_gradient_checkpointing_changes_no_gradient(tiny_bert):
    """Catches a layer that is computed again without what was injected."""
    model = injected(tiny_bert.double()).double().train()
    plain = gradients(model)
    assert plain["0.injection.project.weight"].abs().max() > 1e-6
    encoder = model[0].model
    getattr(encoder, "activation_checkpointing_enable", encoder.gradient_checkpointing_enable)()
    torch.testing.assert_close(gradients(model), plain, atol=1e-9, rtol=0)


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


def test_half_precision_models_and_tables(tiny_bert_folder):
    """Catches float32 parts in a model loaded in half precision, and a table in half that moves the vectors."""
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu", model_kwargs={"dtype": torch.bfloat16})
    injected(model, half=True)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert injection_of(model).entities.dtype == torch.float16 and np.isfinite(model.encode(TERMS)).all()
    full, half = (
        injected(SentenceTransformer(str(tiny_bert_folder), device="cpu"), half=half) for half in (False, True)
    )
    np.testing.assert_allclose(half.encode(TERMS), full.encode(TERMS), atol=1e-2)


def test_the_normalization_begins_as_nearly_the_identity(tiny_bert):
    """Catches states that arrive at the next layer in another scale than it was trained for."""
    weights = tiny_bert[0].model.encoder.layer[0].output.LayerNorm
    nn.init.constant_(weights.weight, 0.5)
    nn.init.constant_(weights.bias, 0.2)
    before = tiny_bert.encode(TERMS)
    inject_knowledge(tiny_bert, table() / 1e4, layer=1)
    np.testing.assert_allclose(tiny_bert.encode(TERMS), before, atol=1e-3)


def test_a_saved_model_loads_without_this_package(tiny_bert, tmp_path):
    """In a fresh process, twice over; catches weights, a table or a setting that stays behind."""
    model = pool_mentions(injected(add_markers(tiny_bert), mention="marked", temperature=2.0, half=True))
    model.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    for file in ("knowledge_injected_transformer.py", "knowledge_injection_layer.py", "mention_pooling.py"):
        source = Path(knowledge_injected_transformer.__file__).with_name(file)
        assert (tmp_path / "model" / file).read_bytes() == source.read_bytes()
    weights = load_file(tmp_path / "model" / "knowledge_injection" / "model.safetensors")
    assert torch.equal(weights["entities"], table().half()) and weights["entities"].dtype == torch.float16
    refused, *vectors = load_elsewhere(tmp_path / "model", [*MARKED, *TERMS])
    assert refused is True
    for found in vectors:
        np.testing.assert_allclose(found, model.encode([*MARKED, *TERMS]), atol=1e-5)


def test_a_loaded_model_is_the_same_here(tiny_bert, tmp_path):
    """Catches settings that a digest or a checkpoint of the trainer does not see."""
    model = injected(tiny_bert, candidates=4, temperature=0.7)
    model.save_pretrained(str(tmp_path), create_model_card=False)
    again = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    assert model_digest(again) == model_digest(model) and injection_of(again).candidates == 4
    assert again[0]._settings() == model[0]._settings()
    again[0].inject = False
    again.save_pretrained(str(tmp_path / "off"), create_model_card=False)
    off = SentenceTransformer(str(tmp_path / "off"), device="cpu", trust_remote_code=True)
    assert off[0].inject is False and np.array_equal(off.encode(TERMS), again.encode(TERMS))
    classes = {f"{type(module).__module__}.{type(module).__qualname__}": type(module) for module in model}
    checkpoint = SentenceTransformer._load_with_module_classes(str(tmp_path), classes, device="cpu")
    assert type(checkpoint[0]) is KnowledgeInjectedTransformer


def test_copies_and_pickles_are_the_same(tiny_bert):
    """Catches a process pool that cannot find the class."""
    model = injected(tiny_bert)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.encode(TERMS), model.encode(TERMS))


def test_the_shipped_files_import_nothing_of_this_package():
    assert imports_of(knowledge_injection_layer.__file__) == {"torch"}
    allowed = {
        "torch",
        "safetensors",
        "sentence_transformers",
        "transformers",
        ".knowledge_injection_layer",
        ".mention_pooling",
    }
    assert imports_of(knowledge_injected_transformer.__file__) == allowed


def test_a_table_of_graph_embeddings_keeps_its_rows(tiny_bert):
    """Catches vectors in another order than the labels' rows."""
    graph = KGETable(["T:2", "T:1"], np.array([[0.0, 2.0], [0.0, 1.0]]), model="transe")
    inject_knowledge(tiny_bert, graph, layer=2)
    assert injection_of(tiny_bert).entities[graph.rows(["T:1"])].tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("entities", "settings", "message"),
    [
        (table(), {}, "layer must be one of 1 to 2, the layers of the encoder, found 8"),
        (table(), {"layer": 0}, "layer must be one of 1 to 2, .* found 0"),
        (table(), {"layer": True}, "layer must be one of 1 to 2, .* found True"),
        (table(), {"layer": 1, "candidates": 0}, "candidates must be an integer of at least 1, found 0"),
        (table(), {"layer": 1, "temperature": 0}, "temperature must be a number above 0, found 0"),
        (table(), {"layer": 1, "mention": "all"}, "mention must be one of whole, marked, none, found 'all'"),
        (table(), {"layer": 1, "mention": "marked"}, r"the tokenizer has no marker '\[Ms\]'"),
        (table()[0], {"layer": 1}, r"entities must be floats \[N, E\], found torch.float32 \[5\]"),
        (table().long(), {"layer": 1}, "entities must be floats"),
        (table() * torch.tensor([1.0, torch.nan, 1, 1, 1]), {"layer": 1}, "entities: 12 of 12 have NaN .* in row 0"),
    ],
)
def test_bad_arguments_are_refused(tiny_bert, entities, settings, message):
    with pytest.raises(InputError, match=message) as error:
        inject_knowledge(tiny_bert, entities, **settings)
    assert "\n" not in str(error.value) and type(tiny_bert[0]) is Transformer


def test_other_encoders_and_other_states_are_refused(tiny_bert):
    """Catches injection that happens nowhere, in silence, and knowledge upon knowledge."""
    with pytest.raises(InputError, match="the model has no injection of knowledge"):
        injection_of(tiny_bert)
    injected(tiny_bert)
    with pytest.raises(ValueError, match="injection is on, and a plain encoder would give other vectors"):
        tiny_bert[0].export_plain()
    with pytest.raises(InputError, match="the encoder already has knowledge injection"):
        inject_knowledge(tiny_bert, table(), layer=1)
    tiny_bert[0].inject = False
    with pytest.raises(InputError, match="injection is off"):
        injection_of(tiny_bert)
    tiny_bert[0].model.config.model_type = "modernbert"
    with pytest.raises(InputError, match="into bert, roberta, .* found an encoder of type 'modernbert'"):
        inject_knowledge(SentenceTransformer(modules=[tiny_bert[0].export_plain()], device="cpu"), table(), layer=1)
