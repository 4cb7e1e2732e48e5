"""How much harder mined pairs are than sampled ones: their cosines in batches of an encoder (SapBERT, figure 2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed, check_finite
from st_biomed.losses.miners import Miner
from st_biomed.losses.similarity import cosine_matrix, unit_rows
from st_biomed.plots.canvas import LEGEND_ROW, legend_below, panels
from st_biomed.samplers.synonyms import SynonymBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup
from st_biomed.training_data.names import names_dataset

_BINS = np.linspace(-1, 1, 101)


@dataclass(frozen=True)
class PairCosines:
    """Cosines of the positive and the negative pairs of some batches.

    Attributes:
        positives, negatives: Counts in 100 equal bins from -1 to 1, ``[100]`` each.
    """

    positives: np.ndarray
    negatives: np.ndarray

    @property
    def overlap(self) -> float:
        """The area that the two distributions share, from 0 to 1; 0 where one of them is empty."""
        both = (self.positives, self.negatives)
        if not all(counts.sum() for counts in both):
            return 0.0
        return float(np.minimum(*(counts / counts.sum() for counts in both)).sum())


def pair_cosines(
    terminology: Terminology, embed: Embed, miner: Miner, *, n_batches: int = 10, batch_size: int = 512, seed: int = 0
) -> tuple[PairCosines, PairCosines]:
    """Cosines of all pairs of training batches and of those that the miner keeps.

    Args:
        embed: From N texts to ``[N, D]``.
        miner: Chooses among the pairs.
        n_batches: Batches to draw, the first of an epoch.
        batch_size: Names of a batch.

    Returns:
        Sampled and mined pairs.

    Raises:
        InputError: ``n_batches`` below 1, too few synonyms for a batch, or vectors that are not finite.
    """
    if n_batches < 1:
        raise InputError(f"n_batches must be at least 1, found {n_batches}")
    sampler = SynonymBatchSampler(names_dataset(terminology), batch_size, seed=seed, terminology=terminology)
    lookup, counts = ConceptLookup(terminology), np.zeros((2, 2, len(_BINS) - 1), dtype=np.int64)
    for _, rows in zip(range(n_batches), sampler):
        labels = torch.tensor(rows)
        texts = [terminology.strings[row] for row in rows]
        found = np.asarray(embed(texts), dtype=np.float32)
        check_finite(texts, found)  # a histogram would leave them out
        vectors = torch.as_tensor(found)
        cosines = cosine_matrix(unit_rows(vectors))
        same = lookup.same_concept(labels, labels)
        apart = ~torch.eye(len(rows), dtype=torch.bool) & ~lookup.same_text(labels, labels)
        sampled = same & apart, ~same
        for i, pairs in enumerate((sampled, miner(vectors, cosines, *sampled))):
            for j, mask in enumerate(pairs):
                counts[i, j] += np.histogram(cosines[mask].clamp(-1, 1).numpy(), _BINS)[0]
    return PairCosines(*counts[0]), PairCosines(*counts[1])


def mined_pairs(path: str | Path, sampled: PairCosines, mined: PairCosines) -> Path:
    """Draw the densities of positives and negatives, sampled on the left and mined on the right."""
    with panels(path, ["sampled pairs", "mined pairs"], size=(5, 4.5 + LEGEND_ROW), shared=True) as axes:
        for axis, cosines in zip(axes, (sampled, mined)):
            for counts, label in ((cosines.positives, "positive"), (cosines.negatives, "negative")):
                density = counts / max(counts.sum() * np.diff(_BINS)[0], 1e-12)
                axis.stairs(density, _BINS, fill=True, alpha=0.5, label=f"{label} ({counts.sum():,})")
            axis.set(xlabel="cosine", ylabel="density")
            legend_below(axis, columns=2)
    return Path(path)
