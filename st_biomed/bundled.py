"""Files that belong to the project but not to the package's code: recipes, configurations, frozen protocols."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def bundled(path: str | Path) -> Path | None:
    """A file of the project, in a checkout or in an installation.

    Args:
        path: As seen from the top of the project, e.g. ``"evaluation/benchmarks/icd10cm_tree.yaml"``.

    Returns:
        The file, or nothing where the project has none of this name.
    """
    for root in (_PACKAGE.parent, _PACKAGE / "_bundled"):
        if (root / path).is_file():
            return root / path
    return None


def bundled_folder(path: str | Path) -> Path | None:
    """A folder of the project, as :func:`bundled` finds a file."""
    for root in (_PACKAGE.parent, _PACKAGE / "_bundled"):
        if (root / path).is_dir():
            return root / path
    return None
