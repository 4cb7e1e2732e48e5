"""Linking speed: the chosen index against exact search over a million names, and encoding against ``encode``.

In full, on an idle machine (about 350,000 names are encoded once and kept under ``out/linking_speed``)::

    ST_BIOMED_DATA=DATA OMP_NUM_THREADS=1 python -m benchmarks linking_speed

With fewer names, printed and not written: ``python -m benchmarks.linking_speed --names 20000 --padded 50000``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.harness import Table, interleaved, peak_memory
from st_biomed.encoder import PACKAGED, computes_bf16, load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.linking import Catalog, EncodingOptions, NameEncoder
from st_biomed.linking.encode_names import encode_names
from st_biomed.linking.recall import TIED, tune_effort
from st_biomed.linking.vector_index import Kind, VectorIndex, faiss_threads, kinds_for, rows_for_search
from st_biomed.terminology import Terminology

CACHE = Path("out/linking_speed")
_READERS = {".obo.gz": "obo", ".json.gz": "obograph", "drugbank_vocabulary.csv.gz": "drugbank"}
_TARGET = 0.99


def main(quick: bool = False, *, names: int | None = None, padded: int | None = None) -> Table:
    """Both measurements.

    Args:
        quick: 3,000 names padded to 6,000.
        names: Most real names; all by default.
        padded: Rows to search; a million by default.
    """
    names, padded = (3_000, 6_000) if quick else (names, padded or 1_000_000)
    strings = open_names(names)
    model = load_encoder(PACKAGED, device="cpu")
    encoding = encoding_rows(model, strings, sample=256 if quick else 2_048, repeats=1 if quick else 5)
    matrix, queries = split(encoded(model, strings), n_queries=min(12_000, len(strings) // 4))
    path = pad(matrix, padded)
    with faiss_threads(torch.get_num_threads()):
        searching = search_rows(path, queries)
    return Table(
        "Linking speed",
        ["what", "way", "a second", "against the baseline", "recall@1", "to build it", "memory to build it"],
        [*encoding, *searching],
        notes=[
            f"Encoding: {'; '.join(row[1] for row in encoding)}; all-MiniLM-L6-v2, names of open terminologies, "
            "medians of interleaved rounds.",
            f"Searching: {padded:,} vectors of 384 dimensions, {min(len(matrix), padded):,} of them real names and the "
            "rest two of these put together, one and half of another, as in a name of two disorders; queries are "
            f"{len(queries) - len(queries) // 6:,} other real names. The index was set to recall@1 of {_TARGET} on "
            f"{len(queries) // 6:,} more. Goal: 20 times as fast as exact search.",
        ],
        peers=["sentence-transformers", "faiss-cpu"],
    )


def open_names(limit: int | None) -> list[str]:
    """Distinct names of the open terminologies of ``ST_BIOMED_DATA`` and of ICD-10-CM, in a fixed random order."""
    terminologies = [Terminology.read("icd10cm")]
    folder = os.environ.get("ST_BIOMED_DATA")
    for path in sorted(Path(folder, "ontologies").iterdir()) if folder else ():
        reader = next((reader for end, reader in _READERS.items() if path.name.endswith(end)), None)
        if reader is not None:
            terminologies.append(Terminology.read(reader, path))
    strings = Terminology.merge(*terminologies).strings
    order = np.random.default_rng(0).permutation(len(strings))[:limit]
    return [strings[i] for i in order]


def encoding_rows(model: SentenceTransformer, strings: list[str], sample: int, repeats: int) -> list[list[str]]:
    """Names per second of ``encode`` with its defaults and of the index's encoder."""
    texts = strings[:sample]
    ways: dict[str, Callable[[], object]] = {
        "SentenceTransformer.encode, its defaults": lambda: model.encode(texts, show_progress_bar=False),
        "NameEncoder, float32": lambda: NameEncoder(model, bf16=False).encode(texts, task="document"),
    }
    if computes_bf16():
        ways["NameEncoder, bf16 autocast"] = lambda: NameEncoder(model, bf16=True).encode(texts, task="document")
    times = interleaved(ways, repeats)
    baseline = times["SentenceTransformer.encode, its defaults"]
    return [
        ["encoding", way, f"{sample / time.median:,.0f}", f"{time.times_faster_than(baseline):.2f}x", "", "", ""]
        for way, time in times.items()
    ]


def encoded(model: SentenceTransformer, strings: list[str]) -> np.ndarray:
    """Their vectors, encoded once: a later run, or one after a kill, goes on with what is there."""
    from st_biomed.csr import CSR

    n = len(strings)
    one_each = CSR(np.arange(n + 1), np.arange(n, dtype=np.int32))
    catalog = Catalog(pa.array(strings), one_each, [str(i) for i in range(n)], strings, None)
    folder = CACHE / catalog.digest[:12]
    folder.mkdir(parents=True, exist_ok=True)
    encoder = NameEncoder(model)
    return encode_names(folder, catalog, encoder, model_digest(model), "cosine", EncodingOptions())


def split(vectors: np.ndarray, n_queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Names to search, and names held out of them as queries."""
    return vectors[n_queries:], np.array(vectors[:n_queries])


def pad(matrix: np.ndarray, n: int) -> str:
    """A file of ``n`` vectors: real ones, and sums of one and half of another, drawn by a fixed generator.

    They lie where names lie. Vectors moved by noise that is alike in all 384 directions do not, and no index that
    learns from its rows, or walks between them, is much faster than exact search among those.
    """
    path = CACHE / f"padded_{len(matrix)}_{n}.npy"
    rng = np.random.default_rng(1)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, matrix.shape[1]))
    real = min(n, len(matrix))
    out[:real] = matrix[:real]
    for start in range(real, n, 1 << 14):
        rows = min(1 << 14, n - start)
        first, second = rng.integers(0, len(matrix), (2, rows))
        out[start : start + rows] = rows_for_search(matrix[first] + matrix[second] / 2, "cosine")
    out.flush()
    return str(path)


def search_rows(path: str, queries: np.ndarray) -> list[list[str]]:
    """Queries per second, recall, and what it takes to build: exact search, the kind chosen by size, and the other."""
    matrix = np.load(path, mmap_mode="r")
    tuning, measured = queries[: len(queries) // 6], queries[len(queries) // 6 :]
    exact = VectorIndex(np.array(matrix), "exact", "cosine")
    start = time.perf_counter()
    best, _ = exact.search(measured, 1)
    baseline = len(measured) / (time.perf_counter() - start)
    rows = [["searching", "exact", f"{baseline:,.0f}", "1.00x", "1", "", ""]]
    chosen = kinds_for(*matrix.shape)[0]
    kinds: tuple[Kind, ...] = ("hnsw", "ivfpq")
    for kind in kinds:
        start = time.perf_counter()
        index = VectorIndex.build(matrix, kind, "cosine")
        seconds = time.perf_counter() - start
        tune_effort(index, tuning, _TARGET)
        start = time.perf_counter()
        scores, _ = index.search(measured, 1)
        speed = len(measured) / (time.perf_counter() - start)
        reached = (scores[:, 0] >= best[:, 0] - TIED).mean()
        way = f"{kind}{' (tried first)' if kind == chosen else ''}, effort {index.effort}, depth {index.depth}"
        memory = f"{peak_memory(prepare_build, path, kind):,.0f} MB"
        rows.append(
            [
                "searching",
                way,
                f"{speed:,.0f}",
                f"{speed / baseline:.1f}x",
                f"{reached:.4f}",
                f"{seconds:.0f} s",
                memory,
            ]
        )
    return rows


def prepare_build(path: str, kind: Kind) -> Callable[[], object]:
    """For :func:`benchmarks.harness.peak_memory`: pages of the matrix that the system maps in count as memory."""
    matrix = np.load(path, mmap_mode="r")
    return lambda: VectorIndex.build(matrix, kind, "cosine")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linking_speed", description=__doc__)
    parser.add_argument("--names", type=int, help="most real names; all by default")
    parser.add_argument("--padded", type=int, help="vectors to search; a million by default")
    arguments = parser.parse_args()
    print(main(names=arguments.names, padded=arguments.padded).markdown())
