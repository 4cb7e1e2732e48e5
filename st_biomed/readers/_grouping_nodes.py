"""Codes without a name that hold a hierarchy together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable


def grouping_nodes(named: Container[str], parents: Iterable[tuple[str, str]]) -> set[str]:
    """Codes without a name that are above a code with one.

    Args:
        parents: Pairs of a child and its parent.
    """
    above: defaultdict[str, list[str]] = defaultdict(list)
    for child, parent in parents:
        if parent not in named:
            above[child].append(parent)
    waiting = [parent for child, over in above.items() if child in named for parent in over]
    found: set[str] = set()
    while waiting:
        code = waiting.pop()
        if code not in found:
            found.add(code)
            waiting += above.get(code, ())
    return found
