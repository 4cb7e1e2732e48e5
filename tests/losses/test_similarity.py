"""Rows, labels, cosines and reductions: what every loss on pairs stands on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from st_biomed.errors import InputError
from st_biomed.losses.similarity import (
    cosine_matrix,
    join_embeddings,
    join_labels,
    listed_pairs,
    reduce_rows,
    row_blocks,
    unit_rows,
)


def test_labels_follow_the_columns_of_their_texts():
    """Would catch labels flattened row by row while the embeddings are stacked column by column."""
    columns = [torch.tensor([[10.0], [20.0], [30.0]]), torch.tensor([[11.0], [21.0], [31.0]])]
    labels = torch.tensor([[0, 1], [2, 3], [4, 5]])
    assert join_embeddings(columns).flatten().tolist() == [10, 20, 30, 11, 21, 31]
    assert join_labels(labels, columns).tolist() == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6])
def test_listed_pairs_are_those_of_the_mask(share):
    """Catches rows and columns exchanged, which a square mask of a symmetric relation would not show."""
    mask = torch.rand(7, 90, generator=torch.Generator().manual_seed(1)) < share
    assert [part.tolist() for part in listed_pairs(mask)] == [part.tolist() for part in mask.nonzero(as_tuple=True)]
    assert [part.tolist() for part in listed_pairs(mask.T)] == [p.tolist() for p in mask.T.nonzero(as_tuple=True)]


@pytest.mark.parametrize(
    ("reduction", "expected"), [("sum", 11.0), ("mean_all", 11 / 8), ("mean_nonzero", 11 / 5)], ids=str
)
def test_a_loss_that_stands_for_several_rows_counts_as_often(reduction, expected):
    losses, counts = torch.tensor([1.0, 0.0, 4.0, 9.0]), torch.tensor([3.0, 3.0, 2.0, 0.0])
    assert reduce_rows(losses, reduction, counts).item() == pytest.approx(expected)


def test_one_label_holds_for_every_column():
    columns = [torch.zeros(3, 2), torch.zeros(3, 2)]
    assert join_labels(torch.tensor([7, 8, 9]), columns).tolist() == [7, 8, 9, 7, 8, 9]


def test_narrow_labels_are_widened():
    """Catches labels that torch does not take as indices of a lookup."""
    assert join_labels(torch.tensor([7, 8, 9], dtype=torch.int16), [torch.zeros(3, 2)]).dtype == torch.int64


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.zeros(4, dtype=torch.int64), r"shape \[3\] or \[3, 2\].*found \[4\]"),
        (torch.zeros(3, 3, dtype=torch.int64), r"found \[3, 3\]"),
        (None, "labels must be given, found none: the dataset needs a column 'label'"),
        (torch.zeros(3), "must be signed integers, found torch.float32"),
        (torch.zeros(3, dtype=torch.bool), "must be signed integers, found torch.bool"),
        (torch.zeros(3, dtype=torch.uint8), "must be signed integers, found torch.uint8"),
        (np.zeros(3, dtype=np.int64), "labels must be a Tensor, found ndarray"),
        ([0, 1, 2], "labels must be a Tensor, found list"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        join_labels(labels, [torch.zeros(3, 2), torch.zeros(3, 2)])


@pytest.mark.parametrize("embeddings", [[], [torch.zeros(3)], [torch.zeros(3, 2), torch.zeros(2, 2)]])
def test_embeddings_that_are_no_matrices_are_refused(embeddings):
    with pytest.raises(InputError, match="must be a list of"):
        join_embeddings(embeddings)


@pytest.mark.parametrize("embeddings", [np.zeros((3, 2)), [np.zeros((3, 2))], None])
def test_embeddings_of_another_class_are_refused(embeddings):
    with pytest.raises(InputError, match="^each of embeddings must be a Tensor, found "):
        join_embeddings(embeddings)


def test_half_precision_is_raised_and_double_kept():
    for given, kept in ((torch.bfloat16, torch.float32), (torch.float16, torch.float32), (torch.float64,) * 2):
        assert join_embeddings([torch.zeros(2, 2, dtype=given)]).dtype == kept


def test_gathered_rows_and_labels_stay_together(monkeypatch):
    """Would catch labels gathered before they follow their columns, or embeddings gathered without their gradient."""
    import sentence_transformers.util as host

    other = {torch.float32: torch.full((4, 1), 9.0), torch.int64: torch.full((4,), 9)}
    for name in ("all_gather", "all_gather_with_grad"):
        monkeypatch.setattr(host, name, lambda tensor: torch.cat([other[tensor.dtype], tensor]))
    columns = [torch.tensor([[1.0], [2.0]], requires_grad=True), torch.tensor([[3.0], [4.0]])]
    rows = join_embeddings(columns, gather_across_devices=True)
    labels = join_labels(torch.tensor([[1, 3], [2, 4]]), columns, gather_across_devices=True)
    assert rows.flatten().tolist() == labels.tolist() == [9, 9, 9, 9, 1, 2, 3, 4]
    rows.sum().backward()
    assert columns[0].grad.tolist() == [[1.0], [1.0]]


def test_unit_rows_are_the_libraries_in_value_and_gradient():
    rows = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    weights = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (ours,) = torch.autograd.grad((unit_rows(rows) * weights).sum(), rows)
    (library,) = torch.autograd.grad((normalize(rows, dim=1) * weights).sum(), rows)
    torch.testing.assert_close(unit_rows(rows), normalize(rows, dim=1))
    torch.testing.assert_close(ours, library)


def test_a_zero_row_has_no_direction_and_gets_no_gradient():
    """Would catch the gradient of 1e12 that a clamped length passes on."""
    rows = torch.zeros(2, 3, requires_grad=True)
    unit = unit_rows(rows)
    unit.sum().backward()
    assert not unit.any() and not rows.grad.any()


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 300])
def test_cosines_are_complete_and_exactly_symmetric(size):
    """Would catch a strip that is not mirrored, or is mirrored into the wrong place."""
    unit = normalize(torch.randn(size, 7, generator=torch.Generator().manual_seed(size)), dim=1)
    similarities = cosine_matrix(unit)
    torch.testing.assert_close(similarities, unit @ unit.T)
    assert torch.equal(similarities, similarities.T)


def test_blocks_cover_every_row_once():
    for matrix in (torch.zeros(1000, 700), torch.zeros(3, 10**6), torch.zeros(0, 0)):
        rows = [i for block in row_blocks(matrix) for i in range(len(matrix))[block]]
        assert rows == list(range(len(matrix)))


def test_reductions_by_hand():
    losses = torch.tensor([0.0, 2.0, 4.0, 0.0])
    found = [reduce_rows(losses, reduction).item() for reduction in ("mean_all", "mean_nonzero", "sum")]
    assert found == [1.5, 3.0, 6.0]


@pytest.mark.parametrize("reduction", ["mean_all", "mean_nonzero", "sum"])
def test_reductions_of_nothing_are_zero(reduction):
    """Would catch a division by the zero rows that have a loss."""
    assert reduce_rows(torch.zeros(3), reduction) == 0 and reduce_rows(torch.zeros(0), reduction) == 0
