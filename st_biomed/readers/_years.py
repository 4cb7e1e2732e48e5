"""The edition of a source that has it in the name of its file alone."""

from __future__ import annotations

import re
from pathlib import Path


def year_in_name(*paths: Path) -> str:
    """The first year of this century in the names of files; empty if there is none."""
    match = re.search(r"(?<!\d)20\d\d", " ".join(path.name for path in paths))
    return match[0] if match else ""
