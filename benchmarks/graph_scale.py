"""Making the graph of a terminology of the size of UMLS: seconds and memory, beside a loop over rows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, peak_memory
from benchmarks.sampler_scale import invented
from st_biomed.terminology import Terminology
from st_biomed.training_data import ConceptGraph

N_RELATIONS = 100


def invented_graph(n_concepts: int, n_edges: int) -> Terminology:
    """A terminology of which parents and relations together have ``n_edges`` rows, the relations with a long tail."""
    rng = np.random.default_rng(0)
    terminology = invented(n_concepts, n_concepts)
    n_rows = n_edges - terminology.parents.num_rows
    head, tail = (rng.integers(n_concepts, size=n_rows, dtype=np.int32) for _ in range(2))
    kind = (N_RELATIONS * rng.random(n_rows) ** 3).astype(np.int32)
    order = np.argsort(head, kind="stable")
    source = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, dtype=np.int32)), ["INVENTED"])
    names = pa.array([f"relation_{i:03}" for i in range(N_RELATIONS)])
    relations = {
        "head": head[order],
        "relation": pa.DictionaryArray.from_arrays(pa.array(kind), names),
        "tail": tail,
        "source": source,
    }
    return Terminology({**terminology.tables, "relations": pa.table(relations)}, terminology.sources, {})


def prepare(folder: str, inverses: bool) -> Callable[[], ConceptGraph]:
    """Load the terminology; what is returned makes its graph."""
    terminology = Terminology.load(folder)
    pa.default_memory_pool().release_unused()
    return lambda: ConceptGraph(terminology, inverses=inverses)


def row_loop(terminology: Terminology, n_rows: int) -> dict[int, list[tuple[int, str]]]:
    """A node's neighbors from a table of relations, one row after another, as the published code goes through MRREL."""
    adjacency: dict[int, list[tuple[int, str]]] = {}
    seen = set()
    for _, row in terminology.relations.slice(0, n_rows).to_pandas().iterrows():
        edge = (row["head"], row["relation"], row["tail"])
        if edge not in seen:
            seen.add(edge)
            adjacency.setdefault(row["tail"], []).append((row["head"], row["relation"]))
    return adjacency


def main(*, quick: bool = False) -> Table:
    n_concepts, n_edges, n_looped = (40_000, 200_000, 2_000) if quick else (4_000_000, 20_000_000, 200_000)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(invented_graph(n_concepts, n_edges).save(Path(scratch) / "terminology"))
        terminology = Terminology.load(folder)
        n_relations = terminology.relations.num_rows
        start = time.perf_counter()
        row_loop(terminology, n_looped)
        looped = (time.perf_counter() - start) * n_relations / n_looped
        for inverses in (False, True):
            start = time.perf_counter()
            graph = ConceptGraph(terminology, inverses=inverses)
            made = time.perf_counter() - start
            n_found, held = graph.n_edges, sum(a.nbytes for a in (*graph.neighbors, *graph.edge_relations))
            del graph
            risen = peak_memory(prepare, folder, inverses)
            name = "with inverses" if inverses else "as stated, parents both ways"
            rows.append([name, f"{n_found:,}", f"{made:.1f} s", f"{risen:,.0f} MB", f"{held / 1e6:,.0f} MB"])
        rows.append(["loop over the rows of the relations, as stated", f"{n_relations:,}", f"{looped:,.0f} s", "", ""])
    return Table(
        "The graph of a large terminology",
        ["", "edges", "to make it", "rise of the peak", "held"],
        rows,
        notes=[
            f"{n_concepts:,} concepts and {n_edges:,} rows of parents and relations, invented. Time and rise of the peak "
            "resident memory from a loaded terminology on. Goal: 30 s and 4 GB. The loop over rows (pandas' iterrows, as in "
            f"the published preparation of MRREL) was timed on {n_looped:,} rows and is extended in proportion."
        ],
        peers=["numpy", "pandas"],
    )
