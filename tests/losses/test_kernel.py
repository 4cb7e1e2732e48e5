"""The hand-made gradient equals autograd's, for lists of pairs, dense masks and both together."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from st_biomed.losses import kernel
from st_biomed.losses.kernel import EMPTY, masked_log_sum_exp
from st_biomed.losses.similarity import cosine_matrix, unit_rows

SIZE = 14
TERMS = [(0, -2.0), (1, 30.0), (1, -0.5), (2, 7.0)]


@pytest.fixture(params=[0.0, 0.2, 1.0], ids=["all dense", "mixed", "all listed"])
def few(request, monkeypatch) -> None:
    monkeypatch.setattr(kernel, "SPARSE_SHARE", request.param)


@pytest.fixture(params=[1, 4, 100], ids="blocks of {}".format)
def blocks(request, monkeypatch) -> None:
    cut = lambda matrix: [slice(i, i + request.param) for i in range(0, len(matrix), request.param)]
    monkeypatch.setattr(kernel, "row_blocks", cut)


def masks_and_rows() -> tuple[list[Tensor], Tensor]:
    """Masks of about 5, 50 and 90% that overlap, each with an empty row; rows that need a gradient."""
    generator = torch.Generator().manual_seed(1)
    masks = [torch.rand(SIZE, SIZE, generator=generator) < share for share in (0.05, 0.5, 0.9)]
    masks[0][3] = masks[1][5] = masks[2][5] = False
    return masks, torch.randn(SIZE, 5, generator=generator, dtype=torch.float64, requires_grad=True)


def by_autograd(unit: Tensor, masks: list[Tensor], log_weights: Tensor | None = None) -> Tensor:
    exponents = torch.stack([slope * (unit @ unit.T) for _, slope in TERMS])
    if log_weights is not None:
        exponents = exponents + log_weights
    return exponents.masked_fill(~torch.stack([masks[m] for m, _ in TERMS]), EMPTY).logsumexp(2)


@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_gradients_are_autograds(few, blocks, weighted):
    masks, rows = masks_and_rows()
    log_weights = torch.randn(SIZE, SIZE, dtype=torch.float64) if weighted else None
    upstream = torch.randn(len(TERMS), SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    found = masked_log_sum_exp(unit_rows(rows), cosine_matrix(unit_rows(rows)), masks, TERMS, log_weights)
    expected = by_autograd(unit_rows(rows), masks, log_weights)
    torch.testing.assert_close(found, expected)
    (gradient,) = torch.autograd.grad((found * upstream).sum(), rows)
    (expected_gradient,) = torch.autograd.grad((expected * upstream).sum(), rows)
    torch.testing.assert_close(gradient, expected_gradient)


def test_rows_without_a_pair_are_empty_and_pass_no_gradient(few):
    """Would catch the softmax of a row in which everything is masked."""
    unit = unit_rows(torch.randn(4, 3)).requires_grad_()
    mask = torch.zeros(4, 4, dtype=torch.bool)
    sums = masked_log_sum_exp(unit, cosine_matrix(unit.detach()), [mask], [(0, 5.0)])
    sums.sum().backward()
    assert (sums == EMPTY).all() and not unit.grad.any()


def test_single_precision_keeps_six_digits_at_steep_slopes(few):
    """Would catch an overflow, or a softmax too coarse for the loss: exponents here reach +-2000."""
    masks, rows = masks_and_rows()
    terms = [(0, -2000.0), (1, 2000.0), (2, 60.0)]
    results = []
    for dtype in (torch.float32, torch.float64):
        unit = unit_rows(rows.detach().to(dtype)).requires_grad_()
        sums = masked_log_sum_exp(unit, cosine_matrix(unit.detach()), masks, terms)
        sums[sums > EMPTY].sum().backward()
        results.append((sums.detach().double(), unit.grad.double()))
    torch.testing.assert_close(*(sums for sums, _ in results), rtol=2e-6, atol=1e-3)
    torch.testing.assert_close(*(gradient for _, gradient in results), rtol=2e-3, atol=2e-3)


def test_large_matrices_are_mirrored_in_tiles():
    """Would catch an upper and a lower tile mixed up, which batches below one tile cannot show."""
    generator = torch.Generator().manual_seed(4)
    unit = unit_rows(torch.randn(300, 4, generator=generator, dtype=torch.float64))
    weights = torch.randn(300, 300, generator=generator, dtype=torch.float64)
    expected = (weights + weights.T) @ unit
    torch.testing.assert_close(kernel._symmetric_product(unit, [], weights.clone()), expected)


def test_learned_weights_get_their_gradient():
    """Weights that are learned must not be taken for constants."""
    masks, rows = masks_and_rows()
    unit = unit_rows(rows.detach())
    log_weights = torch.randn(SIZE, SIZE, dtype=torch.float64, requires_grad=True)
    sums = masked_log_sum_exp(unit, cosine_matrix(unit), masks, TERMS, log_weights)
    torch.testing.assert_close(sums, by_autograd(unit, masks, log_weights))
    sums.sum().backward()
    shares = sum((by_pair(unit, masks[m], slope, log_weights.detach()) for m, slope in TERMS), torch.zeros(()))
    torch.testing.assert_close(log_weights.grad, shares)


def by_pair(unit: Tensor, mask: Tensor, slope: float, log_weights: Tensor) -> Tensor:
    """Each pair's share of its row's sum."""
    terms = (slope * unit @ unit.T + log_weights).exp() * mask
    return terms / terms.sum(1, keepdim=True).clamp_min(1e-300)


def test_a_second_derivative_is_refused():
    """Not supported: it has to say so instead of giving a gradient that misses terms."""
    unit = unit_rows(torch.randn(4, 3)).requires_grad_()
    sums = masked_log_sum_exp(unit, cosine_matrix(unit.detach()), [torch.ones(4, 4, dtype=torch.bool)], [(0, 1.0)])
    (gradient,) = torch.autograd.grad(sums.square().sum(), unit, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_the_gradient_is_not_rounded_where_backward_runs_under_autocast(few):
    """Catches a product of the backward pass in bfloat16."""
    masks, rows = masks_and_rows()
    single = rows.detach().float()

    def gradient(enabled: bool) -> Tensor:
        unit = unit_rows(single).requires_grad_()
        sums = masked_log_sum_exp(unit, cosine_matrix(unit.detach()), masks, TERMS)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            (found,) = torch.autograd.grad(torch.where(sums > EMPTY / 2, sums, 0).sum(), unit)
        return found

    torch.testing.assert_close(gradient(True), gradient(False), atol=1e-6, rtol=1e-6)
