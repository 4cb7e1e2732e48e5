"""The id column of linking files: separators, prefixes, and the words for "no concept"."""

from __future__ import annotations

import re
from collections.abc import Iterable

NIL = frozenset({"", "-", "-1", "cui-less", "cui_less", "cuiless", "concept_less", "nil", "null", "none", "nan"})
"""The annotators' words for no concept, in any case (``-1`` in BC5CDR, ``CUI-less`` in ShARe)."""

# A variant as tmVar writes it is one id: c|SUB|A|1555|G, p|Allele|V|600, c|SUB|G|89+1|A, p|FS|R|3|Q|40, tmVar:c|DEL|7|A.
_FIELD = r"\|(?:[^|+,;\s]|(?<=\d)\+(?=\d))*"
_END = r"(?![^|+,;\s])"
_KINDS = (
    *(rf"SUB(?:{_FIELD}){{3}}", rf"(?:DEL|INS|INDEL|Allele)(?:{_FIELD}){{2}}"),
    *(
        rf"DUP(?:{_FIELD}){{2}}(?:\|\d+{_END})?",
        rf"FS(?:{_FIELD}){{3}}(?:\|\d*{_END})?",
        rf"[A-Za-z]+(?:{_FIELD}){{2,}}",
    ),
)
_VARIANT = rf"(?<![^|+,;\s])(?:tmVar:)?[cgmnpr]\|(?:{'|'.join(_KINDS)})"
_GROUP = re.compile(rf"(?:{_VARIANT}|[^|+])+")
_ALTERNATIVE = re.compile(r"[,;\s]+")
_ID = re.compile(rf"(?:{_VARIANT}|[^|+,;\s])+")

SEVERAL = ("groups", "alternatives")
"""The meanings of several ids of an annotation: the parts of a composite mention, or alternatives for one concept."""


def gold_groups(cell: str) -> tuple[frozenset[str], ...]:
    """The groups of an annotation: split at ``|`` (composite mention) and ``+`` (one mention with several ids).

    Within a group, ``,``, ``;`` and spaces separate alternatives. Ids for no concept and repeated groups are left out:
    ``"X1|X2+X3,X4"`` gives ``{X1}, {X2}, {X3, X4}``; ``"-1"`` gives nothing. A variant of tmVar
    (``"c|SUB|A|1555|G"``) is one id.
    """
    groups = (frozenset(known_ids(_ALTERNATIVE.split(group))) for group in _GROUP.findall(cell))
    return tuple(dict.fromkeys(filter(None, groups)))


def groups_of(cell: str, several: str) -> tuple[frozenset[str], ...]:
    """The groups of an annotation in a file without meaningful separators: each id is a group, or all ids are one.

    Args:
        cell: Ids with ``|``, ``+``, ``,``, ``;`` or spaces between.
        several: One of ``SEVERAL``.
    """
    ids = known_ids(_ID.findall(cell))
    if several == "alternatives":
        return (frozenset(ids),) if ids else ()
    return tuple(frozenset((id_,)) for id_ in ids)


def known_ids(cells: Iterable[str]) -> list[str]:
    """The distinct ids of the cells, stripped, in order."""
    return list(dict.fromkeys(id_ for cell in cells if (id_ := cell.strip()).lower() not in NIL))


def with_prefix(identifier: str, prefix: str) -> str:
    """An id as a CURIE.

    Args:
        identifier: The id in the file; an id with a prefix is kept.
        prefix: Prefix of bare ids; empty leaves them bare. With ``MESH``, an id of only digits is of OMIM, whose ids
            the disease dictionaries mix with those of MeSH.
    """
    if not prefix or ":" in identifier:
        return identifier
    return f"{'OMIM' if prefix == 'MESH' and identifier.isdigit() else prefix}:{identifier}"
