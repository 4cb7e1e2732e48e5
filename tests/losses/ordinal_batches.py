"""Batches with distances, and the ordinal loss of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

VECTORS = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=torch.float64)
DISTANCES = torch.tensor([[0, 0, 1, 3], [0, 0, 2, 3], [1, 2, 0, 3], [3, 3, 3, 0]])


def value(loss: nn.Module, embeddings: Tensor = VECTORS, labels: Tensor | None = None, distances=DISTANCES) -> float:
    return loss.compute_loss_from_embeddings([embeddings], labels, distances=distances).item()


def random_batch(seed: int, size: int = 9) -> tuple[Tensor, Tensor]:
    """Embeddings with two equal rows, and symmetric distances -1..4 with nothing on the diagonal."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(size, 3, generator=generator, dtype=torch.float64)
    embeddings[0] = embeddings[3]
    distances = torch.randint(-1, 5, (size, size), generator=generator).triu(1)
    return embeddings, distances + distances.T


def cosines(embeddings: Tensor, similarity: str = "cosine") -> list[list[float]]:
    unit = embeddings / embeddings.norm(dim=1, keepdim=True)
    return ((unit @ unit.T) if similarity == "cosine" else (unit @ unit.T + 1) / 2).tolist()
