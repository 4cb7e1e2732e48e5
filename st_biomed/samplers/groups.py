"""An anchor and its partners at every distance of a hierarchy, for many anchors at once."""

from __future__ import annotations

import numpy as np

from st_biomed.csr import CSR, position_in_row
from st_biomed.hierarchy import Hierarchy
from st_biomed.samplers.rows import NameRows
from st_biomed.samplers.shared_keys import SharedKeyMembers
from st_biomed.training_data.draws import draw_distinct

_TRIES = tuple(2**i for i in range(8))  # texts tried for a far partner, before any text of its source is taken


class PartnerGroups:
    """Draws the groups described in :class:`~st_biomed.samplers.hierarchy.HierarchyBatchSampler`.

    Args:
        partners: Number of partners at each distance from 0 to ``hierarchy.far``.
        names_per_partner: Maximum number of names that one draw of a related concept adds; it may be drawn again.
    """

    def __init__(
        self, hierarchy: Hierarchy, rows: NameRows, partners: tuple[int, ...], names_per_partner: int = 1
    ) -> None:
        self._hierarchy = hierarchy
        self._names_per_partner = names_per_partner
        self._names, self._texts = rows.names, rows.texts
        self._partners = partners
        self._relatives = {
            d: SharedKeyMembers(hierarchy.partner_tables(d)) for d in range(1, hierarchy.far) if partners[d]
        }
        self._comparable = _same_source(hierarchy, rows.texts)

    def draw(self, rng: np.random.Generator, anchors: np.ndarray) -> np.ndarray:
        """Draw the groups of N anchors.

        Args:
            anchors: Entries of the concept-to-names table, ``[N]``.

        Returns:
            Text ids ``[N, 1 + sum(partners)]``: the anchor, then its partners by distance.
        """
        names = self._names
        concepts = np.searchsorted(names.indptr, anchors, side="right") - 1
        groups = np.full((len(anchors), 1 + sum(self._partners)), -1, dtype=np.int64)
        groups[:, 0] = names.indices[anchors]
        row, rank = draw_distinct(rng, _lengths(names, concepts) - 1, self._partners[0])
        rank += rank >= (anchors - names.indptr[concepts])[row]  # the anchor itself is skipped
        groups[row, 1 + position_in_row(row)] = names.indices[names.indptr[concepts[row]] + rank]
        first = 1 + self._partners[0]
        for distance, relatives in self._relatives.items():
            wanted = self._partners[distance]
            enough = 4 * -(-wanted // self._names_per_partner) + 4
            drawn = self._named(rng, relatives.draw(rng, concepts, enough))
            drawn[~self._at(distance, groups[:, :1], drawn) | _repeats(drawn)] = -1
            front = np.argsort(drawn < 0, axis=1, kind="stable")[:, :wanted]
            start = first + sum(self._partners[1:distance])
            groups[:, start : start + wanted] = np.take_along_axis(drawn, front, axis=1)
        return self._topped_up(rng, groups)

    def others(self, rng: np.random.Generator, anchors: np.ndarray, k: int) -> np.ndarray:
        """Draw ``k`` texts for each of N anchors (text ids) from those of its sources, ``[N, k]``.

        Pairs of different sources are masked, so a text of another source would not inform the anchor.
        """
        if self._comparable is None:
            return rng.choice(self._texts, (len(anchors), k))
        return self._comparable.draw(rng, anchors, k)

    def _named(self, rng: np.random.Generator, concepts: np.ndarray) -> np.ndarray:
        """Different names of each concept ``[N, k]``, those of one side by side, ``[N, k * names_per_partner]``.

        -1 for no concept, and for names that it has not in the dataset.
        """
        names, width = self._names, self._names_per_partner
        counts = np.where(concepts < 0, 0, _lengths(names, concepts)).reshape(-1)
        row, rank = draw_distinct(rng, counts, width)
        texts = np.full((len(counts), width), -1, dtype=np.int64)
        texts[row, position_in_row(row)] = names.indices[names.indptr[concepts.reshape(-1)[row]] + rank]
        return texts.reshape(len(concepts), -1)

    def _at(self, distance: int, anchors: np.ndarray, texts: np.ndarray) -> np.ndarray:
        """Whether texts ``[N, k]`` stand at this distance from anchors ``[N, 1]``; never for text -1."""
        is_text = texts >= 0
        out = np.zeros(texts.shape, dtype=bool)
        out[is_text] = self._text_distance(np.broadcast_to(anchors, texts.shape)[is_text], texts[is_text]) == distance
        return out

    def _text_distance(self, texts_a: np.ndarray, texts_b: np.ndarray) -> np.ndarray:
        """Smallest distance over the concepts of two texts each, ``[M]``; beyond the largest where masked."""
        concepts_of = self._hierarchy.terminology.text_concepts
        pair, concept_a = concepts_of.take(texts_a)
        entry, concept_b = concepts_of.take(texts_b[pair])
        distance = self._hierarchy.concept_distance(concept_a[entry], concept_b)
        beyond = self._hierarchy.far + 1
        out = np.full(len(texts_a), beyond, dtype=np.int64)
        np.minimum.at(out, pair[entry], np.where(distance < 0, beyond, distance))
        return out

    def _topped_up(self, rng: np.random.Generator, groups: np.ndarray) -> np.ndarray:
        """Fill the slots that are left with far texts, after some tries with any of the anchor's sources."""
        for tries in _TRIES:
            row, slot = np.nonzero(groups < 0)
            if not len(row):
                return groups
            texts = self.others(rng, groups[row, 0], tries)
            far = self._at(self._hierarchy.far, groups[row, :1], texts)
            far &= (texts[:, :, None] != groups[row][:, None, :]).all(axis=2)
            found = far.any(axis=1)
            groups[row[found], slot[found]] = texts[found, far[found].argmax(axis=1)]
            groups[_repeats(groups)] = -1
        row, slot = np.nonzero(groups < 0)
        groups[row, slot] = self.others(rng, groups[row, 0], 1)[:, 0]
        return groups


def _same_source(hierarchy: Hierarchy, texts: np.ndarray) -> SharedKeyMembers | None:
    """From each text to those of its sources among ``texts``; ``None`` where there is one source only."""
    sources = hierarchy.text_sources
    if sources is None:
        return None
    row, source = sources.take(texts)
    starts = np.zeros(len(hierarchy.terminology.sources) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=len(starts) - 1), out=starts[1:])
    order = np.argsort(source.astype(np.int16), kind="stable")  # of two bytes: sorted in linear time
    return SharedKeyMembers([(sources, CSR(starts, texts.astype(np.int32)[row[order]]))])


def _lengths(table: CSR, rows: np.ndarray) -> np.ndarray:
    """Lengths of some rows, without those of all."""
    return table.indptr[rows + 1] - table.indptr[rows]


def _repeats(texts: np.ndarray) -> np.ndarray:
    """Which entries of each row repeat an earlier one, boolean ``[N, k]``."""
    same = texts[:, :, None] == texts[:, None, :]
    return np.tril(same, -1).any(axis=2)
