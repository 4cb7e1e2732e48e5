"""Progress of slow steps without a progress bar: a line from time to time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FIRST = 30.0
"""Seconds until the first line: steps that end earlier print nothing."""

_GROWTH = 1.1  # factor between the elapsed times of two lines, if they are more than ``every`` seconds apart


class ProgressLines:
    """Prints the current step and its time every half minute; later, after each further tenth of the elapsed time.

    Args:
        say: Function that receives a line; ``None`` for no output.
        every: Minimum number of seconds between two lines.
    """

    def __init__(self, say: Callable[[str], None] | None = None, *, every: float = FIRST) -> None:
        self._say, self._every = say, every
        self._embedded = 0

    @contextmanager
    def of(self, what: str, encoder: SentenceTransformer | None = None, most: int | None = None) -> Iterator[None]:
        """Print lines about a step while it runs, from a separate thread.

        Args:
            what: Description of the step.
            encoder: The encoder whose embedded texts are counted.
            most: Maximum number of texts; stored vectors are not computed again.
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

    def _count(self, module: Any, arguments: Any, output: Any) -> None:
        """A hook after the last module of an encoder, called once for each batch."""
        self._embedded += len(output.get("sentence_embedding", ()))

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
    """The times of the lines: every ``every`` seconds at first, then after another tenth of the elapsed time."""
    after = every
    while True:
        yield after
        after = max(after + every, after * _GROWTH)
