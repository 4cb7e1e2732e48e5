"""The JSON files of a model's folder, read so that a damaged one is told in a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError

AGAIN = "copy or download the model again"


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one where there is no such file.

    Raises:
        InputError: The file holds something else.
    """
    found = _read(path) if path.exists() else {}
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold an object, {{...}}, found {_shown(found)}: {AGAIN}")
    return found


def read_list(path: Path) -> list[dict[str, Any]]:
    """The objects in a file that lists them.

    Raises:
        InputError: The file is missing or holds something else.
    """
    found = _read(path)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found) or not found:
        raise InputError(f"{path}: must hold a list of objects, [{{...}}, ...], found {_shown(found)}: {AGAIN}")
    return found


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: cannot be read as JSON ({reason}): {AGAIN}") from error


def _shown(found: Any) -> str:
    text = repr(found)
    return text if len(text) < 60 else f"{text[:57]}..."


def nested(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every key of an object and of the objects in it, as the path to it, with its value."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield (*path, key), value
            yield from nested(value, (*path, key))
    elif isinstance(found, list):
        for value in found:
            yield from nested(value, path)
