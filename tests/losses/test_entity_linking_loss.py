"""Entity linking: against a plain softmax, in parts, sampled, and what is no label."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.losses import EntityLinkingLoss, entity_linking
from st_biomed.modules.inject_knowledge import inject_knowledge
from tests.contracts.loss_contract import LossContract

ENTITIES = torch.randn(9, 6, generator=torch.Generator().manual_seed(1))


class TestEntityLinkingLossContract(LossContract):
    loss_class = EntityLinkingLoss
    arguments = {"entities": ENTITIES}
    nothing_to_learn = {"nothing linked": [-100, -100]}


class TestSumContract(LossContract):
    loss_class = EntityLinkingLoss
    arguments = {"entities": ENTITIES.half(), "reduction": "sum", "num_sampled": 100}
    nothing_to_learn = {"nothing linked": [-100]}


def queries(count: int = 7, seed: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 6, generator=generator, dtype=torch.float64).requires_grad_()


LABELS = torch.tensor([3, -100, 0, 8, 8, -100, 2])


def value_and_gradient(loss: nn.Module, rows: torch.Tensor, labels: torch.Tensor = LABELS):
    value = loss.compute_loss_from_embeddings([rows], labels)
    return value.detach(), *torch.autograd.grad(value, rows)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_it_is_the_cross_entropy_over_all_entities(reduction):
    """Catches unlinked mentions in a mean, and a query's own entity left out below the fraction."""
    rows = queries()
    expected = cross_entropy(rows @ ENTITIES.double().T, LABELS, reduction=reduction)
    (gradient,) = torch.autograd.grad(expected, rows)
    found = value_and_gradient(EntityLinkingLoss(None, ENTITIES, reduction=reduction), rows)
    torch.testing.assert_close(found, (expected.detach(), gradient))


def test_a_loop_by_hand_gives_the_same():
    rows = queries()
    total = 0.0
    for query, label in zip(rows.tolist(), LABELS.tolist()):
        if label >= 0:
            scores = [sum(a * b for a, b in zip(query, entity)) for entity in ENTITIES.tolist()]
            total -= scores[label] - np.log(sum(np.exp(scores)))
    loss = EntityLinkingLoss(None, ENTITIES)
    assert loss.compute_loss_from_embeddings([rows], LABELS).item() == pytest.approx(total / 5, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("num_sampled", [None, 6])
def test_parts_change_nothing(monkeypatch, num_sampled):
    """Catches a last part that is shorter, and a share divided by the sum of its part; derivative by differences."""
    rows = queries()
    loss = EntityLinkingLoss(None, ENTITIES, num_sampled=num_sampled)
    results = []
    for largest in (2**24, 20, 1):
        monkeypatch.setattr(entity_linking, "MAX_BLOCK_ELEMENTS", largest)
        torch.manual_seed(0)
        results.append(value_and_gradient(loss, rows))

        def value(rows: torch.Tensor) -> torch.Tensor:
            torch.manual_seed(0)
            return loss.compute_loss_from_embeddings([rows], LABELS)

        assert torch.autograd.gradcheck(value, rows)
    for result in results[1:]:
        torch.testing.assert_close(result, results[0])


def test_no_matrix_of_mentions_by_entities_is_kept(monkeypatch):
    """Catches a graph that holds every similarity until the backward pass."""
    monkeypatch.setattr(entity_linking, "MAX_BLOCK_ELEMENTS", 700)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor.numel()) or tensor, lambda t: t):
        loss = EntityLinkingLoss(None, torch.randn(5000, 6))
        loss.compute_loss_from_embeddings([queries(70)], torch.arange(70)).backward()
    assert max(saved) == 5000 * 6  # the table itself


@pytest.mark.long
def test_sampling_leaves_the_expectation_of_the_sum():
    """Catches a weight of N / S left out, and the right entity counted twice where it is drawn."""
    rows = queries().detach()[:1]
    scores = (rows @ ENTITIES.double().T)[0]
    right = int(scores.argmax())
    for num_sampled in (1, 4, 8):
        loss = EntityLinkingLoss(None, ENTITIES, num_sampled=num_sampled)
        torch.manual_seed(0)
        found = [loss.compute_loss_from_embeddings([rows], torch.tensor([right])) for _ in range(3000)]
        sums = torch.stack([value + scores[right] for value in found]).exp()
        expected, error = scores.exp().sum(), sums.std() / 3000**0.5
        assert abs(sums.mean() - expected) < 4 * error


def test_half_of_a_table_is_compared_in_full():
    """Catches similarities in the precision of the table."""
    rows = queries()
    found = value_and_gradient(EntityLinkingLoss(None, ENTITIES.half()), rows)
    torch.testing.assert_close(found, value_and_gradient(EntityLinkingLoss(None, ENTITIES.half().double()), rows))


def test_entities_of_the_model_are_used_where_they_lie(tiny_bert):
    """Catches a second copy of the table, one that is trained, and one that stays where it was when the model moves."""
    inject_knowledge(tiny_bert, ENTITIES, layer=1)
    loss = EntityLinkingLoss(tiny_bert)
    assert loss.entities is tiny_bert[0].injection.entities
    loss.double()
    assert loss.entities is tiny_bert[0].injection.entities and loss.entities.dtype == torch.float64
    assert {id(value) for value in loss.parameters()} == {id(value) for value in tiny_bert.parameters()}


def test_forward_links_the_mentions_of_a_text(tiny_bert):
    """A mention that was cut off has no loss; catches padding that is linked to something."""
    inject_knowledge(tiny_bert, ENTITIES, layer=1)
    batch = dict(tiny_bert.preprocess(["acute of the other", "disease"]))
    batch["mention_spans"] = torch.tensor([[[1, 2], [2, 4], [40, 44]], [[1, 2], [-1, -1], [-1, -1]]])
    labels = torch.tensor([[4, 5, 6], [7, 2, -100]])
    value = EntityLinkingLoss(tiny_bert)([dict(batch)], labels)
    found = tiny_bert(dict(batch))["mention_queries"]
    expected = cross_entropy(
        torch.stack([found[0, 0], found[0, 1], found[1, 0]]) @ ENTITIES.T, torch.tensor([4, 5, 7])
    )
    torch.testing.assert_close(value, expected)
    value.backward()
    assert tiny_bert[0].injection.project.weight.grad.abs().max() > 0


def test_a_batch_without_mentions_is_a_zero():
    """Catches a mean of nothing."""
    rows = queries(0)
    EntityLinkingLoss(None, ENTITIES).compute_loss_from_embeddings([rows], torch.zeros(0, dtype=torch.long)).backward()
    assert rows.grad.shape == (0, 6)


def test_rows_of_a_table_are_labels():
    graph = KGETable(["T:2", "T:1"], np.array([[0.0, 20.0], [20.0, 0.0]]), model="transe")
    loss = EntityLinkingLoss(None, graph)
    rows = torch.tensor([[1.0, 0.0]])
    right, wrong = (
        loss.compute_loss_from_embeddings([rows], torch.from_numpy(graph.rows([c]))) for c in ("T:1", "T:2")
    )
    assert right < 1e-6 and wrong > 19


def test_bad_arguments_are_one_line(tiny_bert):
    """Catches a mistake that shows at the first batch only, or never."""
    for arguments, message in (
        ({"reduction": "mean_all"}, "unknown reduction 'mean_all'"),
        ({"num_sampled": 0}, "num_sampled must be an integer of at least 1 or None, found 0"),
        ({"entities": ENTITIES[0]}, r"entities must be finite numbers \[N, E\], found \[6\]"),
        ({"entities": ENTITIES * torch.nan}, r"entities must be finite numbers"),
        ({"entities": ENTITIES.numpy()}, r"entities must be a KGETable or a tensor \[N, E\], found ndarray"),
        ({"entities": ENTITIES[:0]}, "entities: expected at least one, found none"),
        ({"entities": None}, "expected entities or a model that injects knowledge"),
    ):
        with pytest.raises(InputError, match=message):
            EntityLinkingLoss(None, **{"entities": ENTITIES, **arguments})
    with pytest.raises(InputError, match="the model has no injection of knowledge"):
        EntityLinkingLoss(tiny_bert)
    loss = EntityLinkingLoss(tiny_bert, ENTITIES)
    for rows, labels, message in (
        (torch.ones(2, 5), [0, 1], "queries have 5 dimensions, the entities 6"),
        (torch.ones(2, 6), [0, 9], "labels must be rows of the 9 entities or -100, found 9"),
        (torch.ones(2, 6), [-1, 0], "labels must be rows of the 9 entities or -100, found -1"),
    ):
        with pytest.raises(InputError, match=message):
            loss.compute_loss_from_embeddings([rows], torch.tensor(labels))
    given = EntityLinkingLoss(nn.Identity(), ENTITIES)
    with pytest.raises(
        InputError, match=r"^labels must be a tensor \[B, M\], found dict; .* for KnowledgeInjectionLoss$"
    ):
        given([{"mention_queries": torch.ones(1, 1, 6), "mention_present": torch.ones(1, 1)}], {"entities": LABELS})
    with pytest.raises(InputError, match="the model gave no mention_queries"):
        loss([dict(tiny_bert.preprocess(["flu"]))], torch.tensor([[0]]))
    with pytest.raises(InputError, match="embedding needs a model"):
        EntityLinkingLoss(None, ENTITIES)([{}], LABELS)
    inject_knowledge(tiny_bert, ENTITIES, layer=1)
    with pytest.raises(InputError, match=r"one for each of the mentions \[1, 1\], found \[2\]"):
        EntityLinkingLoss(tiny_bert)([dict(tiny_bert.preprocess(["flu"]))], torch.tensor([0, 1]))
