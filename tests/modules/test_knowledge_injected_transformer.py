"""Injection of knowledge into an encoder: between which layers, what is a mention, gradients, and what is refused."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.modules.adapters import add_adapters
from st_biomed.modules.inject_knowledge import inject_knowledge, injection_of
from st_biomed.modules.markers import add_markers, pool_mentions
from tests.modules.knowledge_layers import injected
from tests.modules.mention_texts import FAMILIES, MARKED, TERMS, family, table
from tests.modules.test_mention_pooling import features


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


def test_threads_that_encode_at_once_get_the_vectors_of_one_thread(tiny_bert):
    """Catches an injection that another thread sees, and layers that stay in the encoder."""
    injected(tiny_bert)
    layers, expected = tiny_bert[0]._stack.layer, tiny_bert.encode(TERMS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: tiny_bert.encode(TERMS), range(40)))
    assert tiny_bert[0]._stack.layer is layers and len(layers) == 2
    assert all(np.array_equal(vectors, expected) for vectors in found)


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
        (table().numpy(), {"layer": 1}, r"entities must be a KGETable or a tensor \[N, E\], found ndarray"),
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
    with pytest.raises(InputError, match="adapters need a plain encoder, found one with injection of knowledge"):
        add_adapters(tiny_bert)
    tiny_bert[0].inject = False
    with pytest.raises(InputError, match="injection is off"):
        injection_of(tiny_bert)
    tiny_bert[0].model.config.model_type = "modernbert"
    with pytest.raises(InputError, match="into bert, roberta, .* found an encoder of type 'modernbert'"):
        inject_knowledge(SentenceTransformer(modules=[tiny_bert[0].export_plain()], device="cpu"), table(), layer=1)
