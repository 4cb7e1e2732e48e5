"""Functions by name, so an object with a function can be written to a file and read in another process."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

from st_biomed.errors import InputError

_HERE = "@"  # in a name that only this process understands; no module or function name holds it


def function_name(function: Callable[..., Any] | None) -> str | None:
    """``"module:name"``; a lambda or an instance gets a name that is valid only in this process."""
    if function is None:
        return None
    owner = function if hasattr(function, "__qualname__") else type(function)
    name = f"{owner.__module__}:{owner.__qualname__}"
    try:
        return name if function_named(name) is function else f"{name}{_HERE}{id(function)}"
    except InputError:
        return f"{name}{_HERE}{id(function)}"


def function_named(name: str | None) -> Callable[..., Any] | None:
    """The function with a name from :func:`function_name`.

    Raises:
        InputError: It cannot be imported.
    """
    if name is None:
        return None
    module, _, path = name.partition(":")
    try:
        return attrgetter(path)(import_module(module))
    except (ImportError, AttributeError):
        raise InputError(
            f"function {name.partition(_HERE)[0]} cannot be imported by another process: "
            "define it with def at the top of a module"
        ) from None
