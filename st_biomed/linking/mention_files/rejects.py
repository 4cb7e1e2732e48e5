"""What becomes of rows that cannot be read: the first one ends the job, or each is kept aside with its reason."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

from st_biomed.errors import InputError, one_line
from st_biomed.linking.mention_files.lines import is_valid_utf8
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable

_SAID = 10


def stopping(table: MentionTable) -> Iterator[MentionRow]:
    """The rows up to a bad one.

    Raises:
        InputError: The bad one, with file and line.
    """
    for row in table.rows:
        if isinstance(row, BadRow):
            raise InputError(f"{table.name}:{row.line}: {row.reason}")
        yield row


class Rejects:
    """Counts bad rows and writes each as a JSON object.

    It has the fields ``file``, ``line``, ``reason`` and ``row``, the row as it stands in the file. If the row is not
    in the encoding of the file, ``row_base64`` has its bytes instead.

    Args:
        file: Where to write; ``None`` for nowhere.
        say: Prints a line for each of the first ten bad rows, if they are written nowhere.

    Attributes:
        n: Number of bad rows.
    """

    def __init__(self, file: BinaryIO | None, say: Callable[[str], None]) -> None:
        self._file, self._say, self.n = file, say, 0

    def add(self, name: str, row: BadRow) -> None:
        """Add a bad row of a file."""
        self.n += 1
        if self._file is not None:
            record = {"file": name, "line": row.line, "reason": row.reason, **_content(row.content)}
            self._file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        elif self.n <= _SAID:
            self._say(one_line(f"rejected: {name}:{row.line}: {row.reason}"))
        elif self.n == _SAID + 1:
            self._say("rejected: more rows, which --rejects FILE lists")


def rejecting(table: MentionTable, rejects: Rejects) -> Iterator[MentionRow]:
    """The rows without the bad ones."""
    for row in table.rows:
        if isinstance(row, BadRow):
            rejects.add(table.name, row)
        else:
            yield row


def _content(text: str) -> dict[str, str]:
    if is_valid_utf8(text):
        return {"row": text}
    return {"row_base64": base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()}
