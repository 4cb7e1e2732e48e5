"""What it costs to look at every byte of a saved terminology, beside the time that it takes to load it."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.harness import Table, interleaved
from benchmarks.synthetic_umls import write_meta
from st_biomed.files.sealed import checksum_of
from st_biomed.terminology import Terminology


def hashed(kind: str) -> Callable[[Path], object]:
    """A digest of the standard library."""

    def digest_of(path: Path) -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()

    return digest_of


def crc32(path: Path) -> int:
    """What zip files have."""
    found = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            found = zlib.crc32(block, found)
    return found


WAYS: dict[str, Callable[[Path], object]] = {
    "XXH3, 128 bits (what is done)": checksum_of,
    "CRC-32": crc32,
    "SHA-256": hashed("sha256"),
    "BLAKE2b": hashed("blake2b"),
}


def pages(folder: Path, paged: Path) -> None:
    """Copies of the tables with Parquet's own checksums, which know nothing of the footer."""
    paged.mkdir()
    for path in folder.glob("*.parquet"):
        pq.write_table(pq.read_table(path), paged / path.name, write_page_checksum=True)


def read_pages(paged: Path, **options: Any) -> None:
    for path in sorted(paged.glob("*.parquet")):
        pq.read_table(path, **options)


def main(quick: bool = False) -> Table:
    names, relations = (50_000, 50_000) if quick else (17_000_000, 20_000_000)
    with tempfile.TemporaryDirectory() as scratch:
        meta = write_meta(Path(scratch, "meta"), names, relations)
        terminology = Terminology.read("umls", meta, preset="sapbert")
        folder, paged = terminology.save(Path(scratch, "saved")), Path(scratch, "paged")
        counted = f"{terminology!r}"
        del terminology
        pages(folder, paged)
        tables = sorted(folder.glob("*.parquet"))
        size = sum(path.stat().st_size for path in tables)
        contestants: dict[str, Callable[[], object]] = {"load": lambda: Terminology.load(folder)}
        for name, way in WAYS.items():
            contestants[name] = lambda way=way: [way(path) for path in tables]  # type: ignore[misc]
        contestants["pages"] = lambda: read_pages(paged, page_checksum_verification=True)
        contestants["no pages"] = lambda: read_pages(paged)
        times = interleaved(contestants, repeats=9)
    load = times["load"].median
    rows = [["`Terminology.load`, checksums included", f"{load:.2f} s", "", ""]]
    for name in WAYS:
        seconds = times[name].median
        rows.append([name, f"{seconds:.3f} s", f"{seconds / load:.1%}", f"{size / seconds / 1e9:.1f} GB/s"])
    seconds = max(times["pages"].median - times["no pages"].median, 0.0)
    rows.append(["Parquet's page checksums (CRC-32)", f"{seconds:.3f} s", f"{seconds / load:.1%}", ""])
    return Table(
        "Checksums of a saved terminology",
        ["what", "time", "of loading", "speed"],
        rows,
        notes=[
            f"{counted}, {size / 1e6:,.0f} MB of tables, from a synthetic META folder of {names:,} rows of MRCONSO and "
            f"{relations:,} of MRREL (`benchmarks/synthetic_umls.py`), in the page cache; medians of nine rounds.",
        ],
        peers=["pyarrow", "xxhash"],
    )
