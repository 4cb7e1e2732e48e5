"""One file per source. A file in this folder with ``SOURCE`` and ``records`` is a reader; nothing else registers it; others begin with ``_``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from st_biomed.errors import unknown_name
from st_biomed.records import Parent, Record, Relation, Rows, SourceInfo, Tally, Term, Type, Xref
from st_biomed.settings.keyword_options import keyword_options, parsed, refuse_unknown

__all__ = [
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


@cache
def reader_names() -> tuple[str, ...]:
    """The names of all readers, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


def reader(name: str) -> Reader:
    """The reader called ``name``.

    Raises:
        InputError: There is no such reader.
    """
    if name not in reader_names():
        raise unknown_name("reader", name, reader_names())
    return importlib.import_module(f"{__name__}.{name}")


def reader_options(name: str) -> dict[str, inspect.Parameter]:
    """The options of a reader: the keyword-only parameters of its ``records`` besides the tally."""
    return keyword_options(reader(name).records)


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


def check_options(name: str, options: dict[str, Any]) -> None:
    """Refuse an option that the reader does not have.

    Raises:
        InputError: With the options that it has.
    """
    refuse_unknown(f"reader {name!r}", options, reader_options(name))
