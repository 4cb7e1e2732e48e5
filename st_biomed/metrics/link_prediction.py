"""Link prediction: the rank of the entity that completes a triple, among all entities.

The ranks are those of PyKEEN's rank-based evaluation, so figures are comparable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_name

if TYPE_CHECKING:
    from torch import Tensor

SIDES = ("head", "tail")
"""The missing end of a triple (head, relation, tail)."""

_CELLS = 1 << 24  # scores at once, or those of one query where E is larger: 64 MB in float32


class Scorer(Protocol):
    """Anything that scores every entity as the missing end of a triple, e.g. a graph embedding."""

    def __call__(self, given_ends: np.ndarray, relations: np.ndarray, side: str, /) -> np.ndarray | Tensor:
        """Score all entities, the higher the likelier.

        Args:
            given_ends: The known ends, entity indices ``[B]``: tails where ``side`` is ``"head"``, heads otherwise.
            relations: Relation indices ``[B]``.
            side: ``"head"`` or ``"tail"``, the end that is asked for.

        Returns:
            ``[B, E]``; may be of any float type, without NaN. Tensors are ranked on their device, and only counts leave it.
        """
        ...


class Ranks(NamedTuple):
    """Ranks of the correct entities, from 1.

    Attributes:
        optimistic: The correct entity is ranked before all entities with the same score, int64 ``[Q]``.
        pessimistic: The correct entity is ranked after all entities with the same score, int64 ``[Q]``.
    """

    optimistic: np.ndarray
    pessimistic: np.ndarray

    @property
    def realistic(self) -> np.ndarray:
        """The mean of the two, float64 ``[Q]``: the expected rank for a random order of equal scores."""
        return (self.optimistic + self.pessimistic) / 2


def checked_triples(triples: np.ndarray, name: str, n_entities: int, n_relations: int | None) -> np.ndarray:
    """Triples as int64, contiguous, ``[T, 3]``: head, relation and tail.

    Args:
        name: What the triples are called in errors.
        n_entities: Heads and tails are below it.
        n_relations: Relations are below it; ``None`` for no limit.

    Raises:
        InputError: Another shape or type, or a number outside its range.
    """
    triples = np.asarray(triples)
    if triples.ndim != 2 or triples.shape[1] != 3 or triples.dtype.kind not in "iu":
        raise InputError(f"{name}: expected whole numbers [T, 3], found {triples.dtype} {list(triples.shape)}")
    for column, (end, size) in enumerate((("head", n_entities), ("relation", n_relations), ("tail", n_entities))):
        numbers = triples[:, column]
        wrong = (numbers < 0) if size is None else (numbers < 0) | (numbers >= size)
        if wrong.any():
            row = int(wrong.argmax())
            allowed = "from 0" if size is None else f"from 0 to {size - 1}"
            raise InputError(f"{name}: {end} of triple {row + 1} must be {allowed}, found {numbers[row]}")
    return np.ascontiguousarray(triples, dtype=np.int64)


class KnownTriples:
    """True triples, whose entities are left out of a ranking (the filtered setting of Bordes et al. 2013, section
    4.2).

    Args:
        triples: (head, relation, tail) of train, valid and test together, integers ``[K, 3]``; repeats are allowed.
        n_relations: Number of relations.

    Raises:
        InputError: A relation that is not one of them.
    """

    def __init__(self, triples: np.ndarray, n_relations: int) -> None:
        self._n_relations = n_relations
        self._tables: dict[str, tuple[np.ndarray, CSR]] = {}
        for side in SIDES:
            given_ends, relations, targets = columns_of(triples, side)
            self._check(relations)
            keys, row = np.unique(given_ends * n_relations + relations, return_inverse=True)
            self._tables[side] = keys, CSR.from_pairs(row, targets, len(keys) + 1)

    def answers(self, triples: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray]:
        """Entities that form a known triple with the other end and the relation of each triple.

        Args:
            triples: ``[Q, 3]``.

        Returns:
            ``(query, entity)``, both ``[M]``: ``entity[m]`` is an answer to the query of ``triples[query[m]]``.

        Raises:
            InputError: A relation that is not one of the known triples' relations, or another side.
        """
        given_ends, relations, _ = columns_of(triples, side)
        self._check(relations)
        keys, entities = self._tables[side]
        wanted = given_ends * self._n_relations + relations
        place = np.searchsorted(keys, wanted)
        known = np.append(keys, -1)[place] == wanted
        return entities.take(np.where(known, place, len(keys)))  # the last row is empty

    def _check(self, relations: np.ndarray) -> None:
        """Reject another relation: with an entity it would have the key of others."""
        _check_indices("relation", relations, self._n_relations)


def columns_of(triples: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The given end, the relation, and the missing end, int64 ``[Q]`` each.

    Raises:
        InputError: ``side`` is neither ``"head"`` nor ``"tail"``.
    """
    check_name("side", side, SIDES)
    heads, relations, tails = np.asarray(triples, dtype=np.int64).reshape(-1, 3).T
    return (tails, relations, heads) if side == "head" else (heads, relations, tails)


def _check_indices(what: str, found: np.ndarray, size: int) -> None:
    """Raise InputError if a number is not from 0 to below ``size``."""
    found = np.asarray(found)
    outside = found[(found < 0) | (found >= size)]
    if len(outside):
        raise InputError(f"{what} must be from 0 to {size - 1}, found {outside[0]}")


def target_ranks(scores: np.ndarray | Tensor, targets: np.ndarray) -> Ranks:
    """Rank of the correct entity of each query among all entities.

    Args:
        scores: Higher is better, ``[Q, E]``; a tensor is ranked on its device.
        targets: The correct entity of each query, ``[Q]``.

    Raises:
        InputError: Scores of another shape than ``[Q, E]``, NaN among them, or a target that is no entity.
    """
    if scores.ndim != 2 or len(scores) != len(targets):
        raise InputError(f"scores: expected [{len(targets)}, E], found shape {tuple(scores.shape)}")
    _check_indices("target", targets, scores.shape[1])
    if isinstance(scores, np.ndarray):
        if scores.size and np.isnan(scores.min()):
            raise InputError(f"scores: {int(np.isnan(scores).sum()):,} of {scores.size:,} are NaN")
        own = scores[np.arange(len(scores)), targets][:, None]
        return Ranks(1 + np.count_nonzero(scores > own, axis=1), np.count_nonzero(scores >= own, axis=1))
    if n_nan := int(scores.isnan().sum()):
        raise InputError(f"scores: {n_nan:,} of {scores.numel():,} are NaN")
    own_scores = scores[_index(scores, np.arange(len(scores))), _index(scores, targets)][:, None]
    above, not_below = (found.sum(dim=1).cpu().numpy() for found in (scores > own_scores, scores >= own_scores))
    return Ranks(1 + above, not_below)


def filtered_ranks(
    ranks: Ranks, scores: np.ndarray | Tensor, targets: np.ndarray, left_out: tuple[np.ndarray, np.ndarray]
) -> Ranks:
    """The ranks without some entities.

    Args:
        ranks: Ranks of the correct entities among all, from :func:`target_ranks`.
        scores, targets: See there, ``[Q, E]`` and ``[Q]``.
        left_out: Distinct ``(query, entity)`` pairs, both ``[M]``, from :meth:`KnownTriples.answers`. The correct
            entity counts even if it is among them.
    """
    query, entity = left_out
    other = entity != targets[query]
    query, entity = query[other], entity[other]
    own, of_other = _at(scores, query, targets[query]), _at(scores, query, entity)
    above = np.bincount(query[of_other > own], minlength=len(scores))
    not_below = np.bincount(query[of_other >= own], minlength=len(scores))
    return Ranks(ranks.optimistic - above, ranks.pessimistic - not_below)


def _at(scores: np.ndarray | Tensor, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some of the scores, ``[M]``."""
    if isinstance(scores, np.ndarray):
        return scores[rows, columns]
    return scores[_index(scores, rows), _index(scores, columns)].cpu().numpy()


def _index(scores: Tensor, places: np.ndarray) -> Tensor:
    """Places of scores, on their device."""
    import torch

    return torch.as_tensor(places, device=scores.device)


def rank_triples(
    scorer: Scorer,
    triples: np.ndarray,
    side: str,
    *,
    n_entities: int,
    known: KnownTriples | None = None,
    cells: int = _CELLS,
) -> dict[str, Ranks]:
    """Ranks of one end of triples, a few queries at a time.

    Args:
        triples: (head, relation, tail), integers ``[Q, 3]``.
        n_entities: E.
        known: The triples that filtered ranks leave out; without them only raw ranks are returned.
        cells: Number of scores in memory at once; at least one row of E.

    Returns:
        ``"raw"``, and with known triples ``"filtered"``, to the ranks of the Q triples.

    Raises:
        InputError: No triple; scores of another shape than ``[B, E]`` or with NaN.
    """
    given_ends, relations, targets = columns_of(triples, side)
    if not len(targets):
        raise InputError("triples: expected at least one to rank, found none")
    import torch  # not at the top: ranks of arrays do not need it

    parts: dict[str, list[Ranks]] = {"raw": []} if known is None else {"filtered": [], "raw": []}
    step = max(1, cells // n_entities)
    for start in range(0, len(targets), step):
        part = slice(start, start + step)
        found = scorer(given_ends[part], relations[part], side)
        scores = found.detach() if isinstance(found, torch.Tensor) else np.asarray(found)
        if tuple(scores.shape) != (len(targets[part]), n_entities):
            raise InputError(
                f"scores: expected [{len(targets[part])}, {n_entities}], found shape {tuple(scores.shape)}"
            )
        ranks = target_ranks(scores, targets[part])
        parts["raw"].append(ranks)
        if known is not None:
            left_out = known.answers(triples[part], side)
            parts["filtered"].append(filtered_ranks(ranks, scores, targets[part], left_out))
    return {setting: Ranks(*map(np.concatenate, zip(*chunks))) for setting, chunks in parts.items()}


def rank_metrics(ranks: np.ndarray, ks: Iterable[int] = (1, 3, 10)) -> dict[str, float]:
    """``mrr`` (mean of one over the rank), ``mr`` (mean rank) and ``hits@k`` (share of ranks of at most k).

    Args:
        ranks: Ranks from 1, ``[Q]``; realistic ranks may end in .5, and 1.5 is not a hit at 1.
        ks: The k of the hits.

    Raises:
        InputError: No rank, or a rank below 1.
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    if not ranks.size or not (ranks >= 1).all():
        raise InputError(f"ranks: expected at least one, each from 1, found {ranks.size:,}")
    metrics = {"mrr": float((1 / ranks).mean()), "mr": float(ranks.mean())}
    return metrics | {f"hits@{k}": float((ranks <= k).mean()) for k in ks}
