"""What a module of our own passes on of what the host loads it with."""

from __future__ import annotations

from typing import Any


def hub_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Of the arguments of a module's ``load`` those that say where its files are, in a folder or on the Hub."""
    names = ("subfolder", "token", "cache_folder", "revision", "local_files_only")
    return {name: arguments[name] for name in names if name in arguments}
