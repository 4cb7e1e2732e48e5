"""The concepts of every form of ICD-9-CM, and its codes."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from st_biomed.errors import InputError

DIAGNOSES, PROCEDURES = "ICD9CM", "ICD9PROC"
_BARE = {DIAGNOSES: re.compile(r"(?!000)\d{3,5}|V\d{2,4}|E\d{3,4}"), PROCEDURES: re.compile(r"\d{2,4}")}


class Concept(NamedTuple):
    """A code, chapter or block.

    Attributes:
        code: A CURIE.
        parent: The code directly above; empty if there is none.
        names: The title and the other names, not tallied yet.
    """

    code: str
    parent: str
    names: list[str]


def curie(where: str, code: str, prefix: str = DIAGNOSES) -> str:
    """Convert a code, with its point or without, to a CURIE: 25000 is ``ICD9CM:250.00``, E8000 ``ICD9CM:E800.0``.

    Raises:
        InputError: It is not a code.
    """
    bare = code.replace(".", "", 1)
    stem = 2 if prefix == PROCEDURES else 4 if code.startswith("E") else 3
    dotted = f"{bare[:stem]}.{bare[stem:]}" if bare[stem:] else bare
    if not bare.isascii() or not _BARE[prefix].fullmatch(bare) or code not in (bare, dotted):
        kind = "procedure" if prefix == PROCEDURES else "diagnosis"
        other = " (for procedures, codes=procedures)" if prefix == DIAGNOSES and bare.startswith("00") else ""
        raise InputError(
            f"{where}: {code!r} is not a {kind} code of ICD-9-CM{other or ' (for ICD-10-CM use its own reader)'}"
        )
    return f"{prefix}:{dotted}"


def code_above(code: str, known: Container[str]) -> str:
    """The longest known code that a code begins with; empty if there is none."""
    shorter = (code[:n].rstrip(".") for n in range(len(code) - 1, code.index(":") + 2, -1))
    return next((above for above in shorter if above in known), "")
