"""One module for each source (a file or a folder). A file with ``SOURCE`` and ``records`` is a reader; names of other files begin with ``_``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import parsed
from st_biomed.settings.registry import Registry

__all__ = ["Reader", "reader", "reader_names"]


class Reader(Protocol):
    """The attributes of a reader's file. One that needs a path also has ``PATH``, which says of what, and no default of ``path``."""

    SOURCE: SourceInfo

    def records(self, path: Path | None, *, tally: Tally, **options: Any) -> Iterator[Record]:
        """Stream the records of the source at ``path``; ``None`` only for a reader without ``PATH``."""


_READERS: Registry[Reader] = Registry(__name__, "reader", "records")
reader, reader_names = _READERS.module, _READERS.names
reader_options, check_options = _READERS.options, _READERS.check_options


def parse_options(name: str, pairs: Iterable[str], label: str = "option") -> dict[str, Any]:
    """The options of a reader from ``["key=value"]``, each converted to the type that the reader declares.

    Args:
        label: The text before a key in errors.

    Raises:
        InputError: Unknown reader or option, or a value of another type.
    """
    options = parsed(reader(name).records, pairs, label)
    check_options(name, options)
    return options


def resolved_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that record what was read; a reader with presets or named steps expands them with ``resolved``. A normalizer
    has its version."""
    from st_biomed.readers._normalizers import NORMALIZERS

    resolve = getattr(reader(name), "resolved", None)
    options = options if resolve is None else resolve(**options)
    normalizer = options.get("normalizer")
    return options if normalizer is None else options | {"normalizer_version": NORMALIZERS[normalizer][0]}
