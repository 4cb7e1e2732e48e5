"""MeSH in the official ASCII form, ``d2031.bin``: records of ``*NEWRECORD`` and lines such as ``MH = Heading``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.readers.mesh.descriptors import Descriptor, Name
from st_biomed.records import Tally

_BEGIN = "*NEWRECORD"
_EQUIVALENT = ("", "EQV")


def descriptors(path: Path, tally: Tally) -> Iterator[Descriptor]:
    """The records of descriptors; those of qualifiers and supplementary substances are dropped and counted.

    Raises:
        InputError: With file and line: no ``*NEWRECORD``, a line of another form.
    """
    for line, fields in _records(path):
        values = {key: [value for other, value in fields if other == key] for key, _ in fields}
        if values.get("RECTYPE", ["D"]) != ["D"]:
            tally.read()
            tally.drop("records that are no descriptors")
            continue
        heading = values.get("MH", [""])[0]
        yield Descriptor(
            f"{path}:{line}",
            values.get("UI", [""])[0],
            heading,
            [Name(heading), *(_entry(value) for key, value in fields if key in ("ENTRY", "PRINT ENTRY"))],
            values.get("MN", []),
            values.get("PA", []),
            [(note, True) for note in values.get("MS", [])],
        )


def _records(path: Path) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """The line at which each record begins, and its keys and values."""
    begun = 0
    fields: list[tuple[str, str]] = []
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
