"""MeSH in the official ASCII form, ``d2031.bin`` and ``c2031.bin``: ``*NEWRECORD`` and lines such as ``MH = Heading``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.readers.mesh.descriptors import Descriptor, Name
from st_biomed.records import Tally

_BEGIN = "*NEWRECORD"
_EQUIVALENT = ("", "EQV")

Fields = list[tuple[str, str]]


def descriptors(path: Path, tally: Tally) -> Iterator[Descriptor]:
    """The records of descriptors; those of qualifiers and supplementary substances are dropped and counted.

    Raises:
        InputError: With file and line: no ``*NEWRECORD``, a line of another form.
    """
    for where, fields in _of_kind(path, "D", "records that are no descriptors", tally):
        heading = _first(fields, "MH")
        yield Descriptor(
            where,
            _first(fields, "UI"),
            heading,
            [Name(heading), *(_entry(value) for value in _all(fields, "ENTRY", "PRINT ENTRY"))],
            _all(fields, "MN"),
            _all(fields, "PA"),
            [(note, True) for note in _all(fields, "MS")],
        )


def supplementary(path: Path, tally: Tally) -> Iterator[Descriptor]:
    """The supplementary records; others are dropped and counted.

    Raises:
        InputError: See :func:`descriptors`.
    """
    for where, fields in _of_kind(path, "C", "records that are not supplementary", tally):
        name = _first(fields, "NM")
        yield Descriptor(
            where,
            _first(fields, "UI"),
            name,
            [Name(name), *(_entry(value) for value in _all(fields, "SY"))],
            actions=_all(fields, "PA"),
            notes=[(note, True) for note in _all(fields, "NO")],
            mapped_to=_all(fields, "HM"),
        )


def _of_kind(path: Path, kind: str, others: str, tally: Tally) -> Iterator[tuple[str, Fields]]:
    """``file:line`` and fields of the records of a kind."""
    for line, fields in _records(path):
        if _first(fields, "RECTYPE") in ("", kind):
            yield f"{path}:{line}", fields
        else:
            tally.read_dropped(others)


def _all(fields: Fields, *keys: str) -> list[str]:
    return [value for key, value in fields if key in keys]


def _first(fields: Fields, key: str) -> str:
    return next(iter(_all(fields, key)), "")


def _records(path: Path) -> Iterator[tuple[int, Fields]]:
    """The line at which each record begins, and its keys and values."""
    begun = 0
    fields: Fields = []
    for line, text in read_lines(path):
        text = text.strip()
        if text == _BEGIN:
            if begun:
                yield begun, fields
            begun, fields = line, []
            continue
        if not text:
            continue
        key, equals, value = text.partition(" =")
        if not begun or not equals:
            raise InputError(f"{path}:{line}: expected {_BEGIN}, or 'MH = Heading' in a record, found {text[:40]!r}")
        fields.append((key, value.strip()))
    if not begun:
        raise InputError(f"{path}: has no {_BEGIN}; is it MeSH in ASCII form?")
    yield begun, fields


def _entry(value: str) -> Name:
    """An entry term: alone, or ``term|T047|NON|NRW|...|abcd``, whose last field has a letter for each preceding one.

    The letter ``c`` marks the lexical tag, ``d`` the relation of the term's concept to the preferred one.
    """
    text, *fields = value.split("|")
    letters = fields.pop() if fields else ""
    value_of = dict(zip(letters[1:], fields)) if len(letters) == len(fields) + 1 else {}
    return Name(text, tag=value_of.get("c", "NON"), preferred_concept=value_of.get("d", "") in _EQUIVALENT)
