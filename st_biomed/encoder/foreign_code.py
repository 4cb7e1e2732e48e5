"""Code of somebody else: where a model asks for it, the error that refuses it, and the word that allows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from st_biomed.encoder.json_files import nested, read_object
from st_biomed.encoder.own_code import OWN_CODE
from st_biomed.errors import InputError

FLAG_HELP = (
    "Run third-party code that a model needs; otherwise only code of sentence-transformers and of this package is run."
)
_HOW = (
    "code of others is not run unasked: read it, then allow it with --trust-remote-code (of a recipe --trust_remote_code "
    "true, in Python trust_remote_code=True)"
)


class ForeignCode(InputError):
    """A model asks for code, or for another repository, that neither sentence-transformers nor this package has.

    Args:
        path: The file that asks.
        found: What for.
    """

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path}: {found}; {_HOW}")


def code_of_others(folder: Path) -> tuple[Path, str] | None:
    """The first class of somebody else that a saved model's files name as code to fetch, and the file; nothing where all are ours.

    Args:
        folder: Of the model.

    Raises:
        InputError: A file that cannot be read.
    """
    for file in sorted((*folder.rglob("config.json"), *folder.rglob("*_config.json"))):
        for keys, value in nested(read_object(file)):
            if keys[-1] == "auto_map":
                for named in _names(value):
                    if f"{named.rpartition('.')[0]}.py" not in OWN_CODE:
                        return file, f"auto_map asks for {named}"
    return None


def _names(value: Any) -> Iterator[str]:
    """Every class in an ``auto_map``, which holds names, or lists of a slow and a fast one."""
    if isinstance(value, dict):
        value = list(value.values())
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, (dict, list)):
            yield from _names(one)
        elif one is not None:
            yield str(one)
