"""Mentions of a terminology's terms with their contexts: one row for each mention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.corpus.blocks import MARKERS, Block, CountsTokens, in_order
from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.found_rows import Found, dataset, ragged
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mention_limits import Caps
from st_biomed.corpus.raw_text import Document
from st_biomed.csr import CSR
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

WINDOW = 32
"""Tokens of a context: "We then extract contexts in a fixed 32-token window around each mention" (Amore Bondarenko et al.
2022, section 3.1)."""

_SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "label": pa.int64(),
        "start": pa.int64(),
        "end": pa.int64(),
        "concepts": pa.list_(pa.int32()),
        "document": pa.string(),
    }
)
_RANKED = _SCHEMA.append(pa.field("rank", pa.uint64())).append(pa.field("form", pa.int64()))
_WITH_MENTIONS = _RANKED.append(pa.field("mention", pa.string()))
_PRUNED_AT = 200_000  # number of new rows after which the caps are applied again
_PART = 1 << 17  # rows of a part: texts of up to 16 kB stay below the 2 GiB of an array of strings


class MentionContexts(NamedTuple):
    """Mentions in context.

    Attributes:
        dataset: Columns ``text`` (the context, the mention between ``MARKERS``), ``label`` (text id of the term),
            ``start`` and ``end`` (the mention in its document, in characters, half open), ``concepts`` (indices of all
            concepts it may mean) and ``document``; in the order of the text. For training select ``text`` and
            ``label``, the columns of :data:`st_biomed.training_data.columns.NAMES`.
    """

    dataset: Dataset
    coverage: Coverage


def mention_contexts(
    matcher: TermMatcher,
    documents: Iterable[Document],
    *,
    window: int = WINDOW,
    tokenizer: CountsTokens | None = None,
    caps: Caps | None = None,
    processes: int = 1,
    file: Path | None = None,
) -> MentionContexts:
    """Extract the context of every mention.

    The window has equally many tokens on both sides of the mention; if the document ends on one side, there are more
    on the other. A mention that is longer than the window is its own context. The context has only whole words, and
    spaces and line ends become one space. The rows and their order do not depend on the number of processes.

    Args:
        documents: Documents, e.g. of :func:`~st_biomed.corpus.raw_text.documents`.
        window: Tokens of a context, including the mention but not the markers.
        tokenizer: Counts the pieces of words; by default a word is a token.
        caps: Maximum number of contexts of a term and a concept; all by default.
        file: The file to which the rows are written; by default they stay in memory. With a cap only rows
            that it may keep are in memory.

    Raises:
        InputError: An argument out of range, or an error of reading the documents.
    """
    coverage = Coverage()
    work = _Contexts(matcher, window, tokenizer, caps or Caps())
    rows = _rows(work, documents, coverage, processes)
    made = dataset((table.select(_SCHEMA.names) for table in rows), _SCHEMA, matcher.digest, file)
    return MentionContexts(made, coverage)


def mention_tables(
    matcher: TermMatcher,
    documents: Iterable[Document],
    coverage: Coverage,
    *,
    window: int = WINDOW,
    tokenizer: CountsTokens | None = None,
    caps: Caps | None = None,
    processes: int = 1,
) -> Iterator[pa.Table]:
    """The rows of :func:`mention_contexts` in parts, with the mention itself; no part is kept.

    Args:
        documents: As there, and so are the other arguments.
        coverage: A new one, in which the text and its mentions are counted; it is complete after the last part.

    Returns:
        Tables with the columns of the dataset and ``mention``, the characters from ``start`` to ``end`` as they stand
        in the document.

    Raises:
        InputError: As there; an error of reading comes with the part.
    """
    work = _Contexts(matcher, window, tokenizer, caps or Caps(), with_mentions=True)
    columns = [*_SCHEMA.names, "mention"]
    return (table.select(columns) for table in _rows(work, documents, coverage, processes))


def _rows(work: _Contexts, documents: Iterable[Document], coverage: Coverage, processes: int) -> Iterator[pa.Table]:
    """The rows within the caps, in order; the coverage is complete after the last."""
    counts = np.zeros(work.matcher.n_forms, dtype=np.int64)

    def tables() -> Iterator[pa.Table]:
        for block_rows in in_order(work, documents, processes):
            block_rows.add_to(coverage, counts)
            yield block_rows.table

    for table in tables() if work.caps.unlimited else _capped(tables(), work.caps, work.schema):
        coverage.rows += len(table)
        yield table
    coverage.of_terms(work.matcher, counts)
    coverage.drop("beyond the caps", coverage.mentions - coverage.rows)


@dataclass
class _Contexts:
    """Contexts of the mentions in a block."""

    matcher: TermMatcher
    window: int
    tokenizer: CountsTokens | None
    caps: Caps
    with_mentions: bool = False

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError(f"window must be at least 1 token, found {self.window}")

    @property
    def schema(self) -> pa.Schema:
        return _WITH_MENTIONS if self.with_mentions else _RANKED

    def __call__(self, block: Block) -> Found:
        starts, ends, forms = self.matcher.find(block.text)
        document = block.document_of(starts)
        labels = self.matcher.labels[forms]
        ranks = self.caps.ranks(block.number + document, starts - block.bounds[document])
        kept = self.caps.within_terms(labels, ranks)
        starts, ends, document = starts[kept], ends[kept], document[kept]
        concepts = self.matcher.concepts.take(forms[kept])[1]
        offset = np.array([piece.offset for piece in block.documents])[document] - block.bounds[document]
        columns = [
            pa.array(marked_texts(block, starts, ends, document, self.window, self.tokenizer), pa.string()),
            pa.array(labels[kept], pa.int64()),
            pa.array(starts + offset, pa.int64()),
            pa.array(ends + offset, pa.int64()),
            ragged(concepts, self.matcher.concepts.counts[forms[kept]], pa.int32()),
            pa.array([block.documents[i].name for i in document.tolist()], pa.string()),
            pa.array(ranks[kept], pa.uint64()),
            pa.array(forms[kept], pa.int64()),
        ]
        if self.with_mentions:
            columns.append(pa.array(_mentions(block, starts, ends, document), pa.string()))
        return Found.of(block, pa.Table.from_arrays(columns, schema=self.schema), forms)


def _mentions(block: Block, starts: np.ndarray, ends: np.ndarray, document: np.ndarray) -> list[str]:
    """The mentions in the texts themselves, where no marker is escaped; arguments as in :func:`around`."""
    origin = block.bounds[document]
    places = zip(document.tolist(), (starts - origin).tolist(), (ends - origin).tolist())
    return [block.documents[i].text[start:end] for i, start, end in places]


def marked_texts(
    block: Block,
    starts: np.ndarray,
    ends: np.ndarray,
    document: np.ndarray,
    window: int,
    tokenizer: CountsTokens | None,
) -> list[str]:
    """The window around each mention as text, the mention between markers; arguments as in :func:`around`."""
    first, last = around(block, starts, ends, document, window, tokenizer)
    word_starts, word_ends = block.words
    text, (begin, end) = block.text, MARKERS
    return [
        " ".join((*text[lo:start].split(), begin, *text[start:stop].split(), end, *text[stop:hi].split()))
        for lo, start, stop, hi in zip(
            word_starts[first].tolist(), starts.tolist(), ends.tolist(), word_ends[last].tolist()
        )
    ]


def around(
    block: Block,
    starts: np.ndarray,
    ends: np.ndarray,
    document: np.ndarray,
    window: int,
    tokenizer: CountsTokens | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last word of the window around each mention.

    Args:
        starts, ends: The mentions, int64 ``[M]``.
        document: The document of each, counted in the block, int64 ``[M]``.
        window: Tokens of a window.
        tokenizer: Counts the pieces of words; with ``None`` a word is a token.
    """
    counts = block.token_counts(tokenizer)
    bounds = block.word_bounds()
    low, high = bounds[document], bounds[document + 1]
    first = np.searchsorted(block.words[0], starts, side="right") - 1
    after = np.searchsorted(block.words[1], ends, side="left") + 1
    free = np.maximum(window - (counts[after] - counts[first]), 0)
    left = np.maximum(np.searchsorted(counts, counts[first] - free // 2), low)
    free_right = free - (counts[first] - counts[left])
    right = np.minimum(np.searchsorted(counts, counts[after] + free_right, side="right") - 1, high)
    free_left = free - (counts[right] - counts[after])
    left = np.maximum(np.searchsorted(counts, counts[first] - free_left), low)
    return np.minimum(left, first), np.maximum(right, after) - 1


def _capped(tables: Iterable[pa.Table], caps: Caps, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows within the caps, in order. Only the kept rows and a limited number of new ones are in memory."""
    large = pa.schema([field.with_type(pa.large_string()) if field.type == pa.string() else field for field in schema])
    held = [large.empty_table()]
    n_held = n_kept = 0
    for table in tables:
        held.append(table.cast(large))
        n_held += len(table)
        if n_held > n_kept + max(_PRUNED_AT, n_kept):
            held = [_not_ruled_out(pa.concat_tables(held), caps)]
            n_held = n_kept = len(held[0])
    rows = _not_ruled_out(pa.concat_tables(held), caps).combine_chunks()
    concepts = rows["concepts"].combine_chunks()
    lists = CSR(concepts.offsets.to_numpy().astype(np.int64), concepts.values.to_numpy())
    kept = caps.within_concepts(lists, rows["rank"].to_numpy())
    for start in range(0, max(len(kept), 1), _PART):
        yield rows.take(pa.array(kept[start : start + _PART])).cast(schema)


def _not_ruled_out(rows: pa.Table, caps: Caps) -> pa.Table:
    return rows.take(pa.array(caps.not_ruled_out(*(rows[name].to_numpy() for name in ("label", "form", "rank")))))
