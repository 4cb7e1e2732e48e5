"""Negatives of triples: entities drawn for a chunk of triples, and a check for true triples."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.metrics.link_prediction import SIDES, columns_of

_BITS = 22  # of the table of fingerprints, at least: four megabytes
_CELLS_PER_TRIPLE = 8  # at least, so that seven of eight candidates need no search
_MULTIPLIER = -7046029254386353131  # 2^64 over the golden ratio, odd (Fibonacci hashing; Knuth, volume 3, 6.4)


class TrueTriples:
    """Checks whether a corrupted triple is true.

    A table of fingerprints excludes most triples; the rest is looked up in a sorted list.

    Args:
        triples: (head, relation, tail), int64 ``[T, 3]``.
        n_entities, n_relations: E and R.
        device: Device of the results.

    Raises:
        InputError: Too many entities and relations to number all triples with 63 bits.
    """

    def __init__(self, triples: np.ndarray, n_entities: int, n_relations: int, device: torch.device) -> None:
        if n_entities**2 * n_relations >= 1 << 63:
            raise InputError(
                f"graph: {n_entities:,} entities and {n_relations:,} relations are too many to filter negatives"
            )
        self.n_entities, self.n_relations = n_entities, n_relations
        self._bits = max(_BITS, (_CELLS_PER_TRIPLE * len(triples) - 1).bit_length())
        self._keys: dict[str, Tensor] = {}
        self._seen: dict[str, Tensor] = {}
        for side in SIDES:
            given_ends, relations, targets = columns_of(triples, side)
            keys = torch.from_numpy(np.sort((given_ends * n_relations + relations) * n_entities + targets)).to(device)
            self._keys[side] = keys
            self._seen[side] = torch.zeros(1 << self._bits, dtype=torch.bool, device=device)
            self._seen[side][_fingerprint(keys, self._bits)] = True

    def among(self, given_ends: Tensor, relations: Tensor, candidates: Tensor, side: str) -> Tensor:
        """Whether candidates complete the given ends to a true triple.

        Args:
            given_ends: Tails if ``side`` is ``"head"``, otherwise heads, ``[..., c]``.
            relations: ``[..., c]``.
            candidates: Entities for all c triples of a chunk, ``[..., n]``.

        Returns:
            Boolean ``[..., c, n]``.
        """
        wanted = ((given_ends * self.n_relations + relations) * self.n_entities).unsqueeze(-1) + candidates.unsqueeze(
            -2
        )
        found = self._seen[side][_fingerprint(wanted, self._bits)]
        keys, likely = self._keys[side], wanted[found]
        place = torch.searchsorted(keys, likely).clamp_(max=len(keys) - 1)
        return found.masked_scatter(found, keys[place] == likely)


def _fingerprint(keys: Tensor, bits: int) -> Tensor:
    """A number below ``2**bits`` of each key."""
    return (keys * _MULTIPLIER).bitwise_right_shift(64 - bits).bitwise_and((1 << bits) - 1)


def draw_entities(n_entities: int, shape: tuple[int, ...], generator: np.random.Generator) -> Tensor:
    """Entities drawn uniformly with replacement, int64."""
    return torch.from_numpy(generator.integers(n_entities, size=shape))
