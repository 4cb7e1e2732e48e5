"""Blocks of documents, and work on them in several processes with results in the order of the blocks."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from st_biomed.corpus.raw_text import Document
from st_biomed.corpus.tokens import SEPARATOR, code_points, words
from st_biomed.errors import InputError

MARKERS = ("[Ms]", "[Me]")
"""The markers of a mention: "Special tags [Ms] and [Me] are used to identify the beginning and the end of a mention"
(Amore Bondarenko et al. 2022, section 3.1)."""

ESCAPED = ("(Ms)", "(Me)")
"""Replacements of markers in the raw text, so that only mentions are marked. Equal lengths keep the positions."""

_CHARACTERS = 1 << 18  # of a block, whose arrays then fit into a processor's cache
_WAITING = 2  # blocks for each process, finished or waiting

Made = TypeVar("Made")
_work: Callable[[Any], Any] | None = None


class CountsTokens(Protocol):
    """The methods of a tokenizer that are used here."""

    def tokenize(self, text: str, *, verbose: bool = ...) -> list[str]: ...


@dataclass
class Block:
    """Consecutive documents.

    Attributes:
        number: Number of its first document among all documents.
    """

    number: int
    documents: list[Document]

    @cached_property
    def text(self) -> str:
        """The texts, joined by a separator and without markers."""
        text = SEPARATOR.join(document.text for document in self.documents)
        for marker, escaped in zip(MARKERS, ESCAPED):
            text = text.replace(marker, escaped)
        return text

    @property
    def n_markers(self) -> int:
        """Number of markers in the raw texts."""
        return sum(document.text.count(marker) for document in self.documents for marker in MARKERS)

    @cached_property
    def bounds(self) -> np.ndarray:
        """The start of each document, and of one more, int64 ``[documents + 1]``."""
        lengths = [len(document.text) + 1 for document in self.documents]
        return np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])

    def document_of(self, places: np.ndarray) -> np.ndarray:
        """The documents of some characters, counted in the block."""
        return np.searchsorted(self.bounds, places, side="right") - 1

    @cached_property
    def words(self) -> tuple[np.ndarray, np.ndarray]:
        """First character, and character after the last, of each word between spaces, int64 ``[W]`` each."""
        return words(code_points(self.text))

    def word_bounds(self) -> np.ndarray:
        """The first word of each document, and the number of all words, int64 ``[documents + 1]``."""
        return np.searchsorted(self.words[0], self.bounds)

    def token_counts(self, tokenizer: CountsTokens | None) -> np.ndarray:
        """Tokens before each word and before the end, int64 ``[W + 1]``.

        Args:
            tokenizer: Counts the pieces of a word; with ``None`` a word is a token.
        """
        starts, ends = self.words
        if tokenizer is None:
            return np.arange(len(starts) + 1)
        known: dict[str, int] = {}
        counts = np.zeros(len(starts) + 1, dtype=np.int64)
        for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist()), 1):
            word = self.text[start:end]
            if word not in known:
                known[word] = len(tokenizer.tokenize(word, verbose=False))  # without a warning about its length
            counts[i] = known[word]
        return np.cumsum(counts)


def blocks(documents: Iterable[Document]) -> Iterator[Block]:
    """The documents as blocks, in order."""
    number, held, size = 0, [], 0
    for document in documents:
        held.append(document)
        size += len(document.text)
        if size >= _CHARACTERS:
            yield Block(number, held)
            number, held, size = number + len(held), [], 0
    if held:
        yield Block(number, held)


def in_order(work: Callable[[Block], Made], documents: Iterable[Document], processes: int) -> Iterator[Made]:
    """Work on the documents block by block.

    Args:
        work: The function of a block; it is pickled once for each of several processes.
        processes: Number of processes; the results do not depend on it.

    Raises:
        InputError: Fewer than one process.
    """
    if processes < 1:
        raise InputError(f"processes must be at least 1, found {processes}")
    if processes == 1:
        yield from map(work, blocks(documents))
        return
    spawn = multiprocessing.get_context("spawn")
    waiting: deque[Future[Made]] = deque()
    with ProcessPoolExecutor(processes, mp_context=spawn, initializer=_keep, initargs=(work,)) as pool:
        for block in blocks(documents):
            waiting.append(pool.submit(_call, block))
            if len(waiting) >= _WAITING * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _keep(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work


def _call(block: Block) -> Any:
    assert _work is not None
    return _work(block)
