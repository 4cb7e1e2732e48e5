"""Foreign code: models that require it, the error that rejects it, and the option that allows it."""

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
    "foreign code is not run by default: read it, then allow it with --trust-remote-code (of a recipe "
    "--trust_remote_code true, in Python trust_remote_code=True)"
)


class ForeignCode(InputError):
    """A model requires code, or another repository, that neither sentence-transformers nor this package has.

    Args:
        path: The file with the requirement.
                request: The requirement.
    """

    def __init__(self, path: Path, request: str) -> None:
        super().__init__(f"{path}: {request}; {_HOW}")


def code_of_others(folder: Path) -> tuple[Path, str] | None:
    """The first foreign class that a saved model's files request as code, and the file; nothing if there is none.

    Args:
        folder: The folder of the model.

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
    """Every class in an ``auto_map``, which has names, or lists of a slow and a fast class."""
    if isinstance(value, dict):
        value = list(value.values())
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, (dict, list)):
            yield from _names(member)
        elif member is not None:
            yield str(member)
