"""The training names of a few-shot encoder: the names that an anchor is compared with, and its grounding target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.distance_weighted import draw_negatives
from st_biomed.losses.similarity import unit_rows


class FewShotStep(NamedTuple):
    """The names that the B anchors of a step are compared with.

    Attributes:
        names: The training names to embed, int64 ``[M]``.
        positives: Whether a name is another name of the anchor's concept, boolean ``[B, M]``.
        negatives: The anchor's negative, an index into these names, int64 ``[B]``.
        targets: The grounding target of the anchor, ``[B, D]``.
    """

    names: Tensor
    positives: Tensor
    negatives: Tensor
    targets: Tensor


class FewShotNames(nn.Module):
    """Frozen vectors and concepts of the training names, and every name's negative of the epoch.

    Args:
        vectors: u of the n names, ``[n, D]``, finite; stored as float32.
        labels: Their concepts, ``0..C-1``, ``[n]``; at least two concepts, each with a name.
        prototypes: u_c of every concept ``[C, D]``; by default the mean of its names here.
        normalize: Whether u_c and u_a have length 1 before they are averaged.
        negatives: One of :data:`~st_biomed.losses.distance_weighted.DISTRIBUTIONS`.
        seed: Seed of the draws, which depend on it and the epoch.

    Attributes:
        drawn: Every name's negative, int64 ``[n]``; -1 before the first draw.
        epoch: The epoch of the draw; -1 before the first. Both are saved in checkpoints.

    Raises:
        InputError: Shapes or numbers that do not fit.
    """

    vectors: Tensor
    labels: Tensor
    prototypes: Tensor
    drawn: Tensor
    epoch: Tensor

    def __init__(
        self,
        vectors: Tensor | np.ndarray,
        labels: Tensor | np.ndarray | Sequence[int],
        *,
        prototypes: Tensor | np.ndarray | None = None,
        normalize: bool = True,
        negatives: str = "inverse_distance",
        seed: int = 0,
    ) -> None:
        super().__init__()
        rows, concepts = checked_names(vectors, labels)
        found = concepts.unique()
        if len(found) < 2 or int(found[-1]) >= len(found):
            raise InputError(
                f"labels must number two or more concepts from 0 on, each with a name, found {found.tolist()}"
            )
        means = concept_prototypes(rows, concepts) if prototypes is None else _matrix("prototypes", prototypes)
        if means.shape != (len(found), rows.shape[1]):
            raise InputError(f"prototypes must have shape [{len(found)}, {rows.shape[1]}], found {list(means.shape)}")
        self.normalize, self.negatives, self.seed = normalize, negatives, seed
        for name, tensor in (("vectors", rows), ("labels", concepts), ("prototypes", means)):
            self.register_buffer(name, tensor, persistent=False)
        self.register_buffer("drawn", torch.full((len(rows),), -1))
        self.register_buffer("epoch", torch.tensor(-1))
        self._place = {key: place for place, key in reversed(list(enumerate(_keys(rows, concepts))))}

    def __len__(self) -> int:
        return len(self.labels)

    def places(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Indices of the names with these vectors ``[B, D]`` and concepts ``[B]``, int64 ``[B]``.

        Raises:
            InputError: There is no such name.
        """
        try:
            return torch.tensor([self._place[key] for key in _keys(vectors, labels)], device=self.labels.device)
        except KeyError as error:
            raise InputError(
                f"the batch has a name of concept {error.args[0][0]} whose vector is none of the {len(self)} that the loss "
                "was made with: give the loss the vectors and concepts of the training names"
            ) from error

    def training_step(self, places: Tensor) -> tuple[FewShotStep, Tensor]:
        """The names that some of the names are compared with.

        Args:
            places: Indices of the anchors, int64 ``[B]``.

        Returns:
            The step, and the indices of the anchors among the names it embeds, int64 ``[B]``.

        Raises:
            InputError: No negatives have been drawn yet.
        """
        if int(self.epoch) < 0:
            raise InputError("no negatives are drawn: pass callbacks=[FewShotNegativesCallback(loss)] to the trainer")
        concepts = self.labels[places]
        needed = torch.isin(self.labels, concepts)
        needed[self.drawn[places]] = True
        names = needed.nonzero().squeeze(1)
        where = needed.cumsum(0) - 1
        positives = (concepts[:, None] == self.labels[names]) & (places[:, None] != names)
        targets = self.targets(self.vectors[places], concepts)
        return FewShotStep(names, positives, where[self.drawn[places]], targets), where[places]

    def validation_step(self, vectors: Tensor, labels: Tensor) -> FewShotStep:
        """The names that validation names are compared with: all training names, as in the published code.

        The negatives are drawn by the frozen vectors, so all epochs are measured with the same draw; the published
        code draws again in every epoch.

        Args:
            vectors: u of the names, ``[B, D]``.
            labels: Their concepts, ``[B]``.
        """
        other = labels[:, None] != self.labels
        rng = np.random.default_rng([self.seed, 0, 1])
        drawn = draw_negatives(_numpy(vectors), _numpy(self.vectors), _numpy(other), rng, self.negatives)
        every = torch.arange(len(self), device=labels.device)
        return FewShotStep(every, ~other, torch.from_numpy(drawn).to(labels.device), self.targets(vectors, labels))

    def targets(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """(u_c + u_a) / 2 of names with these vectors and concepts, ``[B, D]`` (Eq. 3)."""
        concepts = self.prototypes[labels]
        if self.normalize:
            concepts, vectors = unit_rows(concepts), unit_rows(vectors)
        return (concepts + vectors) / 2

    def draw(self, embeddings: Tensor, epoch: int) -> None:
        """Draw every name's negative of an epoch.

        Args:
            embeddings: f of all the names in evaluation mode, ``[n, D]``.
            epoch: The epoch that begins, from 0 on.
        """
        rows, other = _numpy(embeddings.float()), _numpy(self.labels[:, None] != self.labels)
        rng = np.random.default_rng([self.seed, epoch])
        self.drawn.copy_(torch.from_numpy(draw_negatives(rows, rows, other, rng, self.negatives)))
        self.epoch.fill_(epoch)

    def forget(self) -> None:
        """Drop the negatives, as before the first draw."""
        self.drawn.fill_(-1)
        self.epoch.fill_(-1)


def concept_prototypes(vectors: Tensor | np.ndarray, labels: Tensor | np.ndarray | Sequence[int]) -> Tensor:
    """u_c, the mean of the vectors of each concept's names (Eq. 3), float32 ``[C, D]``.

    Args:
        vectors: Of names, ``[n, D]``.
        labels: Their concepts, ``0..C-1``, ``[n]``, each with a name.

    Raises:
        InputError: Shapes or numbers that do not fit.
    """
    rows, concepts = checked_names(vectors, labels)
    sizes = concepts.bincount()
    if not sizes.all():
        raise InputError(f"concept {int(sizes.argmin())} has no name among the {len(rows)} vectors")
    return torch.zeros(len(sizes), rows.shape[1]).index_add_(0, concepts, rows) / sizes[:, None]


def checked_names(vectors: Tensor | np.ndarray, labels: Tensor | np.ndarray | Sequence[int]) -> tuple[Tensor, Tensor]:
    """Vectors of names, float32 ``[n, D]``, and their concepts, int64 ``[n]``, as tensors on the CPU.

    Raises:
        InputError: Shapes, types or numbers that do not fit.
    """
    rows, concepts = _matrix("vectors", vectors), _tensor("labels", labels)
    if concepts.is_floating_point() or concepts.shape != rows.shape[:1] or not len(rows) or concepts.min() < 0:
        raise InputError(
            f"labels must be one concept's number for each of {len(rows)} vectors, at least one and none below 0, "
            f"found {list(concepts.shape)} of {concepts.dtype}"
        )
    return rows, concepts.to(torch.int64)


def _matrix(argument: str, rows: Tensor | np.ndarray) -> Tensor:
    matrix = _tensor(argument, rows)
    if matrix.ndim != 2 or not matrix.is_floating_point() or not matrix.isfinite().all():
        raise InputError(
            f"{argument} must be a matrix of finite numbers, found {list(matrix.shape)} of {matrix.dtype}"
            + (" with NaN or infinity" if matrix.ndim == 2 and matrix.is_floating_point() else "")
        )
    return matrix.float()


def _tensor(argument: str, values: object) -> Tensor:
    try:
        return torch.as_tensor(values).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{argument} must be numbers, found {type(values).__name__} ({error})") from error


def _keys(vectors: Tensor, labels: Tensor) -> list[tuple[int, bytes]]:
    """What names are known by: concept and vector."""
    return [(concept, row.tobytes()) for concept, row in zip(labels.tolist(), _numpy(vectors.float()))]


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
