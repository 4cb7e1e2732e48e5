"""The JSON files of a model's folder; a damaged file is reported in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError

AGAIN = "copy or download the model again"


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one if the file does not exist.

    Raises:
        InputError: The file has other contents.
    """
    content = _read(path) if path.exists() else {}
    if not isinstance(content, dict):
        raise InputError(f"{path}: must contain an object, {{...}}, found {_shown(content)}: {AGAIN}")
    return content


def read_list(path: Path) -> list[dict[str, Any]]:
    """The objects in a file with a list.

    Raises:
        InputError: The file is missing or has other contents.
    """
    content = _read(path)
    if not isinstance(content, list) or not all(isinstance(member, dict) for member in content) or not content:
        raise InputError(f"{path}: must contain a list of objects, [{{...}}, ...], found {_shown(content)}: {AGAIN}")
    return content


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: cannot be read as JSON ({reason}): {AGAIN}") from error


def _shown(content: Any) -> str:
    text = repr(content)
    return text if len(text) < 60 else f"{text[:57]}..."


def nested(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every key of an object and its inner objects, as the path to it, with its value."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield (*path, key), value
            yield from nested(value, (*path, key))
    elif isinstance(content, list):
        for value in content:
            yield from nested(value, path)
