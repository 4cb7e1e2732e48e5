"""The name that a person may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(found: str, names: Iterable[str]) -> str:
    """``": did you mean 'MiniLM'?"`` where a name is near, whatever its case; else nothing."""
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(found.lower(), folded, n=1)
    return f": did you mean {folded[near[0]]!r}?" if near else ""
