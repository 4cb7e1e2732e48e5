"""Five scoring functions of triples. Each defines a query and its comparison with entities."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.kge.distances import summed_moduli
from st_biomed.kge.model import KGEModel


class _Product(KGEModel):
    """A model whose score is the product of query and entity."""

    def compare(self, queries: Tensor, entities: Tensor) -> Tensor:
        return queries @ entities.transpose(-1, -2)

    def compare_pairs(self, queries: Tensor, entities: Tensor) -> Tensor:
        return (queries * entities).sum(dim=-1)


class DistMult(_Product):
    """``sum_i h_i r_i t_i`` (Yang et al. 2015, Eq. 2); symmetric in head and tail."""

    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        return given * relations


class ComplEx(_Product):
    """``Re <h, r, conj(t)>`` (Trouillon et al. 2016, Eq. 9), complex vectors as real parts, then imaginary ones."""

    paired = True

    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        return complex_product(given, relations if side == "tail" else conjugate(relations))

    def cubed_moduli(self, vectors: Tensor) -> Tensor:
        real, imaginary = vectors.chunk(2, dim=-1)
        return (real * real + imaginary * imaginary).pow(1.5)


class SimplE(_Product):
    """``(<head of h, r, tail of t> + <head of t, inverse of r, tail of h>) / 2`` (Kazemi and Poole 2018, section 4).

    An entity has its vector as a head, then its vector as a tail; a relation has its vector, then that of its inverse.
    """

    paired = True

    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        as_head, as_tail = given.chunk(2, dim=-1)
        forward, inverse = relations.chunk(2, dim=-1)
        of_heads, of_tails = (inverse * as_tail, forward * as_head)
        if side == "head":
            of_heads, of_tails = (forward * as_tail, inverse * as_head)
        return torch.cat([of_heads, of_tails], dim=-1) / 2


class _Distance(KGEModel):
    """A model whose score is the negative distance of query and entity."""

    is_distance = True


class TransE(_Distance):
    """``-||h + r - t||`` (Bordes et al. 2013, section 2), in the L1 norm by default.

    Unlike there, entities are not scaled to length one after every step; the margin of the self-adversarial loss
    bounds them.

    Args:
        n_entities, n_relations, dimension: See :class:`KGEModel`.
        norm: 1 or 2.
        **options: See :class:`KGEModel`.
    """

    def __init__(self, n_entities: int, n_relations: int, dimension: int = 200, *, norm: int = 1, **options: Any):
        if norm not in (1, 2):
            raise InputError(f"norm must be 1 or 2, found {norm}")
        super().__init__(n_entities, n_relations, dimension, **options)
        self.norm = norm

    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        return given + relations if side == "tail" else given - relations

    def compare(self, queries: Tensor, entities: Tensor) -> Tensor:
        exact = "donot_use_mm_for_euclid_dist"
        return -torch.cdist(queries.float(), entities.float(), p=self.norm, compute_mode=exact)

    def compare_pairs(self, queries: Tensor, entities: Tensor) -> Tensor:
        return -torch.linalg.vector_norm(queries - entities, ord=self.norm, dim=-1)


class RotatE(_Distance):
    """``-||h o r - t||``, relations of modulus one (Sun et al. 2019, Eq. 2); the sum of the moduli as in its code.

    A relation consists of its phases, ``[D/2]``.
    """

    paired = True

    def _width(self, dimension: int) -> int:
        return dimension // 2

    @torch.no_grad()
    def initialize(self, margin: float, generator: torch.Generator) -> None:
        """Entities as in other models; phases uniform over the circle (Sun et al. 2019, section 4.1)."""
        super().initialize(margin, generator)
        self.relations.weight.uniform_(-math.pi, math.pi, generator=generator)

    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        phases = relations if side == "tail" else -relations
        return complex_product(given, torch.cat([phases.cos(), phases.sin()], dim=-1))

    def compare(self, queries: Tensor, entities: Tensor) -> Tensor:
        return -summed_moduli(queries, entities)

    def compare_pairs(self, queries: Tensor, entities: Tensor) -> Tensor:
        real, imaginary = (queries - entities).float().chunk(2, dim=-1)
        squares = (real.square() + imaginary.square()).clamp_min(torch.finfo(torch.float32).tiny)  # slope 0 at 0
        return -squares.sqrt().sum(dim=-1)


def complex_product(a: Tensor, b: Tensor) -> Tensor:
    """Product of complex numbers, real parts then imaginary parts, ``[..., 2d]``."""
    (real, imaginary), (of_real, of_imaginary) = a.chunk(2, dim=-1), b.chunk(2, dim=-1)
    products = [real * of_real - imaginary * of_imaginary, real * of_imaginary + imaginary * of_real]
    return torch.cat(products, dim=-1)


def conjugate(a: Tensor) -> Tensor:
    """Complex conjugate, ``[..., 2d]``."""
    real, imaginary = a.chunk(2, dim=-1)
    return torch.cat([real, -imaginary], dim=-1)


MODELS: dict[str, type[KGEModel]] = {
    "transe": TransE,
    "complex": ComplEx,
    "rotate": RotatE,
    "simple": SimplE,
    "distmult": DistMult,
}
"""The models by name: the four of the paper's Table 2, and DistMult."""
