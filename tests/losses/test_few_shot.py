"""The few-shot encoder's loss: golden numbers, a naive loop with its gradient, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.few_shot import FewShotLoss
from st_biomed.losses.few_shot_names import FewShotNames, FewShotStep, concept_prototypes
from tests.contracts.loss_contract import LossContract

NAMES = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]])
LABELS = [0, 0, 1, 1]
NEGATIVES = torch.tensor([3, 3, 1, 0])


class TestFewShotLossContract(LossContract):
    """Anchors of five concepts against names that stay where they are, two of each concept."""

    loss_class = FewShotLoss
    arguments = {
        "vectors": torch.randn(10, 6, generator=torch.Generator().manual_seed(8)),
        "labels": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    }

    def value(self, loss: nn.Module, embeddings: Tensor, labels: Tensor) -> Tensor:
        step = self.step(loss.names, labels)
        names = loss.names.vectors.to(embeddings.dtype)
        return sum(loss.compute_loss_from_embeddings([embeddings, names], step).values())

    def step(self, names: FewShotNames, labels: Tensor) -> FewShotStep:
        positives = labels[:, None] == names.labels
        targets = names.prototypes[labels]
        return FewShotStep(torch.arange(10), positives, (2 * labels + 3) % 10, targets)

    def test_nothing_to_learn_is_a_zero_on_the_graph(self, loss):
        """No positives, and no grounding; catches 0 / 0, and a margin that counts without a triplet."""
        for hinge in ("per_triplet", "batch_mean"):
            loss = FewShotLoss(None, **{**self.arguments, "grounding_weight": 0, "hinge": hinge})
            embeddings = torch.randn(3, 6, generator=torch.Generator().manual_seed(4)).requires_grad_()
            step = self.step(loss.names, torch.tensor([0, 1, 2]))
            step = step._replace(positives=torch.zeros_like(step.positives))
            (value,) = loss.compute_loss_from_embeddings([embeddings, loss.names.vectors], step).values()
            value.backward()
            assert value == 0 and embeddings.grad is not None and not embeddings.grad.any()


class TestBatchMeanContract(TestFewShotLossContract):
    arguments = {**TestFewShotLossContract.arguments, "hinge": "batch_mean", "margin": 2.0}


def identity_loss(names: Tensor = NAMES, labels: list[int] = LABELS, **arguments) -> FewShotLoss:
    """A loss whose encoder changes nothing, with given negatives."""
    loss = FewShotLoss(nn.Sequential(), names, labels, **arguments)
    loss.names.drawn.copy_(NEGATIVES)
    loss.names.epoch.fill_(0)
    return loss


def parts(loss: FewShotLoss, places: Sequence[int] = (0, 1, 2, 3)) -> dict[str, float]:
    at = torch.tensor(list(places))
    values = loss([{"sentence_embedding": loss.names.vectors[at]}], loss.names.labels[at])
    return {name: value.item() for name, value in values.items()}


@pytest.mark.parametrize(
    ("arguments", "triplet"),
    [
        ({}, 0.26 / 4),  # d: 01 .2, 03 .4, 13 .04, 21 .4, 30 .4, 23 .2; only name 1 is nearer to its negative
        ({"margin": 0.15}, 0.31 / 4),
        ({"margin": 0.15, "hinge": "batch_mean"}, 0.2 - 0.31 + 0.15),
        ({"hinge": "batch_mean"}, 0.0),
    ],
)
def test_triplets_by_hand(arguments, triplet):
    """The golden fixture A with negatives 3, 3, 1, 0; catches one hinge for the other, and a margin on the wrong side."""
    assert parts(identity_loss(**arguments))["triplet"] == pytest.approx(triplet, abs=1e-6)


def test_grounding_by_hand():
    """u_c = (.9, .3), whose cosine with both of its names is sqrt(.9): the target halves the angle."""
    assert parts(identity_loss())["grounding"] == pytest.approx(1 - math.sqrt((1 + math.sqrt(0.9)) / 2), abs=1e-6)


def test_grounding_of_vectors_of_other_lengths_by_hand():
    """Normalized before they are averaged or not; catches names that are normalized before their prototype is made."""
    names = torch.tensor([[2, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]])
    angle = math.atan2(0.3, 1.4)
    literal = 3.4 / math.hypot(3.4, 0.3)
    assert parts(identity_loss(names), [0])["grounding"] == pytest.approx(1 - math.cos(angle / 2), abs=1e-6)
    assert parts(identity_loss(names, normalize=False), [0])["grounding"] == pytest.approx(1 - literal, abs=1e-6)


def test_prototypes_of_all_names_by_hand():
    """The option for the paper's u_c."""
    loss = identity_loss(prototypes=np.array([[0.0, 3.0], [0.0, 1.0]]))
    assert parts(loss, [0])["grounding"] == pytest.approx(1 - math.sqrt(0.5), abs=1e-6)
    assert loss.get_config_dict()["prototypes"] == "given"
    assert torch.equal(concept_prototypes(NAMES, LABELS), torch.tensor([[0.9, 0.3], [0.3, 0.9]]))


def test_weights_scale_the_parts_and_leave_out_what_is_0():
    whole, weighted = parts(identity_loss()), parts(identity_loss(triplet_weight=3, grounding_weight=0.5))
    assert weighted == pytest.approx({"triplet": 3 * whole["triplet"], "grounding": whole["grounding"] / 2})
    assert parts(identity_loss(triplet_weight=0)).keys() == {"grounding"}


class Encoder(nn.Module):
    """A small one, deterministic, that refuses a name twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer = nn.Linear(5, 5, dtype=torch.float64)

    def forward(self, features: dict) -> dict:
        rows = features["sentence_embedding"].double()
        assert len(rows.unique(dim=0)) == len(rows)
        return {"sentence_embedding": (self.layer(rows).tanh() + rows) / 2}


def distance(a: Tensor, b: Tensor) -> Tensor:
    return 1 - (a * b).sum() / a.norm() / b.norm()


@pytest.mark.parametrize("hinge", ["per_triplet", "batch_mean"])
@pytest.mark.parametrize("seed", range(5))
def test_a_naive_loop_gives_the_same_value_and_gradient(seed, hinge):
    """Concepts of unequal size, a batch of some names; catches gradients that miss positives or negatives."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor([2, 0, 1, 0, 2, 1, 0, 2, 0, 3])
    vectors = torch.randn(10, 5, generator=generator)
    model, twin = Encoder(), Encoder()
    loss = FewShotLoss(model, vectors, labels, hinge=hinge, margin=0.7, triplet_weight=1.5)
    loss.names.draw(vectors, epoch=seed)
    batch = torch.randperm(10, generator=generator)[:6]
    found = loss([{"sentence_embedding": vectors[batch]}], labels[batch])
    f = lambda i: twin({"sentence_embedding": vectors[i : i + 1]})["sentence_embedding"][0]
    near, far, grounding = [], [], []
    for a in batch.tolist():
        n = int(loss.names.drawn[a])
        assert labels[n] != labels[a]
        for p in range(10):
            if labels[p] == labels[a] and p != a:
                near.append(distance(f(a), f(p)))
                far.append(distance(f(a), f(n)))
        u_c = torch.stack([vectors[i].double() for i in range(10) if labels[i] == labels[a]]).mean(0)
        u_a = vectors[a].double()
        grounding.append(distance(f(a), (u_c / u_c.norm() + u_a / u_a.norm()) / 2))
    near, far = torch.stack(near), torch.stack(far)
    triplet = (near.mean() - far.mean() + 0.7).relu() if hinge == "batch_mean" else (near - far + 0.7).relu().mean()
    expected = {"triplet": 1.5 * triplet, "grounding": torch.stack(grounding).mean()}
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    sum(found.values()).backward()
    sum(expected.values()).backward()
    torch.testing.assert_close(model.layer.weight.grad, twin.layer.weight.grad, atol=1e-6, rtol=1e-6)
    assert model.layer.weight.grad.abs().max() > 0


def test_one_name_a_concept_is_grounded_alone():
    """One shot: no positives, a zero for the triplets and no NaN."""
    found = parts(identity_loss(labels=[0, 1, 2, 3]))
    assert found["triplet"] == 0 and found["grounding"] == pytest.approx(0, abs=1e-6)


def test_names_of_equal_vectors_are_told_apart_by_concept():
    """Catches an anchor that is compared as another concept's name."""
    names = FewShotNames(torch.ones(4, 2), LABELS)
    assert names.places(torch.ones(2, 2), torch.tensor([1, 0])).tolist() == [2, 0]


def test_draws_follow_from_seed_and_epoch():
    """Catches a draw that goes on with the last one's generator."""
    vectors = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    labels = [i % 4 for i in range(40)]
    loss, again, other = (FewShotLoss(None, vectors, labels, seed=seed).names for seed in (1, 1, 2))
    for names, epochs in ((loss, [0, 1]), (again, [1]), (other, [1])):
        for epoch in epochs:
            names.draw(vectors, epoch)
    assert torch.equal(loss.drawn, again.drawn) and not torch.equal(loss.drawn, other.drawn)
    assert (loss.labels[loss.drawn] != loss.labels).all()
    again.draw(vectors, 0)
    assert not torch.equal(loss.drawn, again.drawn)


def test_wu2017_is_another_draw():
    vectors = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    drawn = []
    for negatives in ("inverse_distance", "wu2017"):
        names = FewShotLoss(None, vectors, [i % 4 for i in range(40)], negatives=negatives).names
        names.draw(vectors, 0)
        drawn.append(names.drawn)
    assert not torch.equal(*drawn)


def test_validation_names_are_compared_with_the_training_names():
    """All of the concept's, none left out as the anchor itself; and with a draw that stays."""
    names = FewShotNames(NAMES, LABELS, seed=3)
    others = torch.tensor([[0.9, 0.1], [0.8, 0.6], [0.1, 0.9]])
    step = names.validation_step(others, torch.tensor([0, 0, 1]))
    assert step.positives.tolist() == [[True, True, False, False]] * 2 + [[False, False, True, True]]
    assert (names.labels[step.negatives] != torch.tensor([0, 0, 1])).all()
    names.draw(NAMES, 5)
    assert torch.equal(names.validation_step(others, torch.tensor([0, 0, 1])).negatives, step.negatives)
    torch.testing.assert_close(step.targets, names.targets(others, torch.tensor([0, 0, 1])))


class Wide(nn.Module):
    def get_embedding_dimension(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"margin": -0.1}, "margin must be a number of at least 0, found -0.1"),
        ({"hinge": "mean"}, "unknown hinge 'mean': allowed are 'batch_mean', 'per_triplet'"),
        ({"negatives": "wu"}, "unknown negatives 'wu': allowed are 'inverse_distance', 'wu2017'"),
        ({"triplet_weight": 0, "grounding_weight": 0}, "at least one weight must be above 0, found only 0"),
        ({"seed": -1}, "seed must be an integer of at least 0, found -1"),
        ({"labels": [0, 0, 0, 0]}, r"labels must number two or more concepts .*, found \[0\]"),
        ({"labels": [0, 0, 2, 2]}, r"labels must number two or more concepts .*, found \[0, 2\]"),
        ({"labels": [0, 0, 1]}, r"labels must be one concept's number for each of 4 vectors.*found \[3\]"),
        ({"labels": [0, 0, 1, -1]}, "none below 0"),
        ({"labels": [0.0, 0, 1, 1]}, "found .*float32"),
        (
            {"vectors": torch.full((4, 2), torch.nan)},
            r"vectors must be a matrix of finite numbers, found \[4, 2\].*NaN",
        ),
        ({"vectors": torch.ones(4)}, r"vectors must be a matrix of finite numbers, found \[4\]"),
        ({"prototypes": torch.ones(3, 2)}, r"prototypes must have shape \[2, 2\], found \[3, 2\]"),
        ({"model": Wide()}, "vectors must have the width 3 of the model's vectors, found 2"),
    ],
)
def test_bad_arguments_are_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as error:
        FewShotLoss(**{"model": None, "vectors": NAMES, "labels": LABELS, **arguments})
    assert "\n" not in str(error.value)


def test_bad_batches_are_one_line():
    """Catches negatives that were never drawn, and names that the loss does not hold."""
    loss = identity_loss()
    label = torch.tensor([0])
    for vectors, message in (
        (torch.tensor([[0.5, 0.5]]), "a name of concept 0 whose vector is none of the 4"),
        (NAMES[2:3], "a name of concept 0 whose vector is none of the 4"),
    ):
        with pytest.raises(InputError, match=message):
            loss([{"sentence_embedding": vectors}], label)
    with pytest.raises(InputError, match=r"sentence_embedding, found \[\['input_ids'\]\]: let the model begin"):
        loss([{"input_ids": label}], label)
    wide = FewShotLoss(Wide(), torch.eye(3)[[0, 0, 1, 1]], LABELS)
    with pytest.raises(InputError, match="^FewShotLoss cannot be wrapped in a loss over parts of the vectors"):
        MatryoshkaLoss(wide.model, wide, [3, 1])([{"sentence_embedding": torch.eye(3)[:1]}], label)
    fresh = FewShotLoss(nn.Sequential(), NAMES, LABELS)
    with pytest.raises(InputError, match=r"no negatives are drawn: pass callbacks=\[FewShotNegativesCallback"):
        fresh([{"sentence_embedding": NAMES[:1]}], label)
    with pytest.raises(InputError, match="embedding needs a model"):
        FewShotLoss(None, NAMES, LABELS)([], label)
    with pytest.raises(InputError, match="concept 1 has no name among the 2 vectors"):
        concept_prototypes(NAMES[:2], [0, 2])
