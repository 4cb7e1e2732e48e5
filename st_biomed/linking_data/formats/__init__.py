"""One file per format of linking data. A file in this folder with ``SOURCE`` and ``read`` is a format."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from st_biomed.linking_data.annotated import Corpus
from st_biomed.records import SourceInfo, Tally
from st_biomed.settings.registry import Registry


class LinkingFormat(Protocol):
    """The attributes of a format's file.

    Attributes:
        SOURCE: License and origin of the data set, or of the format if many data sets use it.
        DICTIONARY: Form of its usual dictionary, a name of :mod:`st_biomed.linking_data.dictionaries`.
        PREFIX: CURIE prefix of ids without one, in the mentions and in the dictionary; empty leaves them bare.
    """

    SOURCE: SourceInfo
    DICTIONARY: str
    PREFIX: str

    def read(self, path: Path, *, tally: Tally, **options: Any) -> Corpus:
        """Read the mentions at ``path``; the tally counts annotations."""


_FORMATS: Registry[LinkingFormat] = Registry(__name__, "linking format", "read")
linking_format, linking_names = _FORMATS.module, _FORMATS.names
format_options, check_options = _FORMATS.options, _FORMATS.check_options
