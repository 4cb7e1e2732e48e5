"""Signs of life of what takes long, where no progress bar can be shown: a line now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FIRST = 30.0
"""Seconds until the first line: what is done by then says nothing."""

_GROWTH = 1.1  # of the time that has passed, from one line to the next where that is more than ``every`` seconds


class Progress:
    """Says every half minute what is done and for how long, and of what takes hours every tenth of the time that has passed.

    Args:
        say: Takes a line; ``None`` says nothing at all.
        every: Seconds between two lines at least.
    """

    def __init__(self, say: Callable[[str], None] | None = None, *, every: float = FIRST) -> None:
        self._say, self._every = say, every
        self._embedded = 0

    @contextmanager
    def of(self, what: str, encoder: SentenceTransformer | None = None, most: int | None = None) -> Iterator[None]:
        """Lines about what is done inside, from a thread of their own.

        Args:
            what: What is done.
            encoder: Whose embedded texts are counted.
            most: How many there are at most; those that are known from earlier need not be embedded.
        """
        if self._say is None:
            yield
            return
        self._embedded = 0
        done, started = threading.Event(), time.monotonic()
        counted = None if encoder is None else encoder[-1].register_forward_hook(self._count)
        thread = threading.Thread(target=self._tell, args=(what, most, started, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            if counted is not None:
                counted.remove()

    def _count(self, module: Any, arguments: Any, found: Any) -> None:
        """A hook behind the last module of an encoder: one call for each batch."""
        self._embedded += len(found.get("sentence_embedding", ()))

    def _tell(self, what: str, most: int | None, started: float, done: threading.Event) -> None:
        for after in moments(self._every):
            if done.wait(started + after - time.monotonic()):
                return
            texts = f", {self._embedded:,} texts embedded" if self._embedded else ""
            if texts and most is not None:
                texts = f", {self._embedded:,} of at most {most:,} texts embedded"
            assert self._say is not None
            self._say(f"{what}: {after:,.0f} s{texts}")


def moments(every: float) -> Iterator[float]:
    """When a line is due, in seconds: ``every`` so many at first, then a tenth after the time that has passed."""
    after = every
    while True:
        yield after
        after = max(after + every, after * _GROWTH)
