"""Samplers determine which rows of a dataset share a batch.

The sampler of one dataset yields batches of exactly ``batch_size`` rows and has a constant length. It depends only on
``(seed, epoch)``, hard negatives also on the current neighbor table, and is therefore identical in every process. Pass
the small callables (``SynonymBatches.of(...)``) to the training arguments.
"""

from __future__ import annotations

from st_biomed.samplers.batch_factories import BatchesByName, TrainingBatches, cache_terminology
from st_biomed.samplers.definitions import DefinitionBatches, DefinitionBatchSampler, DefinitionPlan
from st_biomed.samplers.epoch_callback import EpochCallback
from st_biomed.samplers.graph import GraphBatches, GraphBatchSampler, GraphPlan
from st_biomed.samplers.graph_collator import GraphCollator
from st_biomed.samplers.hard_negative_callback import HardNegativeCallback
from st_biomed.samplers.hard_negatives import HardNegativeBatches, HardNegativeBatchSampler, HardNegativePlan
from st_biomed.samplers.hierarchy import HierarchyBatches, HierarchyBatchSampler, HierarchyPlan
from st_biomed.samplers.mixing import RankAlignedBatchSampler, RankAlignedMixing
from st_biomed.samplers.neighborhood import Neighborhood, NeighborSampler
from st_biomed.samplers.pair_batches import PairBatches
from st_biomed.samplers.shuffled import ShuffledBatches, ShuffledBatchSampler
from st_biomed.samplers.synonyms import SynonymBatches, SynonymBatchSampler, SynonymPlan

__all__ = [
    "BatchesByName",
    "DefinitionBatchSampler",
    "DefinitionBatches",
    "DefinitionPlan",
    "EpochCallback",
    "GraphBatchSampler",
    "GraphBatches",
    "GraphCollator",
    "GraphPlan",
    "HardNegativeBatchSampler",
    "HardNegativeBatches",
    "HardNegativeCallback",
    "HardNegativePlan",
    "HierarchyBatchSampler",
    "HierarchyBatches",
    "HierarchyPlan",
    "NeighborSampler",
    "Neighborhood",
    "PairBatches",
    "RankAlignedBatchSampler",
    "RankAlignedMixing",
    "ShuffledBatchSampler",
    "ShuffledBatches",
    "SynonymBatchSampler",
    "SynonymBatches",
    "SynonymPlan",
    "TrainingBatches",
    "cache_terminology",
]
