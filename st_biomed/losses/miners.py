"""Miners select the positive and negative pairs of a batch that a loss sees.

A miner is separate from the loss: ``miner(embeddings, similarities, positives, negatives)`` returns two smaller masks.
No miner lists triplets; time and memory are O(B^2).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from st_biomed.errors import check_name, check_number
from st_biomed.losses.similarity import row_blocks


class Miner(ABC):
    """Selects pairs row by row; a subclass implements :meth:`select`."""

    @torch.no_grad()
    def __call__(
        self, embeddings: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The mined pairs of a batch.

        Args:
            embeddings: Rows as returned by the model, ``[B, D]``.
            similarities: Their cosines, ``[B, B]``.
            positives: Pairs of one concept, boolean ``[B, B]``, without the diagonal.
            negatives: Pairs without a common concept, boolean ``[B, B]``.

        Returns:
            The positives and the negatives that are kept, boolean ``[B, B]``; the arguments are not changed.
        """
        norms = embeddings.norm(dim=1)
        kept = torch.empty_like(positives), torch.empty_like(negatives)
        for rows in row_blocks(similarities):
            kept[0][rows], kept[1][rows] = self.select(
                similarities[rows], norms[rows, None], norms[None, :], positives[rows], negatives[rows]
            )
        return kept

    @abstractmethod
    def select(
        self, similarities: Tensor, norms: Tensor, other_norms: Tensor, positives: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same for R anchors against all B rows.

        Args:
            similarities: Cosines, ``[R, B]``.
            norms: Lengths of the anchors, ``[R, 1]``.
            other_norms: Lengths of all rows, ``[1, B]``.
            positives: Boolean ``[R, B]``.
            negatives: Boolean ``[R, B]``.
        """

    def get_config_dict(self) -> dict[str, Any]:
        """Name and parameters, for cards and records; of a class that is no dataclass the name alone."""
        parameters: dict[str, Any] = asdict(self) if is_dataclass(self) else {}
        return {"miner": type(self).__name__, **parameters}


def _l2_normalized(s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.rsub(s, 2, alpha=2).clamp_(min=0).sqrt_()


def _cosine(s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return 1 - s


def _l2_raw(s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (a * a + b * b - 2 * s * a * b).clamp_(min=0).sqrt_()


def _neg_dot(s: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return -s * a * b


DISTANCES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "l2_normalized": _l2_normalized,
    "cosine": _cosine,
    "l2_raw": _l2_raw,
    "neg_dot": _neg_dot,
}
"""From cosines ``[R, B]`` and lengths ``[R, 1]`` and ``[1, B]`` to distances ``[R, B]``."""

OUT_OF_RANGE = 1e30
"""Larger than any distance. It is added to masked entries, which is faster than filling because there is no branch."""

MODES = ("all", "hard", "semihard", "easy", "violate")
MINED = ("both", "negatives")


@dataclass(frozen=True)
class TripletMarginMiner(Miner):
    """Pairs that take part in some triplet (anchor, positive, negative) chosen by its margin (SapBERT, Eq. 1).

    With ``D = d(anchor, negative) - d(anchor, positive)`` a triplet is chosen if

    ============  ====================================================================================
    ``all``       ``D <= margin``: not yet separated by the margin (default; the published code's)
    ``hard``      ``D <= 0``: the negative is nearer than the positive
    ``semihard``  ``0 < D <= margin``
    ``easy``      ``D > margin``: separated already (HiPrBERT's sentence taken literally; warns)
    ``violate``   ``D <= -margin``: wrong by the margin (SapBERT's Eq. 1 as printed, with ``l2_raw``)
    ============  ====================================================================================

    Triplets are never listed. A positive is in a triplet if and only if the most favorable negative of its row
    completes it, and vice versa. For ``semihard`` that partner is found by binary search in the sorted row.

    Args:
        margin: Never negative; in units of the distance. On the unit sphere 0.2 of ``l2_normalized`` keeps a negative
            whose cosine is at most .22 below that of a positive with cosine .5, and at most .08 below one with .95.
        distance: ``"l2_normalized"`` (Euclidean between unit vectors), ``"cosine"`` (one minus the cosine),
            ``"l2_raw"`` (Euclidean between the embeddings as they are) or ``"neg_dot"`` (minus their dot product).
        mode: Which triplets, see above.
        mine: ``"both"``, or ``"negatives"`` to keep every positive (HiPrBERT, section 3.5: the negatives come from the miner).

    Raises:
        InputError: A negative margin or an unknown name.

    Example:
        >>> names = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]])  # of one concept, the same one, another one
        >>> same = torch.tensor([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).bool()
        >>> others = torch.tensor([[0, 0, 1], [0, 0, 1], [1, 1, 0]]).bool()
        >>> positives, negatives = TripletMarginMiner(margin=0.2)(names, names @ names.T, same, others)
        >>> positives.nonzero().tolist(), negatives.nonzero().tolist()  # the first one's negative is far enough
        ([[1, 0]], [[1, 2]])
    """

    margin: float = 0.2
    distance: str = "l2_normalized"
    mode: str = "all"
    mine: str = "both"

    def __post_init__(self) -> None:
        check_number("margin", self.margin, least=0.0)
        check_name("distance", self.distance, DISTANCES)
        check_name("mode", self.mode, MODES)
        check_name("mine", self.mine, MINED)
        if self.mode == "easy":
            warnings.warn(
                "mode='easy' keeps the triplets that are separated by the margin already; the loss learns little from them",
                stacklevel=3,
            )

    def select(
        self, similarities: Tensor, norms: Tensor, other_norms: Tensor, positives: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor]:
        distances = DISTANCES[self.distance](similarities, norms, other_norms)
        if self.mode == "semihard":
            kept = self._semihard(distances, positives, negatives)
        elif self.mode == "easy":
            kept = (
                distances + self.margin < _highest(distances, negatives),
                distances > _lowest(distances, positives) + self.margin,
            )
        else:
            most = {"all": self.margin, "hard": 0.0, "violate": -self.margin}[self.mode]
            kept = (
                distances + most >= _lowest(distances, negatives),
                distances <= _highest(distances, positives) + most,
            )
        return positives if self.mine == "negatives" else positives & kept[0], negatives & kept[1]

    def _semihard(self, distances: Tensor, positives: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
        """The nearest negative beyond each distance and the farthest positive before it, compared with the margin."""
        beyond = pad(distances.masked_fill(~negatives, torch.inf).sort(1).values, (0, 1), value=torch.inf)
        before = pad(distances.masked_fill(~positives, torch.inf).sort(1).values, (1, 0), value=-torch.inf)
        next_negative = beyond.gather(1, torch.searchsorted(beyond[:, :-1].contiguous(), distances, right=True))
        last_positive = before.gather(1, torch.searchsorted(before[:, 1:].contiguous(), distances))
        return next_negative <= distances + self.margin, distances <= last_positive + self.margin


@dataclass(frozen=True)
class MultiSimilarityMiner(Miner):
    """The miner of the multi-similarity loss (Wang et al. 2019), as used by CODER and the Italian models.

    A negative is kept if its cosine plus epsilon exceeds that of the least similar positive of the row, a positive if
    its cosine minus epsilon falls below that of the most similar negative. A row without positives or without
    negatives selects nothing.

    Args:
        epsilon: Not negative, in units of cosine.

    Raises:
        InputError: A negative epsilon.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, least=0.0)

    def select(
        self, similarities: Tensor, norms: Tensor, other_norms: Tensor, positives: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor]:
        return (
            positives & (similarities - self.epsilon < _highest(similarities, negatives)),
            negatives & (similarities + self.epsilon > _lowest(similarities, positives)),
        )


def _lowest(values: Tensor, mask: Tensor) -> Tensor:
    """The lowest value of each row under the mask, ``[R, 1]``; beyond any comparison where there is none."""
    return values.add(~mask, alpha=OUT_OF_RANGE).amin(1, keepdim=True)


def _highest(values: Tensor, mask: Tensor) -> Tensor:
    """The highest value of each row under the mask, ``[R, 1]``; beyond any comparison where there is none."""
    return values.add(~mask, alpha=-OUT_OF_RANGE).amax(1, keepdim=True)
