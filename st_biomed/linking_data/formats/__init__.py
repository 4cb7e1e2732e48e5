"""One file per format of linking data. A file in this folder with ``SOURCE`` and ``read`` is a format; nothing else registers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from st_biomed.linking_data.annotated import Corpus
from st_biomed.readers import SourceInfo, Tally
from st_biomed.settings.registry import Registry


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


_FORMATS: Registry[LinkingFormat] = Registry(__name__, "linking format", "read")
linking_format, linking_names = _FORMATS.module, _FORMATS.names
format_options, check_options = _FORMATS.options, _FORMATS.check_options
