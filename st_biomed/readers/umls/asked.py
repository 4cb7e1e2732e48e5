"""Concepts requested by their identifiers, in a list or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.readers.umls.concepts import History
from st_biomed.readers.umls.folder import N_NUMBERS
from st_biomed.records import Tally
from st_biomed.settings.keyword_options import listed

_IDENTIFIER = re.compile(r"(?:UMLS:)?C(\d{7})", re.ASCII)


class AskedFor:
    """The requested concepts; concepts of earlier releases are replaced by the current ones.

    Attributes:
        wanted: Whether a concept is requested, boolean by number.

    Args:
        concepts: A sequence of identifiers, a string of them separated by commas, or a text file with one on each
            line.
        history: The current concepts of merged ones.

    Raises:
        InputError: No such file; with its line, an invalid identifier; no identifier at all.
    """

    def __init__(self, concepts: str | Path | Sequence[str], history: History) -> None:
        self._numbers: list[int] = []
        for where, code in _identifiers(concepts):
            match = _IDENTIFIER.fullmatch(code)
            if not match:
                raise InputError(f"{where}: {code!r} is not a concept identifier, they look like C0000000")
            self._numbers.append(history.current(int(match[1])))
        if not self._numbers:
            raise InputError(f"concepts of reader 'umls': found no identifier in {str(concepts)!r}")
        self.wanted = np.zeros(N_NUMBERS, dtype=bool)
        self.wanted[self._numbers] = True

    def count(self, present: np.ndarray, known: np.ndarray, tally: Tally) -> None:
        """Count each identifier as a row of the tally: kept if its concept has a kept name.

        Args:
            present: Whether a concept is in MRCONSO, boolean by number.

        Raises:
            InputError: MRCONSO has none of the concepts.
        """
        asked = np.array(self._numbers)
        if not present[asked].any():
            raise InputError(
                f"concepts of reader 'umls': MRCONSO has none of the {len(asked):,} requested concepts, "
                f"the first is C{asked[0]:07d}"
            )
        tally.read(len(asked))
        once = np.unique(asked)
        tally.drop("concepts asked for: listed again", len(asked) - len(once))
        tally.drop("concepts asked for: not in MRCONSO", int((~present[once]).sum()))
        tally.drop("concepts asked for: without a kept name", int((present & ~known)[once].sum()))
        tally.keep(int(known[once].sum()))


def _identifiers(concepts: str | Path | Sequence[str]) -> Iterator[tuple[str, str]]:
    """The entries of a list or of a file's lines, and their location. A string with an identifier in it is a list."""
    option = "concepts of reader 'umls'"
    members = listed(option, concepts) if not isinstance(concepts, Path) else ()
    if not isinstance(concepts, str | Path) or any(map(_IDENTIFIER.fullmatch, members)):
        yield from ((option, member) for member in members)
        return
    if not Path(concepts).exists():
        raise InputError(f"{concepts}: no such file, nor a list of concepts such as C0000000,C0020538")
    for line, text in read_lines(concepts):
        if text.strip():
            yield f"{concepts}:{line}", text.strip()
