"""Barlow Twins: two names of a concept agree in every dimension, and dimensions are not redundant. No negatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_number
from st_biomed.losses.lookup import concept_lookup
from st_biomed.losses.similarity import full_precision, join_embeddings, join_labels, require_list, unit_rows

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

CONSTANT_TOLERANCE = 1e-5
"""A dimension whose deviations are below this share of its values is constant; the deviations are rounding errors."""


class BarlowTwinsLoss(nn.Module):
    r"""Redundancy reduction on pairs of names of one concept (Zbontar et al. 2021, Eq. 1 and 2).

    With the names of the pairs in two matrices A and B ``[N, D]``, every column centered over the batch and scaled to
    length 1, and ``C = A^T B`` their cross-correlation::

        sum_i (1 - C_ii)^2 + off_diagonal sum_i sum_{j != i} C_ij^2

    The Italian paper names it as future work (section 5: "renouncing the sampling of negative examples"). The loss
    applies directly to the embeddings, without the three-layer projector of Zbontar et al. A dimension that is
    constant over the batch has no correlation: it counts 1 and has no gradient. With fewer than two pairs the loss is
    0.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        off_diagonal: Weight of redundancy, lambda; 5e-3 in the paper ("best results for lambda = 5 * 10^-3").
        gather_across_devices: Whether the texts of all processes form one batch, with common means and lengths.
        lookup: A terminology, or a lookup made from one, if the labels are its text ids.

    Inputs: two text columns, whose rows are the pairs (labels are ignored); or one column and ``label`` int64 text ids
        or classes ``[B]``, where the first two names of every concept in the batch are a pair. A string counts once;
        an ambiguous string counts for each of its concepts. Batches: :class:`st_biomed.samplers.SynonymBatchSampler`;
        larger batches can distinguish more dimensions.

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(
        self,
        model: nn.Module | None,
        off_diagonal: float = 5e-3,
        *,
        gather_across_devices: bool = False,
        lookup: ConceptLookup | Terminology | None = None,
    ) -> None:
        super().__init__()
        self.model: Any = model
        self.off_diagonal = check_number("off_diagonal", off_diagonal, least=0.0)
        self.gather_across_devices = gather_across_devices
        self.lookup = concept_lookup(lookup)

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        from st_biomed.losses.embed import embed_columns

        return self.compute_loss_from_embeddings(embed_columns(self.model, sentence_features), labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: One or two columns, ``[B, D]`` each.
            labels: Text ids, or classes without a lookup, ``[B]``; not used for two columns.

        Returns:
            A scalar, differentiable once.

        Raises:
            InputError: More columns, one column without labels, or a shape that does not fit.
        """
        require_list(embeddings)
        if len(embeddings) not in (1, 2):
            raise InputError(f"embeddings must be one or two columns, found {len(embeddings)}")
        columns = [
            join_embeddings([column], gather_across_devices=self.gather_across_devices, loss=self)
            for column in embeddings
        ]
        if len(columns) == 2:
            left, right = columns
            if left.shape != right.shape:
                raise InputError(f"both columns must have one shape, found {list(left.shape)} and {list(right.shape)}")
        else:
            if labels is None:
                raise InputError("labels must be given for one text column, found none")
            labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
            first, second = pairs_of_concepts(labels, self.lookup)
            left, right = columns[0][first], columns[0][second]
        with full_precision(left):
            if len(left) < 2:
                return torch.cat(columns).sum() * 0
            return self._redundancy(_standardized(left) @ _standardized(right).T)

    def _redundancy(self, correlation: Tensor) -> Tensor:
        """Eq. 1 of a cross-correlation ``[D, D]``."""
        diagonal = correlation.diagonal()
        redundancy = correlation.square().sum() - diagonal.square().sum()
        return (1 - diagonal).square().sum() + self.off_diagonal * redundancy

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            "off_diagonal": self.off_diagonal,
            "gather_across_devices": self.gather_across_devices,
            **({"terminology": None} if self.lookup is None else self.lookup.get_config_dict()),
        }

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return """
@inproceedings{zbontar2021barlow,
    title = {Barlow Twins: Self-Supervised Learning via Redundancy Reduction},
    author = {Zbontar, Jure and Jing, Li and Misra, Ishan and LeCun, Yann and Deny, St{\\'e}phane},
    booktitle = {International Conference on Machine Learning (ICML)},
    pages = {12310--12320},
    year = {2021}
}
"""


def _standardized(rows: Tensor) -> Tensor:
    """The columns of ``[N, D]`` with mean 0 and length 1, as rows ``[D, N]``; zeros where a column is constant."""
    centered = rows - rows.mean(0)
    moves = centered.detach().norm(dim=0) > CONSTANT_TOLERANCE * rows.detach().norm(dim=0)
    return unit_rows((centered * moves).T)


@torch.no_grad()
def pairs_of_concepts(labels: Tensor, lookup: ConceptLookup | None) -> tuple[Tensor, Tensor]:
    """The first two names of every concept in a batch.

    Args:
        labels: Text ids, or classes without a lookup, ``[B]``.
        lookup: The lookup of the concepts of text ids; repeated text ids are ignored.

    Returns:
        Rows of the first and of the second name, int64 ``[N]`` each, every pair once, in the order of the rows.

    Raises:
        InputError: Labels that are not text ids of the lookup.
    """
    rows = torch.arange(len(labels), device=labels.device)
    concepts = labels
    if lookup is not None:
        lookup.check(labels)
        _, text = labels.unique(return_inverse=True)
        first = torch.full_like(rows, len(rows)).scatter_reduce_(0, text, rows, "amin")[text] == rows
        entries, concepts = lookup.concepts(labels[first])
        rows = rows[first][entries]
    concepts, order = concepts.sort(stable=True)
    rows = rows[order]
    begins = torch.ones_like(concepts, dtype=torch.bool)
    begins[1:] = concepts[1:] != concepts[:-1]
    pair = begins[:-1] & ~begins[1:]
    size = len(labels)
    pairs = (rows[:-1][pair] * size + rows[1:][pair]).unique()
    return pairs.div(size, rounding_mode="floor"), pairs % size
