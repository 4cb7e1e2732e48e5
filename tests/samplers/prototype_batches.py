"""Terminologies with so many names for each concept, and the sampler of batches around prototypes."""

from __future__ import annotations

import numpy as np
from datasets import Dataset

from st_biomed.records import SourceInfo, Term
from st_biomed.samplers import HardNegativeBatchSampler
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.samplers.neighbor_table import NeighborTable, nearest_rows
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset
from st_biomed.training_data.names import description

TOY = Terminology.read("toy")
PLAN = HardNegativePlan(prototypes=2, positives=3, neighbors=4)


def with_names(*counts: int) -> Terminology:
    """Concept ``i`` has ``counts[i]`` names of its own; text ids are in the order of concepts."""
    terms = (Term(f"X:{i:03}", f"term {i:03} {n:02}") for i, count in enumerate(counts) for n in range(count))
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def mentions(terminology: Terminology, labels: list[int]) -> Dataset:
    """A row for each text id, as mentions in context have them."""
    rows = {
        "text": [f"context {i} of {terminology.strings[label]}" for i, label in enumerate(labels)],
        "label": labels,
    }
    dataset = Dataset.from_dict(rows)
    dataset.info.description = description(terminology)
    return dataset


def sampler(terminology, plan=PLAN, dataset=None, *, vectors=None, seed=0) -> HardNegativeBatchSampler:
    """With the neighbors of random vectors, or of those given."""
    dataset = names_dataset(terminology) if dataset is None else dataset
    made = HardNegativeBatchSampler(dataset, plan.batch_size, terminology=terminology, plan=plan, seed=seed)
    if vectors is None:
        vectors = np.random.default_rng(7).normal(size=(len(dataset), 8))
    rows = nearest_rows(vectors.astype(np.float32), made.prototypes, made.width, candidates=made.candidates)
    made.use(NeighborTable(rows, made.rows_digest, "weights"))
    return made
