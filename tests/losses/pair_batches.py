"""Batches and an ambiguous terminology that the tests of losses on pairs share."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

VECTORS = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=torch.float64)
CLASSES = torch.tensor([0, 0, 1, 1])
NOTHING_MINED = {"one row": [3], "one class": [3, 3, 3], "no positives": [0, 1, 2]}


def batches(n: int = 20) -> Iterator[tuple[Tensor, Tensor]]:
    """Embeddings ``[13, 4]`` with two equal rows, and labels: from one class to mostly singletons."""
    for seed in range(n):
        generator = torch.Generator().manual_seed(seed)
        embeddings = torch.randn(13, 4, generator=generator, dtype=torch.float64)
        embeddings[4] = embeddings[9]
        yield embeddings.requires_grad_(), torch.randint(0, 1 + seed % 9, (13,), generator=generator)


def pairs_of(labels: Tensor) -> tuple[Tensor, Tensor]:
    """All positives and negatives of plain classes, boolean ``[B, B]`` each."""
    same = labels[:, None] == labels[None, :]
    return same & ~torch.eye(len(labels), dtype=torch.bool), ~same


def unit(embeddings: Tensor) -> Tensor:
    return embeddings / embeddings.norm(dim=1, keepdim=True)


def birds() -> Terminology:
    """Three concepts; the text "crane" names the bird and the machine."""
    names = {"BIRD": ["crane", "grus"], "MACHINE": ["crane", "derrick"], "FISH": ["carp", "cyprinus"]}
    terms = [Term(f"X:{code}", text) for code, texts in names.items() for text in texts]
    return Terminology.from_records(terms, SourceInfo("X", "Invented"))


def text_ids(terminology: Terminology, *texts: str) -> Tensor:
    return torch.tensor([list(terminology.strings).index(text) for text in texts])
