"""What stands in the id column of linking files: separators, prefixes, and the words for "no concept"."""

from __future__ import annotations

import re
from collections.abc import Iterable

NIL = frozenset({"", "-", "-1", "cui-less", "cui_less", "cuiless", "concept_less", "nil", "null", "none", "nan"})
"""What annotators write, in any case, where they found no concept (``-1`` is BC5CDR's, ``CUI-less`` ShARe's)."""

_GROUP = re.compile(r"[|+]")
_ALTERNATIVE = re.compile(r"[,;\s]+")
_SEPARATOR = re.compile(r"[|+,;\s]+")

SEVERAL = ("groups", "alternatives")
"""What several ids of an annotation may be: the parts of a composite mention, or what one concept may be."""


def gold_groups(cell: str) -> tuple[frozenset[str], ...]:
    """The groups of an annotation: split at ``|`` (composite mention) and ``+`` (one mention, several ids together).

    Within a group ``,``, ``;`` and spaces separate alternatives. What stands for no concept is left out, and so is a group
    that repeats an earlier one: ``"X1|X2+X3,X4"`` gives ``{X1}, {X2}, {X3, X4}``; ``"-1"`` gives nothing.
    """
    groups = (frozenset(known_ids(_ALTERNATIVE.split(group))) for group in _GROUP.split(cell))
    return tuple(dict.fromkeys(filter(None, groups)))


def groups_of(cell: str, several: str) -> tuple[frozenset[str], ...]:
    """The groups of an annotation where the file's separators say nothing: each id is one, or all of them are.

    Args:
        cell: Ids with ``|``, ``+``, ``,``, ``;`` or spaces between.
        several: One of ``SEVERAL``.
    """
    ids = known_ids(_SEPARATOR.split(cell))
    if several == "alternatives":
        return (frozenset(ids),) if ids else ()
    return tuple(frozenset((one,)) for one in ids)


def known_ids(cells: Iterable[str]) -> list[str]:
    """The ids among the cells, stripped, each once, in order."""
    return list(dict.fromkeys(one for cell in cells if (one := cell.strip()).lower() not in NIL))


def with_prefix(identifier: str, prefix: str) -> str:
    """An id as a CURIE.

    Args:
        identifier: As a file has it; one that has a prefix already is kept.
        prefix: Of a bare id; empty leaves it bare. For ``MESH`` an id of digits alone is one of OMIM's, which the
            disease dictionaries mix with those of MeSH.
    """
    if not prefix or ":" in identifier:
        return identifier
    return f"{'OMIM' if prefix == 'MESH' and identifier.isdigit() else prefix}:{identifier}"
