"""Sequences of text with all their mentions, one row for each sequence, for training knowledge injection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from st_biomed.corpus.blocks import Block, CountsTokens, in_order
from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.found_rows import Found, dataset, ragged
from st_biomed.corpus.matching import NOTHING, TermMatcher
from st_biomed.corpus.mentions import MentionContexts
from st_biomed.corpus.raw_text import Document
from st_biomed.errors import InputError

MOST_MENTIONS = 119
"""Maximum number of mentions: "each sequence contains at least 1 and at most 119 mentions" (Amore Bondarenko et al.
2022, section 4)."""

_SCHEMA = pa.schema(
    {
        "text": pa.string(),
        "starts": pa.list_(pa.int32()),
        "ends": pa.list_(pa.int32()),
        "texts": pa.list_(pa.int64()),
        "document": pa.string(),
        "start": pa.int64(),
    }
)


def mention_windows(
    matcher: TermMatcher | None,
    documents: Iterable[Document],
    *,
    tokens: int = 128,
    tokenizer: CountsTokens | None = None,
    most_mentions: int = MOST_MENTIONS,
    without_mentions: bool = False,
    processes: int = 1,
    file: Path | None = None,
) -> MentionContexts:
    """Cut documents into sequences of whole words, and list the mentions of each.

    Sequences are consecutive and do not overlap. A sequence ends before a mention that would cross its end, and before
    it has too many mentions; a mention that is longer than a sequence is dropped and counted.

    Args:
        matcher: Finds the mentions; ``None`` for sequences of plain text.
        tokens: Maximum number of tokens of a sequence; a longer word is a separate sequence.
        tokenizer: Counts the pieces of words; by default a word is a token.
        most_mentions: Maximum number of mentions of a sequence.
        without_mentions: Whether sequences without a mention are kept, for masked-language training.
        file: The file for the rows; by default they stay in memory.

    Returns:
        Rows in the order of the text: ``text`` (an unchanged part of the document, without markers), ``starts`` and
        ``ends`` (of each mention, characters of ``text``, half open), ``texts`` (their text ids), ``document`` and
        ``start`` (the position of the text in it); and the coverage.

    Raises:
        InputError: An argument out of range, or an error of reading the documents.
    """
    for name, value in (("tokens", tokens), ("most_mentions", most_mentions)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, found {value}")
    if matcher is None and not without_mentions:
        raise InputError(
            "mention_windows needs a matcher, or without_mentions=True to keep sequences without mentions"
        )
    coverage = Coverage()
    counts = np.zeros(0 if matcher is None else matcher.n_forms, dtype=np.int64)
    work = _Windows(matcher, tokens, tokenizer, most_mentions, without_mentions)

    def tables() -> Iterator[pa.Table]:
        for block_rows in in_order(work, documents, processes):
            block_rows.add_to(coverage, counts)
            yield block_rows.table

    made = dataset(tables(), _SCHEMA, "" if matcher is None else matcher.digest, file)
    if matcher is not None:
        coverage.of_terms(matcher, counts)
    coverage.rows = len(made)
    return MentionContexts(made, coverage)


@dataclass
class _Windows:
    """Sequences of a block."""

    matcher: TermMatcher | None
    tokens: int
    tokenizer: CountsTokens | None
    most_mentions: int
    without_mentions: bool

    def __call__(self, block: Block) -> Found:
        starts, ends, forms = NOTHING if self.matcher is None else self.matcher.find(block.text)
        word_starts, word_ends = block.words
        first = np.searchsorted(word_starts, starts, side="right") - 1
        after = np.searchsorted(word_ends, ends, side="left") + 1
        counts = block.token_counts(self.tokenizer)
        fits = counts[after] - counts[first] <= self.tokens
        starts, ends, kept_forms = starts[fits], ends[fits], forms[fits]
        rows = list(self._cut(block.word_bounds(), counts, first[fits], after[fits]))
        if not self.without_mentions:
            rows = [row for row in rows if row[2] < row[3]]
        low, high, begin, end = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        document = block.document_of(word_starts[low])
        offset = np.array([piece.offset for piece in block.documents])[document] - block.bounds[document]
        per_row = end - begin
        dropped = {
            "longer than a sequence": int((~fits).sum()),
            "too many in a sequence of one word": len(kept_forms) - int(per_row.sum()),
        }
        origin = np.repeat(word_starts[low], per_row)
        inside = np.repeat(begin - np.cumsum(per_row) + per_row, per_row) + np.arange(per_row.sum())
        columns = [
            pa.array(
                [block.text[a:b] for a, b in zip(word_starts[low].tolist(), word_ends[high - 1].tolist())], pa.string()
            ),
            ragged(starts[inside] - origin, per_row, pa.int32()),
            ragged(ends[inside] - origin, per_row, pa.int32()),
            ragged(
                kept_forms[inside] if self.matcher is None else self.matcher.labels[kept_forms[inside]],
                per_row,
                pa.int64(),
            ),
            pa.array([block.documents[i].name for i in document.tolist()], pa.string()),
            pa.array(word_starts[low] + offset, pa.int64()),
        ]
        return Found.of(block, pa.Table.from_arrays(columns, schema=_SCHEMA), forms, dropped)

    def _cut(
        self, bounds: np.ndarray, counts: np.ndarray, first: np.ndarray, after: np.ndarray
    ) -> Iterator[tuple[int, int, int, int]]:
        """First word, word after the last, first mention and mention after the last of each sequence.

        Args:
            bounds: First word of each document, ``[documents + 1]``.
            counts: Tokens before each word, ``[W + 1]``.
            first, after: First word of each mention and word after its last, ``[M]``.
        """
        begin = 0
        first_words, after_words = first.tolist(), after.tolist()
        for low, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            while low < stop:
                high = int(np.searchsorted(counts, counts[low] + self.tokens, side="right")) - 1
                high = min(max(high, low + 1), stop)
                end = begin
                while end < len(first_words) and first_words[end] < high:
                    if after_words[end] > high or end - begin == self.most_mentions:
                        high = max(first_words[end], low + 1)
                        break
                    end += 1
                while end > begin and after_words[end - 1] > high:
                    end -= 1
                    high = max(first_words[end], low + 1)
                yield low, high, begin, end
                while end < len(first_words) and first_words[end] < high:
                    end += 1
                low, begin = high, end
