"""Making the samplers over a terminology of the size of UMLS: seconds and memory until the first batch."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness import Table, peak_memory
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import SourceInfo
from st_biomed.samplers import HierarchyBatchSampler, SynonymBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset

BATCH_SIZE = 512


def invented(n_concepts: int, n_texts: int) -> Terminology:
    """A terminology with a long tail of names per concept and one or two parents for every concept but a few roots."""
    rng = np.random.default_rng(0)
    extra = (n_concepts * rng.random(n_texts - n_concepts) ** 3).astype(np.int32)  # a few concepts get many names
    concept = np.sort(np.concatenate([np.arange(n_concepts, dtype=np.int32), extra]))
    text = pc.binary_join_element_wise(
        "structure of the invented part ", pc.cast(pa.array(np.arange(n_texts)), pa.string()), ""
    )
    child = np.arange(20, n_concepts, dtype=np.int32)
    second = child[rng.random(len(child)) < 0.3]
    children = np.concatenate([child, second])
    parents = np.concatenate([child // 20, (second * rng.random(len(second))).astype(np.int32) // 20])
    order = np.lexsort((parents, children))

    def constant(value: str, n: int) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), [value])

    tables = {
        "concepts": pa.table({"code": pc.cast(pa.array(np.arange(n_concepts)), pa.string())}),
        "texts": pa.table({"text": text}),
        "terms": pa.table(
            {
                "concept": concept,
                "text": np.arange(n_texts, dtype=np.int32),
                "language": constant("en", n_texts),
                "kind": constant("synonym", n_texts),
                "source": constant("INVENTED", n_texts),
            }
        ),
        "parents": pa.table(
            {
                "child": children[order],
                "parent": parents[order],
                "source": constant("INVENTED", len(children)),
            }
        ),
        "relations": pa.table(
            {"head": child[:0], "relation": constant("", 0), "tail": child[:0], "source": constant("", 0)}
        ),
        "types": pa.table({"concept": child[:0], "type": constant("", 0)}),
        "xrefs": pa.table(
            {
                "concept": child[:0],
                "predicate": constant("", 0),
                "target": constant("", 0),
                "source": constant("", 0),
            }
        ),
        "definitions": pa.table(
            {
                "concept": child[:0],
                "text": text[:0],
                "language": constant("", 0),
                "source": constant("", 0),
            }
        ),
    }
    return Terminology(tables, {"INVENTED": SourceInfo("INVENTED", "Invented")}, {})


def synonyms(terminology: Terminology) -> SynonymBatchSampler:
    return SynonymBatchSampler(names_dataset(terminology), BATCH_SIZE, terminology=terminology)


def hierarchy(terminology: Terminology) -> HierarchyBatchSampler:
    return HierarchyBatchSampler(names_dataset(terminology), BATCH_SIZE, hierarchy=Hierarchy(terminology))


SAMPLERS = {"SynonymBatchSampler": synonyms, "HierarchyBatchSampler, with its Hierarchy": hierarchy}


def prepare(folder: str, name: str, first_batch: bool) -> Callable[[], object]:
    """Load the terminology; what is returned makes the sampler (and its first batch)."""
    terminology = Terminology.load(folder)
    pa.default_memory_pool().release_unused()
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of loading

    def make() -> object:
        sampler = SAMPLERS[name](terminology)
        return next(iter(sampler)) if first_batch else sampler

    return make


def main(*, quick: bool = False) -> Table:
    n_concepts, n_texts = (40_000, 100_000) if quick else (4_000_000, 10_000_000)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(invented(n_concepts, n_texts).save(Path(scratch) / "terminology"))
        for name in SAMPLERS:
            seconds = {}
            for first_batch in (False, True):
                make = prepare(folder, name, first_batch)
                start = time.perf_counter()
                make()
                seconds[first_batch] = time.perf_counter() - start
            memory = [peak_memory(prepare, folder, name, first_batch) for first_batch in (False, True)]
            rows.append(
                [
                    name,
                    f"{seconds[False]:.1f} s",
                    f"{memory[0]:,.0f} MB",
                    f"{seconds[True]:.1f} s",
                    f"{memory[1]:,.0f} MB",
                ]
            )
    return Table(
        "Samplers over a large terminology",
        ["sampler", "to make it", "memory", "to its first batch", "memory"],
        rows,
        notes=[
            f"{n_concepts:,} concepts, {n_texts:,} names, batches of {BATCH_SIZE}; invented. Time and rise of the peak "
            "resident memory from a loaded terminology on, the dataset included. Goal for making one: 10 s and 1 GB."
        ],
    )
