"""Self-distillation: a double loop, golden numbers, labels as rows of the teacher, and joined with another loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.distilled import CachedDistilledLoss, DistilledLoss
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.self_distillation import CachedSelfDistillationLoss, SelfDistillationLoss
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import unit

TEACHER = np.eye(6)[:5]
"""Five texts that have nothing to do with each other."""

NAMES = ["flu", "acute of the disease", "zoster", "other", "type 2 disease of the ear", "gout"]


class TestSelfDistillationContract(LossContract):
    loss_class = SelfDistillationLoss
    arguments = {"teacher": TEACHER}


class TestCachedSelfContract(LossContract):
    loss_class = CachedSelfDistillationLoss
    arguments = {"teacher": TEACHER}


class TestVectorsContract(LossContract):
    loss_class = SelfDistillationLoss
    arguments = {"teacher": TEACHER, "target": "vectors", "weight": 3.0}
    nothing_to_learn = {}


class TestDistilledContract(LossContract):
    loss_class = DistilledLoss
    arguments = {
        "loss": MultiSimilarityLoss(None, miner=None),
        "distillation": SelfDistillationLoss(None, TEACHER, 0.1),
    }


class TestCachedDistilledContract(TestDistilledContract):
    loss_class = CachedDistilledLoss


def batch() -> tuple[torch.Tensor, np.ndarray, torch.Tensor]:
    """Seven texts of a table of nine, one of them twice; the teacher has other dimensions."""
    generator = torch.Generator().manual_seed(8)
    embeddings = torch.randn(7, 4, generator=generator, dtype=torch.float64)
    return embeddings, np.random.default_rng(8).normal(size=(9, 5)), torch.tensor([8, 2, 0, 2, 5, 1, 7])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_a_double_loop_gives_the_same(dtype):
    """Catches the diagonal in the mean, a teacher that is not of unit length, and rows that are taken in another order."""
    embeddings, teacher, labels = batch()
    teacher = teacher.astype(dtype)
    z = unit(embeddings).numpy()
    t = unit(torch.from_numpy(teacher.astype(np.float64))[labels]).numpy()
    expected = 0.0
    for i in range(7):
        for j in range(7):
            if i != j:
                expected += (z[i] @ z[j] - t[i] @ t[j]) ** 2 / 42
    found = SelfDistillationLoss(None, teacher, 2.5).compute_loss_from_embeddings([embeddings], labels)
    assert found.item() == pytest.approx(2.5 * expected, abs=1e-12)
    same = torch.from_numpy(z @ np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0])
    turned = SelfDistillationLoss(None, teacher).compute_loss_from_embeddings([same], labels)
    assert turned.item() == pytest.approx(expected, abs=1e-12), "a rotation of the space counts for nothing"


def test_golden_numbers():
    """By hand: cosines of 0, 0.6 and 0.8 that the teacher has as 1, 0 and 0."""
    teacher = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
    for target, expected in (("cosines", 2 * (1 + 0.36 + 0.64) / 6), ("vectors", (0 + 1 + 0.2) / 3)):
        loss = SelfDistillationLoss(None, teacher, target=target)
        value = loss.compute_loss_from_embeddings([embeddings], torch.arange(3))
        assert value.item() == pytest.approx(expected, abs=1e-6), target


def test_the_teacher_itself_has_nothing_to_learn():
    """Catches rows of the teacher that are not those of the labels."""
    _, teacher, labels = batch()
    for target in ("cosines", "vectors"):
        student = torch.from_numpy(3 * teacher[labels.numpy()]).requires_grad_()
        value = SelfDistillationLoss(None, teacher, target=target).compute_loss_from_embeddings([student], labels)
        value.backward()
        assert value.item() == pytest.approx(0, abs=1e-12) and student.grad.abs().max() < 1e-9


def test_two_columns_have_labels_of_their_own():
    embeddings, teacher, labels = batch()
    loss = SelfDistillationLoss(None, teacher)
    joined = loss.compute_loss_from_embeddings([embeddings[:6]], labels[:6])
    columns = [embeddings[:3], embeddings[3:6]]
    by_column = loss.compute_loss_from_embeddings(columns, torch.stack([labels[:3], labels[3:6]], dim=1))
    torch.testing.assert_close(by_column, joined)


@pytest.mark.parametrize(
    ("share", "chosen"), [(1.0, range(7)), (0.5, (0, 2, 3, 6)), (0.4, (0, 3, 4)), (0.01, (0, 5)), (1e-9, (0, 5))]
)
@pytest.mark.parametrize("target", ["cosines", "vectors"])
def test_a_share_is_the_loss_of_an_even_selection(share, chosen, target):
    """Catches a mean over the whole batch, and a teacher that embeds texts that are not distilled."""
    embeddings, teacher, labels = batch()
    teacher = teacher[:, :4]
    asked = []

    class Table:
        ndim, shape = teacher.ndim, teacher.shape

        def __len__(self):
            return len(teacher)

        def __getitem__(self, rows):
            asked.extend(rows.tolist())
            return teacher[rows]

    embeddings.requires_grad_()
    loss = SelfDistillationLoss(None, Table(), 2.0, target=target, share=share)
    found = loss.compute_loss_from_embeddings([embeddings], labels)
    chosen = list(chosen)
    expected = SelfDistillationLoss(None, teacher, 2.0, target=target).compute_loss_from_embeddings(
        [embeddings[chosen]], labels[chosen]
    )
    torch.testing.assert_close(found, expected)
    assert asked == labels[chosen].tolist()
    (gradient,) = torch.autograd.grad(found, embeddings)
    assert gradient.abs().sum(dim=1).nonzero().flatten().tolist() == chosen
    assert loss.get_config_dict()["share"] == share


@pytest.mark.parametrize(("share", "period"), [(0.5, 2), (0.25, 2), (0.25, 4), (0.1, 10), (0.2, 10), (0.33, 3)])
def test_a_share_has_texts_of_every_place_of_a_group(share: float, period: int):
    """Catches equal steps through batches of a name and a definition in turns, which never reach a definition."""
    chosen = SelfDistillationLoss(None, TEACHER, share=share)._chosen(400)
    places = torch.bincount(chosen % period, minlength=period) / len(chosen)
    assert len(chosen.unique()) == len(chosen) and bool((chosen < 400).all())
    assert places.min() > 0.6 / period and places.max() < 1.5 / period


def test_a_share_of_a_small_batch_is_the_batch():
    embeddings, teacher, labels = batch()
    for size, expected in ((1, 0), (0, 0), (2, None)):
        whole, part = (
            SelfDistillationLoss(None, teacher, share=share).compute_loss_from_embeddings(
                [embeddings[:size]], labels[:size]
            )
            for share in (1.0, 0.1)
        )
        torch.testing.assert_close(part, whole)
        assert expected is None or part == expected


def test_a_memory_mapped_teacher_is_read_by_rows(tmp_path):
    embeddings, teacher, labels = batch()
    np.save(tmp_path / "teacher.npy", teacher)
    mapped = np.load(tmp_path / "teacher.npy", mmap_mode="r")
    values = [
        SelfDistillationLoss(None, table).compute_loss_from_embeddings([embeddings], labels)
        for table in (mapped, teacher)
    ]
    assert torch.equal(*values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"teacher": np.zeros(3)}, r"teacher must be vectors \[N, D\], found shape \[3\]"),
        ({"teacher": np.zeros((0, 3))}, r"teacher must be vectors \[N, D\], found shape \[0, 3\]"),
        ({"teacher": TEACHER, "weight": 0}, "weight must be a number above 0, found 0"),
        ({"teacher": TEACHER, "share": 0}, "share must be a number above 0 and at most 1, found 0"),
        ({"teacher": TEACHER, "share": 1.5}, "share must be a number above 0 and at most 1, found 1.5"),
        ({"teacher": TEACHER, "target": "cosine"}, "target.*cosine.*cosines"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        SelfDistillationLoss(None, **arguments)


def test_labels_that_are_no_rows_and_another_dimension_are_refused():
    embeddings, teacher, _ = batch()
    for labels, found in ((torch.tensor([-1, 8]), "-1 to 8"), (torch.tensor([0, 9]), "0 to 9")):
        with pytest.raises(InputError, match=f"rows of the teacher from 0 to 8, found {found}: was the dataset made"):
            SelfDistillationLoss(None, teacher).compute_loss_from_embeddings([embeddings[:2]], labels)
    with pytest.raises(InputError, match="teacher of 4 dimensions like the student, found 5; use 'cosines'"):
        SelfDistillationLoss(None, teacher, target="vectors").compute_loss_from_embeddings(
            [embeddings[:2]], torch.tensor([0, 1])
        )


def test_the_sum_of_both_losses_has_the_sum_of_their_gradients(tiny_bert):
    """Catches a loss that is left out, or embedded a second time with other dropout."""
    tiny_bert.double()
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    teacher = np.random.default_rng(3).normal(size=(3, 8))
    alone = [InfoNCELoss(tiny_bert, miner=None), SelfDistillationLoss(tiny_bert, teacher, 4.0)]
    parts = (InfoNCELoss(None, miner=None), SelfDistillationLoss(None, teacher, 4.0))
    both = [
        DistilledLoss(tiny_bert, *parts),
        CachedDistilledLoss(tiny_bert, *parts, mini_batch_size=2),
    ]
    results = []
    for losses in (alone, *([loss] for loss in both)):
        tiny_bert.zero_grad()
        value = sum(loss([dict(tiny_bert.preprocess(NAMES))], labels) for loss in losses)
        value.backward()
        gradients = {name: p.grad.clone() for name, p in tiny_bert.named_parameters() if p.grad is not None}
        assert max(gradient.abs().max() for gradient in gradients.values()) > 1e-3
        results.append((value.detach(), gradients))
    torch.testing.assert_close(results[1], results[0], atol=1e-9, rtol=0)
    torch.testing.assert_close(results[2], results[0], atol=1e-6, rtol=0)


def test_the_distillation_holds_an_encoder_that_is_pulled_away(tiny_bert):
    """Catches a weight that is not used: without it the cosines drift further from those of the base."""
    base = tiny_bert.encode(NAMES)
    labels = torch.arange(6)
    classes = torch.tensor([0, 1, 0, 1, 0, 1])
    start = {name: value.clone() for name, value in tiny_bert.state_dict().items()}
    drifts = []
    for weight in (0.01, 100.0):
        tiny_bert.load_state_dict(start)
        pull = InfoNCELoss(tiny_bert, miner=None)
        hold = SelfDistillationLoss(tiny_bert, base, weight)
        optimizer = torch.optim.Adam(tiny_bert.parameters(), lr=1e-3)
        for _ in range(10):
            optimizer.zero_grad()
            features = dict(tiny_bert.preprocess(NAMES))
            (pull([dict(features)], classes) + hold([dict(features)], labels)).backward()
            optimizer.step()
        tiny_bert.eval()
        vectors = torch.from_numpy(tiny_bert.encode(NAMES))
        drifts.append(SelfDistillationLoss(None, base).compute_loss_from_embeddings([vectors], labels).item())
    assert drifts[1] < 0.5 * drifts[0]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((CachedMultiSimilarityLoss(None), SelfDistillationLoss(None, TEACHER)), "loss: is a cached loss"),
        ((MultiSimilarityLoss(torch.nn.Linear(2, 2)), SelfDistillationLoss(None, TEACHER)), "loss: has a model"),
        (
            (MultiSimilarityLoss(None), SelfDistillationLoss(torch.nn.Linear(2, 2), TEACHER)),
            "distillation: has a model",
        ),
        (
            (
                BergamotLoss(None, None, node_weight=0, intermodal_weight=0, dgi_weight=0),
                SelfDistillationLoss(None, TEACHER),
            ),
            "loss: BergamotLoss has a place for the distillation: use add_distillation",
        ),
    ],
)
def test_parts_that_embed_by_themselves_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        DistilledLoss(None, *parts)


def test_each_target_cites_its_paper():
    """Catches a card of distilled vectors that credits the paper on cosines."""
    assert "park2019relational" in SelfDistillationLoss(None, TEACHER).citation
    assert "remy2024biolord" in SelfDistillationLoss(None, TEACHER, target="vectors").citation


def test_a_teacher_may_be_a_tensor_in_half_precision():
    """Catches numpy, which has no bfloat16."""
    embeddings, teacher, labels = batch()
    half = torch.tensor(teacher).bfloat16()
    expected = SelfDistillationLoss(None, half.double().numpy()).compute_loss_from_embeddings([embeddings], labels)
    found = SelfDistillationLoss(None, half).compute_loss_from_embeddings([embeddings], labels)
    assert found.item() == pytest.approx(expected.item(), abs=1e-6)
