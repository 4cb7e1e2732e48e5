"""BERGAMOT's intermodal loss: the text and the graph vector of a concept attract each other.

Its node-node loss is :class:`~st_biomed.losses.MultiSimilarityLoss` on the graph vectors of both views.
"""

from __future__ import annotations

from copy import copy

from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.multi_similarity import MultiSimilarityLoss


class IntermodalLoss(nn.Module):
    r"""Brings a concept's text and its neighborhood closer to each other than to other concepts.

    With the text vectors t and the graph vectors g of two views u and v of every concept (BERGAMOT, section 2, ``L_int``)::

        1/2 ( MS([t^u; g^u]) + MS([t^v; g^v]) )

    The two halves are mined separately, or not at all: GEBERT's scripts mine them for GraphSAGE and not for the attention
    network. BERGAMOT's text, figure and code pair a text with the graph of its own view;
    GEBERT's paper pairs it with the graph of the other view.

    Args:
        pairs: The loss MS. A text and the graph vector of its node have the same label, so ``mask_same_text`` must be
            off.
        cross_view: Whether to pair ``t^u`` with ``g^v`` and ``t^v`` with ``g^u``.
        mined: Whether the miner of ``pairs`` selects pairs; otherwise all pairs count: of every row, the text or graph vector
            of the same concept, and all 2(B - 1) vectors of other concepts.

    Raises:
        InputError: A loss that masks pairs of identical text; no pair would be left.
    """

    def __init__(self, pairs: MultiSimilarityLoss, *, cross_view: bool = False, mined: bool = True) -> None:
        super().__init__()
        if pairs.lookup is not None and pairs.mask_same_text:
            raise InputError("pairs must have mask_same_text=False: a text and its graph vector carry one label")
        self.pairs = pairs if mined else _unmined(pairs)
        self.cross_view = cross_view
        self.mined = mined

    def compute_loss_from_embeddings(self, texts: list[Tensor], graphs: list[Tensor], labels: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            texts: Text vectors of the views u and v, ``[B, D]`` each.
            graphs: Graph vectors of the views, ``[B, D]`` each.
            labels: Text ids, or classes without a lookup, ``[B, 2]``.

        Returns:
            A scalar.
        """
        other = (1, 0) if self.cross_view else (0, 1)
        halves = [
            self.pairs.compute_loss_from_embeddings([texts[i], graphs[j]], labels[:, [i, j]])
            for i, j in zip((0, 1), other)
        ]
        return (halves[0] + halves[1]) / 2


def _unmined(pairs: MultiSimilarityLoss) -> MultiSimilarityLoss:
    """The same loss on all pairs; ``pairs`` itself keeps its miner."""
    every = copy(pairs)
    every.miner = None
    return every
