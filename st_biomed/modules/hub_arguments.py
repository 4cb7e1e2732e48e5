"""Loading arguments that a module of this package passes on."""

from __future__ import annotations

from typing import Any


def hub_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a module's ``load`` that locate its files, in a folder or on the Hub."""
    names = ("subfolder", "token", "cache_folder", "revision", "local_files_only")
    return {name: arguments[name] for name in names if name in arguments}
