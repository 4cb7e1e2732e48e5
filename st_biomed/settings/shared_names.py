"""Names that several dataclasses of a recipe have: an argument is that of the first, and the others keep their default.

A later version of sentence-transformers may give its training arguments a name that a recipe has already.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any


def own_arguments(dataclasses: Sequence[Any]) -> dict[str, tuple[Any, Field[Any]]]:
    """Name to the first dataclass that has it and its field there."""
    arguments: dict[str, tuple[Any, Field[Any]]] = {}
    for dataclass_ in dataclasses:
        for argument in fields(dataclass_):
            if argument.init:
                arguments.setdefault(argument.name, (dataclass_, argument))
    return arguments


class Namespace(argparse.Namespace):
    """Values that sentence-transformers' parser takes out for one dataclass after the other; those of a name go to the first."""

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
