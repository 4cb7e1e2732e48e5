"""Files of the project outside of the package's code: recipes, configurations, frozen protocols."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).parents[1]


def bundled(path: str | Path) -> Path | None:
    """A file of the project, in a checkout or in an installation.

    Args:
        path: Relative to the root of the project, e.g. ``"evaluation/benchmarks/icd10cm_tree.yaml"``.

    Returns:
        The file, or nothing if it does not exist.
    """
    for root in (_PACKAGE.parent, _PACKAGE / "_bundled"):
        if (root / path).is_file():
            return root / path
    return None


def bundled_folder(path: str | Path) -> Path | None:
    """A folder of the project, like a file of :func:`bundled`."""
    for root in (_PACKAGE.parent, _PACKAGE / "_bundled"):
        if (root / path).is_dir():
            return root / path
    return None


def bundled_recipe(name: str) -> ModuleType:
    """A recipe as a module, for recipes that run others as their stages.

    Args:
        name: E.g. ``"kge"``.

    Raises:
        FileNotFoundError: There is no such recipe.
    """
    path = bundled(f"recipes/{name}.py")
    if path is None:
        raise FileNotFoundError(f"recipes/{name}.py")
    title = f"st_biomed_recipe_{name}"
    if title not in sys.modules:
        spec = importlib.util.spec_from_file_location(title, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[title] = module  # where its dataclasses look up their types
        spec.loader.exec_module(module)
    return sys.modules[title]
