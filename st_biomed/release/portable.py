"""Values for a published JSON file: no objects, no access tokens, no paths that reveal locations of files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from numbers import Integral, Real
from pathlib import Path, PurePath
from typing import Any

REDACTED = "<redacted>"


def plain(value: Any) -> Any:
    """A value for JSON: paths without their location, enums by value, classes and functions by name.

    Numbers that are not finite become text, sets become sorted lists, and other objects become the name of their
    class. A string under a key that ends in "token" is redacted.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (str, PurePath)):
        return _portable(str(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(str(key), plain(item)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


_TOKEN_OPTION = re.compile(r"--?[\w.-]*token", re.IGNORECASE)
_TOKEN_SETTING = re.compile(r"((?:--?)?[\w.-]*token=).+", re.IGNORECASE | re.DOTALL)


def plain_model(name: str) -> str:
    """A model for JSON: a folder below the working directory begins with "./", an id on the Hub does not."""
    shown = str(plain(name))
    return f"./{shown}" if "/" in shown and not shown.startswith("./") and Path(name).exists() else shown


def plain_command(arguments: Sequence[str]) -> list[str]:
    """A command line for JSON, with the values of ``--hub_token VALUE`` and ``--hub_token=VALUE`` redacted."""
    shown: list[str] = []
    after_option = False
    for argument in map(str, arguments):
        if after_option and not argument.startswith("--"):
            shown.append(REDACTED)
        else:
            shown.append(_TOKEN_SETTING.sub(rf"\1{REDACTED}", plain(argument)))
        after_option = _TOKEN_OPTION.fullmatch(argument) is not None
    return shown


def _redacted(key: str, value: Any) -> Any:
    return REDACTED if key.lower().endswith("token") and isinstance(value, str) and value else value


_NAMED = re.compile(r"(^[a-z]\w+:|=|,)((?:/(?!/)|~/|\.{1,2}/)[^?&,]*)")
"""The paths of ``option=PATH,PATH`` and ``reader:PATH?option=PATH``; a URL has two slashes."""

_PATH = re.compile(r"(?<![\w/.])~?(?:/[\w.@+-]+){2,}/?")


def _portable(text: str) -> str:
    """The text with absolute paths made relative to the working directory, or else reduced to their last part."""
    if text.startswith("file:/"):
        return "file:" + _short(text.removeprefix("file:").replace("//", "/"))
    if os.path.isabs(text) or text.startswith(("~/", "../")):
        return _short(text)
    text = _NAMED.sub(lambda match: match[1] + _short(match[2]), text)
    if ".." in Path(text).parts:
        return _short(text)
    return _PATH.sub(lambda match: _short(match[0]), text)


def _short(path: str) -> str:
    full = Path(os.path.abspath(os.path.expanduser(path)))
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else full.name
