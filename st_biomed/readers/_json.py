"""JSON as sources publish it: documents that parse completely, and fields of the expected type."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from st_biomed.errors import InputError

_KINDS = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character beyond U+FFFF, invalid on its own

Kind = TypeVar("Kind", str, list, dict, bool)


def json_object(path: object, text: str, line: int = 0, expected: str = "JSON object") -> dict[str, Any]:
    """Parse a text as a JSON object.

    Args:
        path: The file of the text, for errors.
        line: The line of the file where the text begins; 0 if it is the whole file.
        expected: What the document must be, in words.

    Raises:
        InputError: With file and line: not JSON, not readable, or not an object.
    """
    document = json_value(path, text, line)
    if not isinstance(document, dict):
        raise InputError(f"{_where(path, line)}: expected a {expected}, found {text.strip()[:40]!r}")
    return document


def json_value(path: object, text: str, line: int = 0) -> Any:
    """Parse a text as JSON of any kind.

    Args:
        path, line: As in :func:`json_object`.

    Raises:
        InputError: With file and line: not JSON, or not readable.
    """
    try:
        document = json.loads(text)
        if _HALF.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{max(line, 1) + error.lineno - 1}: is not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:  # too deep, a number of thousands of digits, half a character
        raise InputError(f"{_where(path, line)}: is not readable JSON ({type(error).__name__})") from error
    return document


def _where(path: object, line: int) -> str:
    return f"{path}:{line}" if line else str(path)


def field(where: str, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
    """A field of an object; an empty value if it is missing or null.

    Raises:
        InputError: It has another type.
    """
    value = holder.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key!r} must be {_KINDS[kind]}, found {str(value)[:40]!r}")
    return value


def objects(where: str, holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in a field that is a list.

    Raises:
        InputError: It is not a list, or an entry is not an object.
    """
    values = field(where, holder, key, list)
    for i, value in enumerate(values):
        if not isinstance(value, dict):
            raise InputError(f"{where}: {key}[{i}] must be an object, found {str(value)[:40]!r}")
    return values
