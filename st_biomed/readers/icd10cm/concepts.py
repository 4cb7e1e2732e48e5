"""Codes of ICD-10-CM, and the names of a concept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from st_biomed.records import Tally, Term

PREFIX = "ICD10CM"
EXTENSIONS = "seventh-character extensions"  # reason in the tally


def curie(code: str) -> str:
    return f"{PREFIX}:{code}"


def dotted(code: str) -> str:
    """A code with its point, from a code without it."""
    return code if len(code) == 3 else f"{code[:3]}.{code[3:]}"


def named(code: str, names: Iterable[str], tally: Tally) -> Iterator[Term]:
    """The records of a concept's names: the first one is preferred; repeated and empty names are dropped."""
    stripped = [name.strip() for name in names]
    distinct = dict.fromkeys(filter(None, stripped))
    tally.read(len(stripped))
    tally.keep(len(distinct))
    tally.drop("empty names", stripped.count(""))
    tally.drop("repeated names of a concept", len(stripped) - stripped.count("") - len(distinct))
    for i, name in enumerate(distinct):
        yield Term(curie(code), name, "synonym" if i else "preferred")
