"""The YAML files of a recipe: a file, and the files that it extends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.settings.bundled import bundled
from st_biomed.settings.checks import PATH, check_value
from st_biomed.settings.yaml_files import read_yaml


def extended_yaml(path: Path) -> dict[str, Any]:
    """The settings of a file, combined with those of the file that it ``extends``; its own settings override them.

    Raises:
        InputError: As in :func:`extended_files`.
    """
    return {name: value for settings in extended_files(path) for name, value in settings.items()}


def extended_files(path: Path) -> list[dict[str, Any]]:
    """The settings of each file, the extended ones first.

    The extended file is in the same folder, or is a configuration of the recipes.

    Raises:
        InputError: As in :func:`read_yaml`, an extended file that does not exist, or files that extend each other.
    """
    chain, files = [path], [read_yaml(path)]
    while "extends" in files[0]:
        above = files[0].pop("extends")
        if not isinstance(above, str):
            raise InputError(f"{path}: extends takes the name of one file, found {above!r}")
        check_value(f"{path}: extends", above, PATH)
        beside, packaged = path.parent / above, bundled(f"recipes/configs/{above}")
        if not beside.is_file() and packaged is None:
            raise InputError(
                f"{path}: extends {above!r}, which is neither in its folder nor among the recipes' configurations"
            )
        path = packaged if packaged is not None and not beside.is_file() else beside
        if path in chain:
            raise InputError(f"{chain[0]}: extends itself through {path.name}")
        chain.append(path)
        files.insert(0, read_yaml(path))
    return files
