"""Converts rows of mentions to a dataset, in memory or in a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.arrow_strings import combine_string_chunks
from st_biomed.corpus.blocks import Block
from st_biomed.corpus.coverage import Coverage

if TYPE_CHECKING:
    from datasets import Dataset


class Found(NamedTuple):
    """The result of one block.

    Attributes:
        counts: Mentions of each form in the block: forms and counts, int64 ``[N]`` each.
        dropped: Mentions without a row, by reason.
    """

    table: pa.Table
    counts: tuple[np.ndarray, np.ndarray]
    documents: int
    words: int
    markers: int
    dropped: dict[str, int]

    @classmethod
    def of(cls, block: Block, table: pa.Table, forms: np.ndarray, dropped: dict[str, int] | None = None) -> Found:
        """The rows of a block, and its counts.

        Args:
            forms: The form of every mention in it, int64 ``[M]``.
            dropped: Mentions without a row, by reason.
        """
        counts = np.unique(forms, return_counts=True)
        return cls(table, counts, len(block.documents), len(block.words[0]), block.n_markers, dropped or {})

    def add_to(self, coverage: Coverage, counts: np.ndarray) -> None:
        """Add the counts of the block to the total."""
        counts[self.counts[0]] += self.counts[1]
        coverage.documents += self.documents
        coverage.words += self.words
        coverage.escaped_markers += self.markers
        for reason, n in self.dropped.items():
            coverage.drop(reason, n)


def ragged(values: np.ndarray, counts: np.ndarray, kind: Any) -> pa.ListArray:
    """Consecutive values as lists of these lengths."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values, kind))


def dataset(tables: Iterable[pa.Table], schema: pa.Schema, digest: str, file: Path | None) -> Dataset:
    """Concatenate tables to a dataset; the labels come from a terminology.

    Args:
        tables: The rows.
        schema: Their columns.
        digest: Digest of the terminology; empty for none.
        file: The file for the rows, so that none stays in memory; with ``None`` they stay in memory, more than 2 GiB of text as
            large strings.
    """
    from datasets import Dataset, DatasetInfo  # not at the top: the processes that find mentions do not need it

    info = DatasetInfo(description=f"terminology:{digest}" if digest else "")
    if file is None:
        return Dataset(combine_string_chunks(pa.concat_tables([schema.empty_table(), *tables])), info=info)
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for table in tables:
            writer.write_table(table)
    return Dataset.from_file(str(file), info=info)
