"""The rows of WHO's tabulations: tabs, some quoted cells, and notes that hold line feeds without quotes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.encodings import UTF_8, undecodable
from st_biomed.files.gzipped import open_decompressed

_VERSION = re.compile(r"version:\s*(.*?)(?:\s+-\s.*)?", re.IGNORECASE)


class Tabulation:
    """A tabulation, which is read once.

    Attributes:
        version: The date in the header, e.g. ``"2026 Jan 17"``; empty before the first row.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.version = path, ""
        self._line = self._done = 0  # lines that were read, and those of finished rows

    def rows(self, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Line, and the stripped cells of some columns by name.

        The last cell of the header, ``Version:...``, has no column below it. Optional columns that are not in the
        header are empty.

        Raises:
            InputError: With file and line: a missing column, a row of another length, a stray quote. Also: another
                encoding than UTF-8.
        """
        with open_decompressed(self.path) as (stream, _):
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
            try:
                yield from self._table(csv.reader(self._records(text), delimiter="\t", strict=True), needed, optional)
            except csv.Error as error:
                # An unclosed quote is detected at the end of the file: name the line at which its row begins.
                raise InputError(f"{self.path}:{self._done + 1}: {error} (a stray double quote?)") from error
            except UnicodeError as error:
                raise undecodable(self.path, UTF_8) from error

    def _records(self, stream: io.TextIOWrapper) -> Iterator[str]:
        """Lines; in a file whose header ends with CRLF, a line feed alone is no line end and becomes a space."""
        whole, pieces = "\n", list[str]()
        for line in stream:
            self._line += 1
            if "\0" in line:
                raise InputError(f"{self.path}:{self._line}: contains a NUL character; the file is damaged")
            if self._line == 1 and line.endswith("\r\n"):
                whole = "\r\n"
            pieces.append(line)
            if line.endswith(whole):
                yield _joined(pieces)
                pieces = []
        if pieces:
            yield _joined(pieces)

    def _table(
        self, rows: Iterator[list[str]], needed: Sequence[str], optional: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, str]]]:
        header = [name.strip().lstrip("\ufeff").lower() for name in next(rows, [])]
        stamped = bool(header) and _VERSION.fullmatch(header[-1])
        if stamped:
            self.version = stamped[1].title()
            header.pop()
        for name in needed:
            if header.count(name.lower()) != 1:
                raise InputError(
                    f"{self.path}:1: {header.count(name.lower())} columns are called {name!r}, found {header}"
                )
        wanted = {name: header.index(name.lower()) for name in (*needed, *optional) if name.lower() in header}
        self._done = self._line
        for row in rows:
            self._done = self._line
            if not row:
                continue
            if len(row) == len(header) + 1 and stamped and not row[-1].strip():
                row.pop()
            if len(row) != len(header):
                raise InputError(f"{self.path}:{self._line}: {len(row)} cells, expected {len(header)}, split at tabs")
            cells = {name: " ".join(row[place].split()) for name, place in wanted.items()}
            yield self._line, {**dict.fromkeys(optional, ""), **cells}


def _joined(pieces: list[str]) -> str:
    """A record from its pieces, which end with line feeds."""
    return " ".join([*(piece.removesuffix("\n") for piece in pieces[:-1]), pieces[-1]])
