"""What every form of ICD-9-CM is taken apart into, and its codes."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from st_biomed.errors import InputError

DIAGNOSES, PROCEDURES = "ICD9CM", "ICD9PROC"
_BARE = {DIAGNOSES: re.compile(r"\d{3,5}|V\d{2,4}|E\d{3,4}"), PROCEDURES: re.compile(r"\d{2,4}")}


class Concept(NamedTuple):
    """A code, chapter or block.

    Attributes:
        code: A CURIE.
        parent: The one directly above; empty for none.
        names: The title and what else it is called, not tallied yet.
    """

    code: str
    parent: str
    names: list[str]


def curie(where: str, code: str, prefix: str = DIAGNOSES) -> str:
    """A code, with its point or without, as a CURIE with it: 25000 is ``ICD9CM:250.00``, E8000 ``ICD9CM:E800.0``.

    Raises:
        InputError: It is none.
    """
    bare = code.replace(".", "", 1)
    stem = 2 if prefix == PROCEDURES else 4 if code.startswith("E") else 3
    dotted = f"{bare[:stem]}.{bare[stem:]}" if bare[stem:] else bare
    if not bare.isascii() or not _BARE[prefix].fullmatch(bare) or code not in (bare, dotted):
        kind = "procedure" if prefix == PROCEDURES else "diagnosis"
        raise InputError(f"{where}: {code!r} is no {kind} code of ICD-9-CM (ICD-10-CM has a reader of its own)")
    return f"{prefix}:{dotted}"


def code_above(code: str, known: Container[str]) -> str:
    """The longest known code that a code begins with; empty for none."""
    shorter = (code[:n].rstrip(".") for n in range(len(code) - 1, code.index(":") + 2, -1))
    return next((above for above in shorter if above in known), "")
