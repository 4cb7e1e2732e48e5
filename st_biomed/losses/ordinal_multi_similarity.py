"""The multi-similarity loss for ordered distances: synonyms nearer than siblings, siblings nearer than the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_instance, check_integer, check_name, check_numbers
from st_biomed.hierarchy import Hierarchy
from st_biomed.losses.citations import HIPRBERT
from st_biomed.losses.kernel import masked_log_sum_exp
from st_biomed.losses.similarity import (
    REDUCTIONS,
    cosine_matrix,
    full_precision,
    join_embeddings,
    join_labels,
    nan_unless_finite,
    reduce_rows,
    unit_rows,
)

FORMS = ("ordinal", "pairwise_mean")
SIMILARITIES = {"cosine": (1.0, 0.0), "half": (0.5, 0.5)}
"""Name to (a, b) in ``s = a cos + b``."""

FARTHEST = torch.iinfo(torch.int16).max
"""The largest distance that the loss tells from smaller ones."""


class OrdinalMultiSimilarityLoss(nn.Module):
    r"""Orders the similarities of a batch by the distances of a hierarchy, without a margin between the levels.

    For every text i, every threshold ``d0`` of ``cuts``, and all texts j with distance ``d_ij >= 0``
    (HiPrBERT, section 3.5)::

        1/alpha log(1 + sum_{d_ij <= d0} w_ij exp(-alpha (s_ij - base)))
        + 1/beta log(1 + sum_{d_ij > d0} w_ij exp(beta (s_ij - base)))

    reduced over i, then summed over the cuts. A pair at distance d is a positive of the cuts from d on and a negative
    of those below.

    ``form="pairwise_mean"`` is the form of the published code, over single pairs instead of anchors: for every two
    distances ``d < d'`` present, the mean of ``1/alpha log(1 + exp(alpha (base - s)))`` over the pairs at d plus the
    mean of ``1/beta log(1 + exp(beta (s - base)))`` over those at d'. The code used it with ``beta=50``,
    ``similarity="half"`` and one pair per row (two text columns and ``group_size=1``).

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        hierarchy: Provides the distances, and any weights, of the text ids that are the labels. Without a hierarchy
            the labels are classes: distance 0 within a class, the largest distance otherwise.
        alpha: Steepness for the near side, one number or one per cut.
        beta: Steepness for the far side, one number or one per cut.
        base: Similarity around which both sides turn, one number or one per cut.
        cuts: Increasing thresholds; by default ``0 .. D-1`` of the hierarchy, ``0, 1, 2`` without one.
        cut_weights: Weight of each cut in the sum; all 1 by default.
        reduction: ``"sum"`` over the anchors, as in the paper, ``"mean_all"`` or ``"mean_nonzero"``. Not used by
            ``pairwise_mean``, which has its own.
        form: ``"ordinal"`` (the paper) or ``"pairwise_mean"`` (its code).
        group_size: Only pairs within g consecutive rows of the dataset count, all columns of those rows together;
            ``None`` for all pairs of the batch.
        similarity: ``"cosine"``, or ``"half"`` for ``(cos + 1) / 2``.
        gather_across_devices: Whether the texts of all processes form one batch.

    Inputs: one or more text columns; ``label`` int64 text ids ``[B]``, or one per column ``[B, n]``. The batches come
    from :class:`st_biomed.samplers.HierarchyBatchSampler`. If the weight function of the hierarchy is a module with
    parameters, these belong to the loss: use :class:`st_biomed.losses.LossParametersCallback`.

    Example::

        loss = OrdinalMultiSimilarityLoss(model, Hierarchy(terminology), base=[0.8, 0.6, 0.4])

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(
        self,
        model: nn.Module | None,
        hierarchy: Hierarchy | None = None,
        alpha: float | Sequence[float] = 2.0,
        beta: float | Sequence[float] = 2.0,
        base: float | Sequence[float] = 0.5,
        *,
        cuts: Sequence[int] | None = None,
        cut_weights: Sequence[float] | None = None,
        reduction: str = "sum",
        form: str = "ordinal",
        group_size: int | None = None,
        similarity: str = "cosine",
        gather_across_devices: bool = False,
    ) -> None:
        super().__init__()
        if form == "pairwise_mean" and (cuts is not None or cut_weights is not None):
            raise InputError("cuts and cut_weights belong to form='ordinal': 'pairwise_mean' compares all distances")
        self.model: Any = model
        if hierarchy is not None:
            check_instance("hierarchy", hierarchy, Hierarchy)
        self.hierarchy = hierarchy
        self.form = check_name("form", form, FORMS)
        self.cuts = _checked_cuts(cuts, None if hierarchy is None else hierarchy.max_distance)
        n_values = len(self.cuts) if form == "ordinal" else 1
        self.alpha = check_numbers("alpha", alpha, n_values, above=0.0)
        self.beta = check_numbers("beta", beta, n_values, above=0.0)
        self.base = check_numbers("base", base, n_values)
        self.cut_weights = check_numbers(
            "cut_weights", 1.0 if cut_weights is None else cut_weights, n_values, least=0.0
        )
        self.reduction = check_name("reduction", reduction, REDUCTIONS)
        check_integer("group_size", group_size, or_none=True)
        self.group_size = group_size
        self.similarity = check_name("similarity", similarity, SIMILARITIES)
        self.gather_across_devices = gather_across_devices
        weight_function = getattr(hierarchy, "weight_function", None)
        if isinstance(weight_function, nn.Module):
            self.weight_function = weight_function  # registered, so that its parameters are trained

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        from st_biomed.losses.embed import embed_columns
        from st_biomed.losses.loss_parameters_callback import require_loss_parameters_callback

        require_loss_parameters_callback(self)
        return self.compute_loss_from_embeddings(embed_columns(self.model, sentence_features), labels)

    def compute_loss_from_embeddings(
        self, embeddings: list[Tensor], labels: Tensor | None = None, distances: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: One ``[B, D]`` per text column, n of them.
            labels: Text ids, or classes without a hierarchy: ``[B]``, or ``[B, n]`` for n columns.
            distances: Integers ``[n * B, n * B]``, column after column, in place of the distances from the hierarchy
                (for the texts of all processes if they are gathered); negative for a masked pair. Those above 32,767
                count as equal. The diagonal never counts.

        Returns:
            A scalar, differentiable once.

        Raises:
            InputError: Neither labels nor distances, or a shape that does not fit.
        """
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices, loss=self)
        if labels is not None:
            labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        with full_precision(rows), torch.no_grad():
            distances = self._distances(len(rows), labels, distances)
            if self.group_size is not None:
                group = _groups(self.group_size, len(embeddings), len(embeddings[0]), distances)
                distances.masked_fill_(group[:, None] != group[None, :], -1)
        with full_precision(rows):
            unit = unit_rows(rows)
            log_weights = self._log_weights(labels, distances, unit.dtype)
            if self.form == "pairwise_mean":
                return self._pairwise_mean(unit, distances, log_weights)
            return self._ordinal(unit, distances, log_weights)

    def _distances(self, size: int, labels: Tensor | None, distances: Tensor | None) -> Tensor:
        """Integers ``[B, B]``, negative where masked and on the diagonal; a tensor of our own."""
        if distances is not None:
            check_instance("distances", distances, Tensor)
            if distances.shape != (size, size) or distances.is_floating_point() or distances.dtype == torch.bool:
                raise InputError(
                    f"distances must be integers of shape [{size}, {size}], found {distances.dtype} {list(distances.shape)}"
                )
            distances = distances.long().clamp(-1, FARTHEST).to(torch.int16)
        elif labels is None:
            raise InputError("either labels or distances must be given, found neither")
        elif self.hierarchy is None:
            distances = (labels[:, None] != labels[None, :]).to(torch.int16) * (self.cuts[-1] + 1)
        else:
            distances = self.hierarchy.distance(labels, labels)
        return distances.clone().fill_diagonal_(-1)

    def _log_weights(self, labels: Tensor | None, distances: Tensor, dtype: torch.dtype) -> Tensor | None:
        """Logarithms of the pair weights ``[B, B]``; masks pairs of weight 0 in ``distances``."""
        if self.hierarchy is None or labels is None:
            return None
        weights = self.hierarchy.weights(labels, labels, distances)
        if weights is None:
            return None
        weights = weights.to(dtype)
        distances.masked_fill_(weights <= 0, -1)
        return weights.clamp_min(torch.finfo(weights.dtype).tiny).log()

    def _ordinal(self, unit: Tensor, distances: Tensor, log_weights: Tensor | None) -> Tensor:
        """The paper's form. Each level between two cuts is exponentiated once and joins the cuts above or below it."""
        scale, shift = SIMILARITIES[self.similarity]
        ends = [-1, *self.cuts]
        masks = [(distances > low) & (distances <= high) for low, high in pairwise(ends)]
        masks.append(distances > ends[-1])
        near = [[(level, -scale * alpha) for level in range(cut + 1)] for cut, alpha in enumerate(self.alpha)]
        far = [[(level, scale * beta) for level in range(cut + 1, len(masks))] for cut, beta in enumerate(self.beta)]
        terms = list(dict.fromkeys(term for side in near + far for term in side))
        sums = dict(zip(terms, masked_log_sum_exp(unit, cosine_matrix(unit), masks, terms, log_weights)))
        total = nothing = unit.new_zeros(())
        for cut, weight in enumerate(self.cut_weights):
            alpha, beta, base = self.alpha[cut], self.beta[cut], self.base[cut] - shift
            pull = torch.stack([sums[term] for term in near[cut]]).logsumexp(0) + alpha * base
            push = torch.stack([sums[term] for term in far[cut]]).logsumexp(0) - beta * base
            losses = torch.logaddexp(pull, nothing) / alpha + torch.logaddexp(push, nothing) / beta
            total = total + weight * reduce_rows(losses, self.reduction)
        return nan_unless_finite(total, unit)

    def _pairwise_mean(self, unit: Tensor, distances: Tensor, log_weights: Tensor | None) -> Tensor:
        """The published code's form: a distance is a positive against all farther ones, a negative against all nearer."""
        scale, shift = SIMILARITIES[self.similarity]
        (alpha,), (beta,), (base,) = self.alpha, self.beta, self.base
        cosines = unit @ unit.T
        total = (cosines * 0).sum()
        present = distances[distances >= 0].unique()
        for nearer, distance in enumerate(present):
            pairs = distances == distance
            offset = scale * cosines[pairs] + shift - base
            weight = 0.0 if log_weights is None else log_weights[pairs]
            nothing = offset.new_zeros(())
            pull = torch.logaddexp(weight - alpha * offset, nothing).mean() / alpha
            push = torch.logaddexp(weight + beta * offset, nothing).mean() / beta
            total = total + (len(present) - 1 - nearer) * pull + nearer * push
        return total

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            "hierarchy": None if self.hierarchy is None else self.hierarchy.get_config_dict(),
            "alpha": list(self.alpha),
            "beta": list(self.beta),
            "base": list(self.base),
            "cuts": list(self.cuts) if self.form == "ordinal" else None,
            "cut_weights": list(self.cut_weights) if self.form == "ordinal" else None,
            "reduction": self.reduction if self.form == "ordinal" else None,
            "form": self.form,
            "group_size": self.group_size,
            "similarity": self.similarity,
            "gather_across_devices": self.gather_across_devices,
        }

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return HIPRBERT


def _checked_cuts(cuts: Sequence[int] | None, max_distance: int | None) -> tuple[int, ...]:
    if cuts is None:
        return tuple(range(3 if max_distance is None else max_distance))
    limit = FARTHEST if max_distance is None else max_distance
    whole = isinstance(cuts, Sequence) and len(cuts) > 0 and all(type(cut) is int and 0 <= cut < limit for cut in cuts)
    if not whole or any(low >= high for low, high in pairwise(cuts)):
        raise InputError(f"cuts must be increasing whole numbers among 0..{limit - 1}, found {cuts!r}")
    return tuple(cuts)


def _groups(group_size: int, columns: int, length: int, distances: Tensor) -> Tensor:
    """The group of each of the B rows of ``distances``, ``[B]``: that of its row in the dataset and of its process."""
    processes = torch.arange(len(distances) // (columns * length), device=distances.device)
    groups = torch.arange(length, device=distances.device).div(group_size, rounding_mode="floor").repeat(columns)
    return (groups + length * processes[:, None]).reshape(-1)
