"""Which rows of a dataset share a batch.

Every sampler yields exactly ``batch_size`` rows, has a constant and exact length, depends on ``(seed, epoch)`` alone
and so is identical in every process. The training arguments take the small callables (``SynonymBatches.of(...)``).
"""

from __future__ import annotations

from st_biomed.batches.arguments import BatchesByName, TrainingBatches, remember
from st_biomed.batches.graph import GraphBatches, GraphBatchSampler
from st_biomed.batches.graph_collator import GraphCollator
from st_biomed.batches.hard_negatives import HardNegativeBatches, HardNegativeBatchSampler, HardNegativePlan
from st_biomed.batches.hierarchy import HierarchyBatches, HierarchyBatchSampler
from st_biomed.batches.mixing import RankAlignedBatchSampler, RankAlignedMixing
from st_biomed.batches.neighbourhood import Neighbourhood, NeighbourSampler
from st_biomed.batches.refresh import HardNegativeCallback
from st_biomed.batches.resume import EpochCallback
from st_biomed.batches.shuffled import ShuffledBatches, ShuffledBatchSampler
from st_biomed.batches.synonyms import SynonymBatches, SynonymBatchSampler

__all__ = [
    "BatchesByName",
    "EpochCallback",
    "GraphBatchSampler",
    "GraphBatches",
    "GraphCollator",
    "HardNegativeBatchSampler",
    "HardNegativeBatches",
    "HardNegativeCallback",
    "HardNegativePlan",
    "HierarchyBatchSampler",
    "HierarchyBatches",
    "NeighbourSampler",
    "Neighbourhood",
    "RankAlignedBatchSampler",
    "RankAlignedMixing",
    "ShuffledBatchSampler",
    "ShuffledBatches",
    "SynonymBatchSampler",
    "SynonymBatches",
    "TrainingBatches",
    "remember",
]
