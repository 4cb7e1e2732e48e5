"""The length-sorted embedding of names gives what one forward per column gives, for less padding."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers.base.losses import column_merging_disabled
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn

from st_biomed.losses import embed
from st_biomed.losses.embed import chunk_bounds, embed_columns
from st_biomed.losses.multi_similarity import MultiSimilarityLoss

NAMES = [
    "flu",
    "acute of the disease",
    "zoster",
    "other",
    "chronic bronchitis (simple)",
    "type 2",
    "gout",
    "a b c d e f",
]
OTHER = ["ague", "x", "unspecified disease of the ear", "mumps", "pox", "a, b", "cowpox with fever", "kuru"]


def features_of(model, names: list[str]) -> dict:
    return dict(model.preprocess(names))


def stock(model, columns: list[dict]) -> list[torch.Tensor]:
    return [model(dict(column))["sentence_embedding"] for column in columns]


def with_gradients(model, embeddings: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The embeddings, and every weight's gradient of a sum in which each number counts differently."""
    rows = torch.cat(embeddings)
    model.zero_grad()
    (rows * torch.linspace(-1, 1, rows.numel()).reshape(rows.shape)).sum().backward()
    gradients = {name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None}
    assert any(gradient.abs().max() > 1e-3 for gradient in gradients.values())
    return rows.detach(), gradients


@pytest.fixture
def widths(tiny_bert, monkeypatch) -> list[tuple[int, int]]:
    """Rows and width of every forward of the tiny encoder."""
    seen: list[tuple[int, int]] = []
    tiny_bert.register_forward_pre_hook(lambda module, args: seen.append(tuple(args[0]["input_ids"].shape)))
    return seen


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "lasttoken"])
@pytest.mark.parametrize("chunk_cost", [0, 12, None, 10**9])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_values_and_gradients_are_those_of_the_stock_forward(tiny_bert, pooling, chunk_cost, n_columns):
    """Catches rows that come back in another order, and names cut too short."""
    tiny_bert[1] = Pooling(16, pooling)
    tiny_bert.double()  # rounding in float32 is larger than the mistakes to be found
    columns = [features_of(tiny_bert, names) for names in (NAMES, OTHER)[:n_columns]]
    expected, expected_gradients = with_gradients(tiny_bert, stock(tiny_bert, columns))
    found, gradients = with_gradients(tiny_bert, embed_columns(tiny_bert, iter(columns), chunk_cost=chunk_cost))
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(gradients, expected_gradients, atol=1e-11, rtol=0)


def test_float32_agrees_to_a_millionth(tiny_bert):
    """Catches a chunk computed in lower precision."""
    columns = [features_of(tiny_bert, names) for names in (NAMES, OTHER)]
    for found, expected in zip(embed_columns(tiny_bert, columns, chunk_cost=0), stock(tiny_bert, columns)):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "form", [int, lambda n: torch.tensor([n]), lambda n: torch.full((8,), n)], ids=["int", "1", "B"]
)
def test_a_prompt_left_out_of_the_pooling_stays_out(tiny_bert, form):
    """Catches the length of the prompt, one value for the batch in three forms, being cut up or lost."""
    tiny_bert[1] = Pooling(16, "mean", include_prompt=False)
    columns = [dict(tiny_bert.preprocess(names, prompt="disease of the ")) for names in (NAMES, OTHER)]
    for column in columns:
        column["prompt_length"] = form(int(column["prompt_length"]))
    for found, expected in zip(embed_columns(tiny_bert, columns, chunk_cost=0), stock(tiny_bert, columns)):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_every_chunk_is_as_wide_as_its_longest_name(tiny_bert, widths):
    """Catches chunks that keep the padding of the batch."""
    columns = [features_of(tiny_bert, names) for names in (NAMES, OTHER)]
    lengths = sorted((int(n) for column in columns for n in column["attention_mask"].sum(1)), reverse=True)
    embed_columns(tiny_bert, columns, chunk_cost=0)
    assert [width for rows, width in widths for _ in range(rows)] == lengths


def test_a_batch_cheaper_than_two_chunks_is_one_forward(tiny_bert, widths, monkeypatch):
    """Catches small batches on a GPU that wait for the device and pay a launch per chunk."""
    monkeypatch.setattr(embed, "token_lengths", lambda mask: pytest.fail("waits for the device"))
    embed_columns(tiny_bert, [features_of(tiny_bert, names) for names in (NAMES, OTHER)], chunk_cost=10**6)
    assert len(widths) == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 12))
def test_no_other_cut_of_the_rows_is_cheaper(lengths, chunk_cost):
    """Catches a greedy cut, and chunks that overlap or leave rows out."""
    lengths = np.sort(np.array(lengths))[::-1]
    rows = len(lengths)

    def cost(bounds):
        return sum((end - begin) * lengths[begin] + chunk_cost for begin, end in bounds)

    bounds = list(chunk_bounds(lengths, chunk_cost))
    assert [row for begin, end in bounds for row in range(begin, end)] == list(range(rows))
    every = (pairwise((0, *cuts, rows)) for n in range(rows) for cuts in combinations(range(1, rows), n))
    assert cost(bounds) == min(map(cost, every))


def test_left_padding_is_embedded_as_it_is(tiny_bert, widths):
    """Catches cutting the end of a name that stands at the end of its row."""
    tiny_bert.tokenizer.padding_side = "left"
    columns = [features_of(tiny_bert, names) for names in (NAMES, OTHER)]
    found = embed_columns(tiny_bert, columns, chunk_cost=0)
    assert widths == [tuple(column["input_ids"].shape) for column in columns]
    for ours, expected in zip(found, stock(tiny_bert, columns)):
        torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)


class Recorder(nn.Module):
    """Stands for an encoder: keeps what it is given, and embeds by what belongs to texts and to tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[dict] = []

    def forward(self, features: dict) -> dict:
        self.given.append(features)
        if "attention_mask" in features:
            weights = features.get("token_weight", torch.ones(1)) * features["attention_mask"]
            values = [(features["input_ids"] * weights).sum(1)]
            if "spans" in features:
                values += [*features["spans"].unbind(1), features["depth"]]
            features["sentence_embedding"] = torch.stack(values, dim=1)
        else:
            features["sentence_embedding"] = torch.zeros(2, 2)
        return features


def rows_of_tokens(**more: torch.Tensor) -> dict:
    lengths = torch.tensor([5, 2, 4, 2, 3, 5])
    mask = (torch.arange(5) < lengths[:, None]).long()
    return {"input_ids": torch.arange(30).reshape(6, 5) * mask, "attention_mask": mask, "modality": "text", **more}


def test_what_belongs_to_texts_and_to_tokens_follows_them():
    """Catches spans that stay in the old order, and weights of tokens that are not cut with them."""
    column = rows_of_tokens(spans=torch.rand(6, 2), depth=torch.arange(6), token_weight=torch.rand(6, 5))
    model = Recorder()
    (found,) = embed_columns(model, [column], chunk_cost=0)
    assert len(model.given) == 4
    torch.testing.assert_close(found, Recorder()(dict(column))["sentence_embedding"])


@pytest.mark.parametrize(
    "columns",
    [
        [{"input_ids": torch.zeros(1, 9), "cu_seq_lens_q": torch.tensor([0, 4, 9]), "modality": "text"}],
        [{"input_ids": torch.zeros(9), "offsets": torch.tensor([0, 4]), "modality": "text"}],
        [rows_of_tokens(pixel_values=torch.rand(6, 3)) | {"modality": ("image", "text")}],
        [rows_of_tokens(pixel_values=torch.rand(17, 3))],
        [rows_of_tokens(task="query"), rows_of_tokens(task="document")],
        [rows_of_tokens(prompt_length=3), rows_of_tokens(prompt_length=4)],
        [rows_of_tokens(depth=torch.ones(6)), rows_of_tokens()],
    ],
    ids=["packed", "static", "image", "patches", "routes", "prompts", "keys"],
)
def test_what_cannot_be_regrouped_goes_to_the_model_as_it_is(columns):
    """Catches packed sequences torn apart, and routes or prompts of one column given to another."""
    model = Recorder()
    embed_columns(model, columns, chunk_cost=0)
    assert [id(given) for given in model.given] == [id(column) for column in columns]


def test_a_wrapper_that_needs_the_columns_gets_them(tiny_bert):
    """Catches losses such as AdaptiveLayerLoss losing what they wrote into the features."""
    columns = [features_of(tiny_bert, NAMES), features_of(tiny_bert, OTHER)]
    with column_merging_disabled():
        embed_columns(tiny_bert, columns, chunk_cost=0)
    assert all("token_embeddings" in column for column in columns)


def test_the_features_can_be_embedded_again(tiny_bert):
    """Catches features that the first pass changed, as the model itself does."""
    column = features_of(tiny_bert, NAMES)
    before = set(column)
    first, second = (embed_columns(tiny_bert, [column], chunk_cost=0)[0] for _ in range(2))
    assert set(column) == before
    assert torch.equal(first, second)


def test_matryoshka_loss_gets_the_chunks_of_every_dimension(tiny_bert, monkeypatch):
    """Catches chunks whose number or order changes between the calls that one forward is shared by."""
    features, labels = [features_of(tiny_bert, NAMES)], torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    losses = []
    for chunk_cost in (10**9, 0):
        monkeypatch.setattr(embed, "CHUNK_COST_CPU", chunk_cost)
        tiny_bert.zero_grad()
        loss = MatryoshkaLoss(tiny_bert, MultiSimilarityLoss(tiny_bert), [16, 8])(features, labels)
        loss.backward()
        losses.append((loss.detach(), tiny_bert[0].model.embeddings.word_embeddings.weight.grad.clone()))
    torch.testing.assert_close(losses[1], losses[0], atol=1e-6, rtol=1e-5)


def test_bf16_autocast_differs_by_rounding_only(tiny_bert):
    """Catches an embedding that leaves autocast, or enters the gradient twice."""
    columns = [features_of(tiny_bert, names) for names in (NAMES, OTHER)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected, expected_gradients = with_gradients(tiny_bert, stock(tiny_bert, columns))
        found, gradients = with_gradients(tiny_bert, embed_columns(tiny_bert, columns, chunk_cost=0))
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, atol=0.03, rtol=0.03)
    name = "0.model.encoder.layer.1.output.dense.weight"
    cosine = torch.cosine_similarity(gradients[name].flatten(), expected_gradients[name].flatten(), dim=0)
    assert cosine > 0.999


def test_forwards_that_communicate_are_as_many_on_every_process(tiny_bert, widths, monkeypatch):
    """Catches FSDP waiting for ever because one process cut its batch into more chunks."""
    monkeypatch.setattr(embed, "get_world_size", lambda: 2)
    embed_columns(tiny_bert, [features_of(tiny_bert, NAMES)], chunk_cost=0)
    assert len(widths) == 1
