"""One file per source. A file in this folder with ``SOURCE`` and ``records`` is a reader; nothing else registers it; others begin with ``_``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from st_biomed.records import Definition, Parent, Record, Relation, Rows, SourceInfo, Tally, Term, Type, Xref
from st_biomed.settings.keyword_options import parsed
from st_biomed.settings.registry import Registry

__all__ = [
    "Definition",
    "Parent",
    "Reader",
    "Record",
    "Relation",
    "Rows",
    "SourceInfo",
    "Tally",
    "Term",
    "Type",
    "Xref",
    "reader",
    "reader_names",
]


class Reader(Protocol):
    """What a file of this folder offers."""

    SOURCE: SourceInfo

    def records(self, path: Path | None, *, tally: Tally, **options: Any) -> Iterator[Record]:
        """Stream the records of the source at ``path``; ``None`` where the source needs no file."""


_READERS: Registry[Reader] = Registry(__name__, "reader", "records")
reader, reader_names = _READERS.module, _READERS.names
reader_options, check_options = _READERS.options, _READERS.check_options


def parse_options(name: str, pairs: Iterable[str], label: str = "option") -> dict[str, Any]:
    """``["key=value"]`` as the options of a reader, each of the type that it declares.

    Args:
        name: The reader.
        pairs: What a person wrote.
        label: What stands before a key in an error.

    Raises:
        InputError: Unknown reader or option, or a value of another type.
    """
    options = parsed(reader(name).records, pairs, label)
    check_options(name, options)
    return options


def resolved_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that say what was read: a reader whose presets or named steps stand for more has a ``resolved``."""
    resolve = getattr(reader(name), "resolved", None)
    return options if resolve is None else resolve(**options)
