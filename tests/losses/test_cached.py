"""A cached loss is its uncached form with less memory: the same number, the same gradients."""

from __future__ import annotations

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedLoss, CachedMultiSimilarityLoss, CachedOrdinalMultiSimilarityLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss

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
LABELS = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])

LOSSES = {
    "multi-similarity": (MultiSimilarityLoss, CachedMultiSimilarityLoss, {"miner": None}),
    "ordinal": (OrdinalMultiSimilarityLoss, CachedOrdinalMultiSimilarityLoss, {}),
    "ordinal in groups": (OrdinalMultiSimilarityLoss, CachedOrdinalMultiSimilarityLoss, {"group_size": 2}),
}


def result(loss: nn.Module, model: SentenceTransformer, columns: list[list[str]], labels: Tensor):
    """Loss and gradients, after a backward pass that scales by a half as gradient accumulation does."""
    model.zero_grad()
    value = loss([dict(model.preprocess(names)) for names in columns], labels)
    (value / 2).backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert any(gradient.abs().max() > 1e-3 for gradient in gradients.values())
    return value.detach(), gradients


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize(
    "size", [{"mini_batch_size": 3}, {"mini_batch_size": 99}, {"mini_batch_num_tokens": 40}], ids=str
)
@pytest.mark.parametrize("columns", [[NAMES], [NAMES, OTHER]], ids=["one column", "two columns"])
def test_loss_and_gradients_are_the_uncached_ones(tiny_bert, kind, size, columns):
    """Catches labels that stay behind when the rows are sorted, and groups made of sorted rows."""
    uncached, cached, arguments = LOSSES[kind]
    tiny_bert.double()
    labels = LABELS if len(columns) == 1 else torch.stack([LABELS, LABELS.flip(0)], dim=1)
    expected = result(uncached(tiny_bert, **arguments), tiny_bert, columns, labels)
    found = result(cached(tiny_bert, **arguments, **size), tiny_bert, columns, labels)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_dropout_is_the_same_in_both_passes(tiny_bert):
    """Catches a gradient that belongs to other embeddings than those the loss saw."""
    for module in tiny_bert.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    tiny_bert.train()
    seen: list[Tensor] = []
    tiny_bert.register_forward_hook(lambda module, args, output: seen.append(output["sentence_embedding"].detach()))
    result(CachedMultiSimilarityLoss(tiny_bert, miner=None, mini_batch_size=3), tiny_bert, [NAMES], LABELS)
    first, second = torch.cat(seen[:3]), torch.cat(seen[3:])
    assert torch.equal(first, second)


def test_names_are_embedded_sorted_by_length(tiny_bert):
    """Catches mini-batches that mix long and short names and pay for the padding."""
    widths: list[int] = []
    tiny_bert.register_forward_pre_hook(lambda module, args: widths.append(args[0]["input_ids"].shape[1]))
    loss = CachedMultiSimilarityLoss(tiny_bert, mini_batch_size=4)
    with torch.no_grad():
        loss([dict(tiny_bert.preprocess(names)) for names in (NAMES, OTHER)], LABELS)
    assert widths == sorted(widths, reverse=True)
    lengths = tiny_bert.preprocess(NAMES + OTHER)["attention_mask"].sum(1).sort(descending=True).values
    assert widths == lengths[::4].tolist()


def test_left_padded_names_are_embedded_unsorted(tiny_bert):
    """Catches the end of a name being cut off where the padding stands in front."""
    tiny_bert.tokenizer.padding_side = "left"
    expected = result(MultiSimilarityLoss(tiny_bert, miner=None), tiny_bert, [NAMES, OTHER], LABELS)
    cached = CachedMultiSimilarityLoss(tiny_bert, miner=None, mini_batch_size=3)
    torch.testing.assert_close(result(cached, tiny_bert, [NAMES, OTHER], LABELS), expected, atol=1e-5, rtol=1e-4)


def test_matryoshka_loss_over_a_cached_loss(tiny_bert):
    """Catches the undoing of the sorting being lost in sentence-transformers' wrapper."""
    tiny_bert.double()
    losses = [
        MultiSimilarityLoss(tiny_bert, miner=None),
        CachedMultiSimilarityLoss(tiny_bert, miner=None, mini_batch_size=3),
    ]
    expected, found = (result(MatryoshkaLoss(tiny_bert, loss, [16, 8]), tiny_bert, [NAMES], LABELS) for loss in losses)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_evaluation_gives_the_loss_without_a_graph(tiny_bert):
    """Catches a backward pass where gradients are off."""
    features = [dict(tiny_bert.preprocess(NAMES))]
    with torch.no_grad():
        value = CachedMultiSimilarityLoss(tiny_bert, mini_batch_size=3)(features, LABELS)
        expected = MultiSimilarityLoss(tiny_bert)([dict(tiny_bert.preprocess(NAMES))], LABELS)
    torch.testing.assert_close(value, expected)


def test_a_preset_and_its_overrides_reach_the_loss(tiny_bert):
    """Catches a cached loss with other settings than its name says, in training and on the card."""
    loss = CachedMultiSimilarityLoss.from_preset(tiny_bert, "sapbert", base=0.4, mini_batch_size=7)
    plain = MultiSimilarityLoss.from_preset(None, "sapbert", base=0.4)
    assert loss.get_config_dict() == plain.get_config_dict() | {"mini_batch_size": 7, "mini_batch_num_tokens": None}
    assert loss.loss.citation == plain.citation
    assert "gao2021scaling" in loss.citation
    with pytest.raises(InputError, match=r"unknown preset 'sapbart'.*did you mean 'sapbert'"):
        CachedMultiSimilarityLoss.from_preset(tiny_bert, "sapbart")


class WithTable(nn.Module):
    def __init__(self, model: nn.Module | None) -> None:
        super().__init__()
        self.relations = nn.Parameter(torch.zeros(3, 16))


class CachedWithTable(CachedLoss):
    loss_class = WithTable


def test_a_loss_with_parameters_of_its_own_is_refused(tiny_bert):
    """Catches gradients that miss accumulation and scaling."""
    with pytest.raises(InputError, match="cannot learn parameters of the loss \\(relations\\)"):
        CachedWithTable(tiny_bert)


def test_static_embeddings_are_refused(tiny_bert):
    """Catches a crash at the first batch: such inputs have no rows."""
    model = SentenceTransformer(modules=[StaticEmbedding(tiny_bert.tokenizer.backend_tokenizer, embedding_dim=4)])
    with pytest.raises(InputError, match="StaticEmbedding"):
        CachedMultiSimilarityLoss(model)


def test_a_mini_batch_has_a_size():
    """Catches a failure at the first batch."""
    with pytest.raises(InputError, match="mini_batch_size must be an integer of at least 1, found None"):
        CachedMultiSimilarityLoss(None, mini_batch_size=None)
    CachedMultiSimilarityLoss(None, mini_batch_size=None, mini_batch_num_tokens=64)


@pytest.mark.parametrize("name", ["mini_batch_size", "mini_batch_num_tokens"])
@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_mini_batch_sizes_are_checked_when_the_loss_is_made(name, size):
    """Catches an endless loop over empty mini-batches."""
    with pytest.raises(InputError, match=f"{name} must be an integer of at least 1( or None)?, found {size!r}"):
        CachedMultiSimilarityLoss(None, **{name: size})
