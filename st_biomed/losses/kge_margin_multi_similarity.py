"""The multi-similarity loss whose margin follows a knowledge graph: near concepts are pushed less far apart."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_instance, check_integer, check_name, check_number, check_numbers
from st_biomed.losses.citations import ITALIAN
from st_biomed.losses.kernel import masked_log_sum_exp
from st_biomed.losses.kge_similarity import GRAPH_VECTORS, KGESimilarity
from st_biomed.losses.miners import Miner, MultiSimilarityMiner
from st_biomed.losses.pair_loss import PairLoss, concept_pairs
from st_biomed.losses.similarity import (
    cosine_matrix,
    full_precision,
    join_embeddings,
    join_labels,
    nan_unless_finite,
    reduce_rows,
    row_blocks,
    unit_rows,
)

if TYPE_CHECKING:
    from st_biomed.kge.table import KGETable
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

CODER_MINER = MultiSimilarityMiner(0.1)
"""CODER's miner: "the hard positive and hard negative in-batch mining is kept unchanged", section 3.2."""

MISSING = {
    "v2": (
        1.0,
        0.5,
    ),  # "After setting lambda_p = 1 and lambda_n = 0.5 we immediately notice improvements", section 3.2
    "v1": (0.5, 0.5),  # CODER's margin, which Eq. 1 is
    "skip": None,
}
"""Thresholds of positives and negatives for a pair without a similarity in the graph; ``None`` leaves the pair out."""


class KGEMarginMultiSimilarityLoss(PairLoss):
    r"""MS loss v3 of the Italian models: the margin of a pair is the distance of its cosine from the cosine in the
    graph.

    For every text i with mined positives P and negatives N, S the cosine of the texts, K that of their concepts' graph
    embeddings (Amore Bondarenko et al. 2022, Eq. 3)::

        1/alpha log(1 + sum_{p in P} exp(-alpha (S_ip - |S_ip - K_ip|)))
        + 1/beta log(1 + sum_{n in N} exp(beta (S_in - (1 - |S_in - K_in|))))

    If the formula is differentiated as printed, every pair is in one of two cases. Their exponents without alpha and
    beta are

    ========  ========================  ========  ==========================  ========
    case      positive                  slope     negative                    slope
    ========  ========================  ========  ==========================  ========
    S < K     2 S - K                   2: pull   K - 1                       0: rest
    S > K     K                         0: rest   2 S - 1 - K                 2: push
    ========  ========================  ========  ==========================  ========

    (and slope 1 at S = K, as in autograd). Positives therefore turn around K / 2 and negatives around (1 + K) / 2,
    both twice as steeply as in v1, and a pair on the far side of K is not moved. With ``detach_margin`` the margin is
    a constant: the value is the same, and the slope is 1 in all four cases, so negatives that are nearer in the graph
    are still pushed. The paper does not state which form was used.

    K is 1 if two texts share a concept, with or without a vector. Otherwise it is the cosine of the concepts' vectors;
    for ambiguous texts, the largest cosine over their pairs of concepts with vectors. A pair without a vector uses
    fixed thresholds (``missing``), with slope 1.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        kge: Vectors of concepts; ``None`` if every call passes ``kge_similarity``. Codes that are not in the
            terminology are counted (``loss.kge.n_foreign``) and left out.
        alpha: Steepness for positives.
        beta: Steepness for negatives ("leaving the original alpha = 2, beta = 50, epsilon = 0.1", section 4).
        graph_vectors: ``"original"``, or a control: ``"shuffled"`` among the concepts that have a vector, or ``"zeros"``, a K of 0
            between any two of them; see :class:`~st_biomed.losses.kge_similarity.KGESimilarity`.
        shuffle_seed: Seed of the shuffled vectors.
        detach_margin: Whether no gradient flows through the margin.
        missing: Thresholds of a pair that has no K: ``"v2"`` (1 and 0.5), ``"v1"`` (0.5 and 0.5), or ``"skip"`` to leave
            the pair out.
        kge_clip: Lowest and highest K, e.g. ``(0, 1)``; K is not clipped by default. It is the cosine of two different
            concepts: with a negative K, a negative is pushed until its cosine is below 0. The K of a shared concept stays 1;
            a given ``kge_similarity`` is clipped as a whole.
        reduction: ``"mean_all"`` over all texts (the paper), ``"mean_nonzero"`` over those with a loss, ``"sum"``.
        lookup: The terminology whose text ids are the labels; with ``kge`` it must be the terminology itself, for its
            codes.
        miner: An object of :mod:`st_biomed.losses.miners`, which sees only the cosines of the texts; ``None`` for all
            pairs.
        **pairs: Further arguments of :class:`~st_biomed.losses.pair_loss.PairLoss`.

    Inputs: one or more text columns; ``label`` int64 text ids ``[B]`` or one per column ``[B, n]``. The paper's batches
    come from :class:`st_biomed.samplers.HardNegativeBatchSampler`.

    Relations: :class:`MultiSimilarityLoss` with the presets ``"italian_v1"`` and ``"italian_v2"`` has fixed margins.

    Example::

        loss = KGEMarginMultiSimilarityLoss(model, KGETable.load("complex"), lookup=terminology)

    Raises:
        InputError: An argument out of range, ``kge`` without a terminology, or no concept of the terminology with a
            vector.
    """

    def __init__(
        self,
        model: nn.Module | None,
        kge: KGETable | None,
        alpha: float = 2.0,
        beta: float = 50.0,
        *,
        graph_vectors: str = "original",
        shuffle_seed: int = 0,
        detach_margin: bool = False,
        missing: str = "v2",
        kge_clip: tuple[float, float] | None = None,
        reduction: str = "mean_all",
        lookup: ConceptLookup | Terminology | None = None,
        miner: Miner | None = CODER_MINER,
        **pairs: Any,
    ) -> None:
        super().__init__(model, reduction=reduction, lookup=lookup, miner=miner, **pairs)
        check_name("graph_vectors", graph_vectors, GRAPH_VECTORS)
        check_integer("shuffle_seed", shuffle_seed, 0)
        self.kge = None
        if kge is not None:
            self.kge = KGESimilarity(lookup, kge, graph_vectors, shuffle_seed, lookup=self.lookup)
        self.alpha = check_number("alpha", alpha, above=0.0)
        self.beta = check_number("beta", beta, above=0.0)
        self.detach_margin = detach_margin
        self.missing = check_name("missing", missing, MISSING)
        self.kge_clip = None if kge_clip is None else check_numbers("kge_clip", kge_clip, 2)
        if self.kge_clip is not None and not self.kge_clip[0] < self.kge_clip[1]:
            raise InputError(f"kge_clip must be a lower and a higher number, found {kge_clip!r}")

    def compute_loss_from_embeddings(
        self, embeddings: list[Tensor], labels: Tensor, kge_similarity: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: One ``[B, D]`` per text column, n of them.
            labels: Text ids, or classes without a lookup: ``[B]``, or ``[B, n]`` for n columns.
            kge_similarity: K of every pair ``[n * B, n * B]``, column after column, in place of the values of the
                table (for the texts of all processes if they are gathered). It replaces the table also for positives,
                and is clipped by ``kge_clip``; NaN for a pair without K.

        Returns:
            A scalar, differentiable once.

        Raises:
            InputError: Neither a table nor K, or a shape that does not fit.
        """
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices, loss=self)
        labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        with full_precision(rows):
            unit = unit_rows(rows)
            similarities = cosine_matrix(unit)
            positives, negatives = concept_pairs(labels, self.lookup, mask_same_text=self.mask_same_text)
            kge_similarity = self._kge_similarity(labels, negatives, kge_similarity)
            if self.miner is not None:
                positives, negatives = self.miner(rows, similarities, positives, negatives)
            loss = self.loss_of_pairs(unit, similarities, positives, negatives, kge_similarity)
            return nan_unless_finite(loss, unit)

    def _kge_similarity(self, labels: Tensor, negatives: Tensor, kge_similarity: Tensor | None) -> Tensor:
        """K of every pair ``[B, B]``: what was given, or what the table says and 1 within a concept."""
        low, high = self.kge_clip or (None, None)
        if kge_similarity is not None:
            check_instance("kge_similarity", kge_similarity, Tensor)
            if kge_similarity.shape != negatives.shape or not kge_similarity.is_floating_point():
                raise InputError(
                    f"kge_similarity must be floating and of shape {list(negatives.shape)}, "
                    f"found {kge_similarity.dtype} {list(kge_similarity.shape)}"
                )
            return kge_similarity if low is None else kge_similarity.clamp(low, high)
        if self.kge is None:
            raise InputError("either kge or kge_similarity must be given, found neither")
        found = self.kge(labels)
        return (found if low is None else found.clamp_(low, high)).masked_fill_(~negatives, 1.0)

    def loss_of_pairs(
        self,
        unit: Tensor,
        similarities: Tensor,
        positives: Tensor,
        negatives: Tensor,
        kge_similarity: Tensor | None = None,
    ) -> Tensor:
        """The loss of the mined pairs; see :meth:`PairLoss.loss_of_pairs`. Without K every pair counts as missing.

        On either side of K a pair's exponent is linear in S. The kernel sums exponentials with the slopes 0, 1 and 2;
        the rest of the exponent is the logarithm of a weight.
        """
        if kge_similarity is None:
            kge_similarity = torch.full_like(similarities, torch.nan)
        with torch.no_grad():
            masks, slopes, weights = self._terms(similarities, positives, negatives, kge_similarity.to(similarities))
        sums = masked_log_sum_exp(unit, similarities, masks, list(enumerate(slopes)), weights)
        pull, push = (half.logsumexp(0) for half in sums.chunk(2))
        nothing = pull.new_zeros(())
        losses = torch.logaddexp(pull, nothing) / self.alpha + torch.logaddexp(push, nothing) / self.beta
        return reduce_rows(losses, self.reduction)

    def _terms(
        self, similarities: Tensor, positives: Tensor, negatives: Tensor, kge: Tensor
    ) -> tuple[list[Tensor], list[float], Tensor]:
        """Masks and slopes, those of positives before those of negatives, and logarithms of weights ``[B, B]``.

        With ``side`` the sign of S - K, the exponents are ``S - |S - K| = (1 - side) S + rest`` for positives and
        ``S - 1 + |S - K| = (1 + side) S - 1 - rest`` for negatives.
        """
        bases = MISSING[self.missing]
        pull_base, push_base = bases or (0.0, 0.0)
        sides = (0,) if self.detach_margin else (-1, 0, 1)
        weights = torch.empty_like(kge)
        masks = [torch.empty_like(positives) for _ in range(2 * len(sides))]
        for block in row_blocks(kge):
            s, k, near, far = similarities[block], kge[block], positives[block], negatives[block]
            known = ~k.isnan()
            if bases is None:
                near, far = near & known, far & known
            if self.detach_margin:
                side, rest = torch.zeros_like(k), -(s - k).abs()
            else:
                side = (s - k).sign().nan_to_num_(0.0)
                rest = side * k
            pull = torch.where(known, rest, -pull_base).mul_(-self.alpha)
            push = torch.where(known, -1 - rest, -push_base).mul_(self.beta)
            torch.where(near, pull, push, out=weights[block])
            for mask, (pairs, sign) in zip(masks, product((near, far), sides)):
                torch.logical_and(pairs, side == sign, out=mask[block])
        slopes = [-self.alpha * (1 - sign) for sign in sides] + [self.beta * (1 + sign) for sign in sides]
        return masks, slopes, weights

    def get_config_dict(self) -> dict[str, Any]:
        return {
            "kge": None if self.kge is None else self.kge.get_config_dict(),
            "alpha": self.alpha,
            "beta": self.beta,
            "detach_margin": self.detach_margin,
            "missing": self.missing,
            "kge_clip": None if self.kge_clip is None else list(self.kge_clip),
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return ITALIAN
