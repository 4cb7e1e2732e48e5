"""One file per format of linking data. A file in this folder with ``SOURCE`` and ``read`` is a format; nothing else registers it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from st_biomed.errors import unknown_name
from st_biomed.linking_data.annotated import Corpus
from st_biomed.readers import SourceInfo, Tally
from st_biomed.settings.keyword_options import keyword_options, refuse_unknown


class LinkingFormat(Protocol):
    """What a file of this folder offers.

    Attributes:
        SOURCE: License and origin of the data set; of a format that many data sets come in, what it says of itself.
        DICTIONARY: Form of the dictionary it is usually linked to, a name of :mod:`st_biomed.linking_data.dictionaries`.
        PREFIX: CURIE prefix of ids that come without one, in the mentions and in the dictionary; empty leaves them bare.
    """

    SOURCE: SourceInfo
    DICTIONARY: str
    PREFIX: str

    def read(self, path: Path, *, tally: Tally, **options: Any) -> Corpus:
        """Read the mentions at ``path``; the tally counts annotations."""


@cache
def linking_names() -> tuple[str, ...]:
    """The names of all formats, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def linking_format(name: str) -> LinkingFormat:
    """The format called ``name``.

    Raises:
        InputError: There is no such format.
    """
    if name not in linking_names():
        raise unknown_name("linking format", name, linking_names())
    return importlib.import_module(f"{__name__}.{name}")


def format_options(name: str) -> dict[str, inspect.Parameter]:
    """The options of a format: the keyword-only parameters of its ``read`` besides the tally."""
    return keyword_options(linking_format(name).read)


def check_options(name: str, options: dict[str, Any]) -> None:
    """Refuse an option that the format does not have.

    Raises:
        InputError: With the options that it has.
    """
    refuse_unknown(f"linking format {name!r}", options, format_options(name))
