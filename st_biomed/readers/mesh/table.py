"""MeSH as a table of terms, with the official file of tree numbers and a table of pharmacological actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines, read_table
from st_biomed.readers.mesh.descriptors import Descriptor, Name
from st_biomed.records import Tally

_COLUMNS = (
    "DescriptorUI",
    "DescriptorName",
    "ConceptUI",
    "TermName",
    "IsPermutedTermYN",
    "LexicalTag",
    "RecordPreferredTermYN",
)


def descriptors(path: Path) -> Iterator[Descriptor]:
    """The descriptors of a table of terms, in the order of their first rows.

    Raises:
        InputError: With file and line: a descriptor with two headings, a flag other than Y or N; see also
            :func:`~st_biomed.files.delimited.read_table`.
    """
    by_ui: dict[str, Descriptor] = {}
    concept_of: dict[str, list[str]] = {}
    preferred: dict[str, str] = {}
    for line, row in read_table(path, _COLUMNS):
        ui, heading, concept, text, permuted, tag, own = (cell.strip() for cell in row)
        where = f"{path}:{line}"
        for flag in (permuted, own):
            if flag not in ("Y", "N"):
                raise InputError(f"{where}: expected the flag Y or N, found {flag[:40]!r}")
        descriptor = by_ui.setdefault(ui, Descriptor(where, ui, heading))
        if heading != descriptor.name:
            raise InputError(
                f"{where}: {ui} has the name {heading[:40]!r} here and {descriptor.name[:40]!r} in an earlier row"
            )
        descriptor.names.append(Name(text, permuted == "Y", tag))
        concept_of.setdefault(ui, []).append(concept)
        if own == "Y":
            preferred[ui] = concept
    for ui, descriptor in by_ui.items():
        descriptor.names = [
            name._replace(preferred_concept=concept == preferred.get(ui, concept))
            for name, concept in zip(descriptor.names, concept_of[ui])
        ]
        yield descriptor


def add_trees(path: Path, descriptors: list[Descriptor], tally: Tally) -> None:
    """Add the tree numbers of an official file, whose lines are ``Name;C01.100``.

    Raises:
        InputError: With file and line: a line of another form.
    """
    of_name = {descriptor.name: descriptor for descriptor in descriptors}
    for line, text in read_lines(path):
        if not text.strip():
            continue
        name, semicolon, number = text.rpartition(";")
        if not semicolon:
            raise InputError(f"{path}:{line}: expected 'Name;C01.100', found {text[:40]!r}")
        descriptor = of_name.get(name.strip())
        if descriptor is None:
            tally.read_dropped("tree numbers of a name that no descriptor has")
        else:
            descriptor.numbers.append(number.strip())


def add_actions(path: Path, descriptors: list[Descriptor], tally: Tally) -> None:
    """Add the pharmacological actions of a table; those of supplementary substances are dropped and counted.

    Raises:
        InputError: See :func:`~st_biomed.files.delimited.read_table`.
    """
    of_ui = {descriptor.ui: descriptor for descriptor in descriptors}
    for _, row in read_table(path, ("DescriptorUI", "PharmActionUI")):
        ui, action = (cell.strip() for cell in row)
        if ui in of_ui:
            of_ui[ui].actions.append(action)
        else:
            tally.read_dropped("pharmacological actions of what is no descriptor")
