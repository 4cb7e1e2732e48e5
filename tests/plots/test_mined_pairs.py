"""Cosines of sampled and mined pairs, counted against a loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.losses.miners import TripletMarginMiner
from st_biomed.plots.mined_pairs import PairCosines, mined_pairs, pair_cosines
from st_biomed.samplers import SynonymBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

TOY = Terminology.read("toy")
TABLE = np.random.default_rng(0).normal(size=(TOY.n_texts, 6)).astype(np.float32)


def embed(texts):
    return TABLE[[TOY.strings.index(text) for text in texts]]


def test_every_pair_of_the_batches_is_counted_once_each_way():
    """Catches the diagonal among the positives, and pairs of ambiguous names among the negatives."""
    sampled, mined = pair_cosines(TOY, embed, TripletMarginMiner(0.2), n_batches=2, batch_size=12, seed=3)
    counts = np.zeros((2, 2))
    sampler = SynonymBatchSampler(names_dataset(TOY), 12, seed=3, terminology=TOY)
    for _, rows in zip(range(2), sampler):
        unit = TABLE[rows] / np.linalg.norm(TABLE[rows], axis=1, keepdims=True)
        distance = np.linalg.norm(unit[:, None] - unit[None], axis=2)
        concepts = [set(TOY.text_concepts.row(row)) for row in rows]
        for i in range(12):
            positives = [j for j in range(12) if j != i and rows[j] != rows[i] and concepts[i] & concepts[j]]
            negatives = [j for j in range(12) if not concepts[i] & concepts[j]]
            counts[0] += len(positives), len(negatives)
            triplets = [(p, n) for p in positives for n in negatives if distance[i, n] - distance[i, p] <= 0.2]
            counts[1] += len({p for p, _ in triplets}), len({n for _, n in triplets})
    assert [[c.positives.sum(), c.negatives.sum()] for c in (sampled, mined)] == counts.tolist()
    assert 0 < counts[1].sum() < counts[0].sum()


def test_overlap_is_the_shared_area():
    bins = np.zeros((4, 100), dtype=int)
    bins[0, :2], bins[1, 1:3], bins[2, 50] = 5, 5, 3
    assert PairCosines(bins[0], bins[1]).overlap == pytest.approx(0.5)
    assert PairCosines(bins[0], bins[0]).overlap == pytest.approx(1)
    assert PairCosines(bins[0], bins[2]).overlap == PairCosines(bins[0], bins[3]).overlap == 0


def test_the_picture_is_drawn_even_where_nothing_was_mined(tmp_path: Path):
    some, none = PairCosines(np.arange(100), np.ones(100, dtype=int)), PairCosines(*np.zeros((2, 100), dtype=int))
    assert mined_pairs(tmp_path / "a.png", some, none).read_bytes().startswith(b"\x89PNG")


def test_no_batch_is_refused():
    with pytest.raises(InputError, match="n_batches must be at least 1, found 0"):
        pair_cosines(TOY, embed, TripletMarginMiner(0.2), n_batches=0)


def test_vectors_that_are_no_numbers_are_not_left_out():
    """Catches a diverged model whose pairs vanish, since a histogram ignores NaN."""
    with pytest.raises(InputError, match="embeddings: 12 of 12 vectors hold NaN or infinity"):
        pair_cosines(TOY, lambda texts: np.full((len(texts), 6), np.nan), TripletMarginMiner(0.2), batch_size=12)
