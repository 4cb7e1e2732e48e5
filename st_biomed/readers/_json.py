"""JSON as sources publish it: documents that can be read to the end, and fields of the kind that they have to be."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from st_biomed.errors import InputError

KINDS = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character beyond U+FFFF, which must not stand alone

Kind = TypeVar("Kind", str, list, dict, bool)


def json_object(path: object, text: str, line: int = 1) -> dict[str, Any]:
    """The object that a text is.

    Args:
        path: Where the text stands, for errors.
        text: The document.
        line: The line where it begins.

    Raises:
        InputError: With file and line: no JSON, or none that can be read; no object.
    """
    try:
        document = json.loads(text)
        if _HALF.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{line + error.lineno - 1}: is not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:  # too deep, a number of thousands of digits, half a character
        raise InputError(f"{path}:{line}: is not JSON that can be read ({type(error).__name__})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path}:{line}: is no JSON object, found {text.strip()[:40]!r}")
    return document


def field(where: str, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
    """A field of an object; an empty one where it is missing or null.

    Raises:
        InputError: It is of another kind.
    """
    value = holder.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key!r} must be {KINDS[kind]}, found {str(value)[:40]!r}")
    return value
