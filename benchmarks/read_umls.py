"""From a META folder to training data: this package, and the way of SapBERT's published notebook."""

from __future__ import annotations

import gzip
import itertools
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.harness import Table, resident
from benchmarks.synthetic_umls import write_meta

OPTIONS = {"preset": "sapbert"}
"""English names of all sources, suppressed ones too, in lower case, and trade names."""


def ours(folder: str) -> str:
    """Read and save: names, parents, relations, types, merged concepts."""
    from st_biomed.terminology import Terminology

    saved = Terminology.read("umls", folder, **OPTIONS).save(Path(folder, "saved"))
    return f"{Terminology.load(saved)!r}"


def ours_packed(folder: str) -> str:
    """The same from gzipped files, the two large ones in two pieces each."""
    return ours(str(Path(folder, "packed")))


def pack(folder: Path) -> None:
    """Gzip every file of a META folder into ``packed``, cut as the release's large files are."""
    (folder / "packed").mkdir()
    for path in sorted(folder.glob("*.RRF")):
        pieces = ("aa.gz", "ab.gz") if path.stem in ("MRCONSO", "MRREL") else ("gz",)
        with path.open("rb") as lines:
            for n, piece in enumerate(pieces, 1):
                end = path.stat().st_size * n // len(pieces)
                with gzip.open(folder / "packed" / f"{path.name}.{piece}", "wb", compresslevel=1) as packed:
                    while (left := end - lines.tell()) > 0:
                        packed.write(lines.read(min(left, 1 << 24)))


def epoch(folder: str) -> str:
    """Draw an epoch of pairs, at most fifty a concept, in batches of 512 names."""
    from st_biomed.samplers import SynonymBatchSampler
    from st_biomed.terminology import Terminology
    from st_biomed.training_data import names_dataset

    terminology = Terminology.load(Path(folder, "saved"))
    sampler = SynonymBatchSampler(names_dataset(terminology), 512, terminology=terminology)
    names = sum(len(batch) for batch in sampler)
    return f"{names // 2:,} pairs"


def notebook(folder: str) -> str:
    """All lines of MRCONSO and MRREL in memory, English names in lower case, trade names, then a file of all pairs."""
    concepts: dict[str, set[str]] = {}
    for line in Path(folder, "MRCONSO.RRF").read_text("utf-8").splitlines():
        cells = line.split("|")
        if cells[1] == "ENG":
            concepts.setdefault(cells[0], set()).add(cells[14].lower())
    for line in Path(folder, "MRREL.RRF").read_text("utf-8").splitlines():
        if "tradename" in line:
            cells = line.split("|")
            if cells[0] in concepts and cells[4] in concepts:
                concepts[cells[0]] |= concepts[cells[4]]
    rng, lines = random.Random(0), []
    for concept, names in concepts.items():
        pairs = list(itertools.combinations(sorted(names), 2))
        for first, second in rng.sample(pairs, 50) if len(pairs) > 50 else pairs:
            lines.append(f"{concept}||{first}||{second}")
    Path(folder, "pairs.txt").write_text("\n".join(lines), "utf-8")
    return f"{len(lines):,} pairs"


def measured(run: Callable[[str], str], folder: str) -> tuple[str, float, float]:
    """What it gives, seconds, and peak memory (GB) of a fresh process that does nothing else."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, run, folder).result()


def _measure(run: Callable[[str], str], folder: str) -> tuple[str, float, float]:
    start = time.perf_counter()
    result = run(folder)
    return result, time.perf_counter() - start, resident("VmHWM") / 1e9


def main(quick: bool = False) -> Table:
    names, relations = (50_000, 50_000) if quick else (17_000_000, 20_000_000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_meta(Path(folder), names, relations)
        pack(Path(folder))
        for what, run in (
            ("read and saved", ours),
            ("the same, gzipped and in pieces", ours_packed),
            ("an epoch of pairs, drawn from what was saved", epoch),
            ("the notebook's way: names, trade names, a file of pairs", notebook),
        ):
            result, seconds, memory = measured(run, folder)
            rows.append([what, f"{seconds:.1f} s", f"{memory:.1f} GB", result])
    return Table(
        "A META folder to training data",
        ["what", "time", "memory", "result"],
        rows,
        notes=[
            f"A synthetic META folder of {names:,} rows of MRCONSO and {relations:,} of MRREL "
            "(`benchmarks/synthetic_umls.py`), plain files but where gzip is said, each step in a fresh process from its import on. Ours keeps "
            "parents, relations, semantic types and merged concepts besides the names, and draws new pairs every epoch; "
            "the notebook's way is a restatement of it, with names and trade names alone and pairs drawn once.",
        ],
        peers=["pyarrow"],
    )
