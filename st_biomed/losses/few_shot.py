"""The few-shot encoder's loss: names of a concept move together, and stay near their old vectors and their concept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_integer, check_name, check_number
from st_biomed.losses.distance_weighted import DISTRIBUTIONS
from st_biomed.losses.few_shot_names import FewShotNames, FewShotStep
from st_biomed.losses.similarity import full_precision, require_list, unit_rows
from st_biomed.losses.whole_vectors import require_whole_vectors

HINGES = ("per_triplet", "batch_mean")


class FewShotLoss(nn.Module):
    r"""Triplets of names by their high-level concepts, and grounding (Fivez et al. 2021, Eq. 2 to 4).

    With u the frozen vectors, f the encoder on top of them and ``d = 1 - cos``, for a name a of concept c::

        triplet_weight     mean over a and p of max(0, d(f(a), f(p)) - d(f(a), f(n)) + margin)
        + grounding_weight mean over a of d(f(a), (u_c + u_a) / 2)

    p are all other training names of c, as in the published code. n is one training name of another concept, drawn for a at
    the start of every epoch: "we apply distance-weighted negative sampling (Wu et al., 2017) over all training names".
    "We use a triplet margin of 0.1"; "alpha = beta = 1 showed the most robust performance along all settings". u_c is the
    mean of the training names' u. The published code normalizes u_c and u_a to length 1 before it averages them, and so
    does this loss; the paper does not mention it. The code also takes the hinge of a batch's mean distances
    (``hinge="batch_mean"``); Eq. 2 is the default.

    A step embeds every name once, regardless of the number of its triplets, so they share its dropout; the published
    code embeds it again for each. With one training name per concept there is no p, and only grounding remains. An
    anchor is identified by its vector and concept.

    The loss needs :class:`~st_biomed.losses.FewShotNegativesCallback`, which draws the negatives;
    :class:`~st_biomed.losses.FewShotValidationCallback` stops the training.

    Args:
        model: The encoder, which begins with a module that looks up the vectors of names, so nothing is encoded twice;
            ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        vectors: u of the n training names, ``[n, D]``, finite.
        labels: Their concepts, ``0..C-1``, ``[n]``; at least two concepts, each with a name.
        margin: Margin of the triplets.
        hinge: ``"per_triplet"``, or ``"batch_mean"``.
        triplet_weight: alpha.
        grounding_weight: beta. A term with weight 0 is not computed.
        negatives: ``"inverse_distance"`` (proportional to 1 / (1 - cos), as in the published code), or ``"wu2017"``.
        prototypes: u_c of every concept ``[C, D]``, e.g. :func:`~st_biomed.losses.few_shot_names.concept_prototypes`
            of all its names, as in the paper's formula; by default of the training names, as in the published code.
        normalize: Whether u_c and u_a have length 1 before they are averaged.
        seed: Seed of the draws, which depend on it and the epoch.

    Inputs: one text column, whose features are ``{"sentence_embedding": [B, D]}``, and ``label`` int64, the concept
    ``[B]``, as :func:`st_biomed.training_data.few_shot_names` gives them. Batches of 16 in the paper, of 64 in its code.

    Raises:
        InputError: An argument out of its range, or shapes that do not fit each other or the model.
    """

    def __init__(
        self,
        model: nn.Module | None,
        vectors: Tensor | np.ndarray,
        labels: Tensor | np.ndarray | Sequence[int],
        *,
        margin: float = 0.1,
        hinge: str = "per_triplet",
        triplet_weight: float = 1.0,
        grounding_weight: float = 1.0,
        negatives: str = "inverse_distance",
        prototypes: Tensor | np.ndarray | None = None,
        normalize: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model: Any = model
        self.margin = check_number("margin", margin, least=0.0)
        self.hinge = check_name("hinge", hinge, HINGES)
        self.weights = {
            "triplet": check_number("triplet_weight", triplet_weight, least=0.0),
            "grounding": check_number("grounding_weight", grounding_weight, least=0.0),
        }
        if not any(self.weights.values()):
            raise InputError("at least one weight must be above 0, found only 0")
        negatives = check_name("negatives", negatives, DISTRIBUTIONS)
        check_integer("seed", seed, 0)
        self.given_prototypes = prototypes is not None
        self.names = FewShotNames(
            vectors, labels, prototypes=prototypes, normalize=normalize, negatives=negatives, seed=seed
        )
        found, width = self.names.vectors.shape[1], getattr(model, "get_embedding_dimension", lambda: None)()
        if width not in (None, found):
            raise InputError(f"vectors must have the width {width} of the model's vectors, found {found}")

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
        """The weighted parts, which add up to the loss."""
        if self.model is None:
            raise InputError("embedding needs a model; without a model call compute_loss_from_embeddings")
        require_whole_vectors(self, "the vectors of the names have their full width")
        columns = list(sentence_features)
        if len(columns) != 1 or "sentence_embedding" not in columns[0]:
            raise InputError(
                "the batch must be one column with the names' vectors as sentence_embedding, found "
                f"{[sorted(column) for column in columns]}: let the model begin with NameVectors"
            )
        step, anchors = self.names.training_step(self.names.places(columns[0]["sentence_embedding"], labels))
        embedded = self.model({"sentence_embedding": self.names.vectors[step.names]})["sentence_embedding"]
        return self.compute_loss_from_embeddings([embedded[anchors], embedded], step)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], step: FewShotStep) -> dict[str, Tensor]:
        """The weighted parts of a step.

        Args:
            embeddings: f of the anchors ``[B, D]``, and f of the training names that the step embeds ``[M, D]``.
            step: The names that they are compared with.

        Returns:
            Scalars by name, in float32 or wider; ``triplet`` is 0 if no anchor has a positive.

        Raises:
            InputError: One tensor in place of two.
        """
        require_list(embeddings)
        anchors, names = (rows.to(torch.promote_types(rows.dtype, torch.float32)) for rows in embeddings)
        parts = {}
        with full_precision(anchors):
            anchors = unit_rows(anchors)
            if self.weights["triplet"]:
                distances = 1 - anchors @ unit_rows(names).T
                parts["triplet"] = self._triplets(distances, step.positives, step.negatives)
            if self.weights["grounding"]:
                targets = unit_rows(step.targets.to(anchors.dtype))
                parts["grounding"] = (1 - torch.linalg.vecdot(anchors, targets)).mean()
        return {name: self.weights[name] * part for name, part in parts.items()}

    def _triplets(self, distances: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """Eq. 2 over the triplets of distances ``[B, M]``."""
        differences = distances - distances.gather(1, negatives[:, None]) + self.margin
        if self.hinge == "per_triplet":
            differences = differences.relu()
        return ((differences * positives).sum() / positives.sum().clamp(min=1)).relu()

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            "names": len(self.names),
            "concepts": len(self.names.prototypes),
            "margin": self.margin,
            "hinge": self.hinge,
            **{f"{name}_weight": weight for name, weight in self.weights.items()},
            "negatives": self.names.negatives,
            "prototypes": "given" if self.given_prototypes else "of the training names",
            "normalize": self.names.normalize,
            "seed": self.names.seed,
        }

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return """
@inproceedings{fivez2021scalable,
    title = {Scalable Few-Shot Learning of Robust Biomedical Name Representations},
    author = {Fivez, Pieter and {\\v{S}}uster, Simon and Daelemans, Walter},
    booktitle = {Proceedings of the 20th Workshop on Biomedical Language Processing (BioNLP)},
    pages = {23--29},
    year = {2021}
}
"""
