"""CPT: the user's own table of Current Procedural Terminology with its headings, licensed by the AMA."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file, read_table
from st_biomed.files.encodings import resolve_encoding
from st_biomed.readers._grouping_nodes import grouping_nodes
from st_biomed.readers._normalizers import name_normalizer
from st_biomed.readers._years import year_in_name
from st_biomed.records import Grouping, Parent, Record, SourceInfo, Tally, Term
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="CPT",
    title="Current Procedural Terminology",
    license="American Medical Association, by license only",
    url="https://www.ama-assn.org/practice-management/cpt",
)
PATH = "your own table with the columns code, parent and description"

_CODE = ("code", "cpt_code", "cpt", "cptcode", "concept_code", "id")
_PARENT = ("parent", "parent_code", "parent_id", "parentcode", "immediate_parent")
_DESCRIPTION = (
    *("description", "long_description", "long_descriptor", "descriptor", "full_description"),
    *("string", "str", "name", "label", "code_text"),
)
_PROCEDURE = re.compile(r"\d{4}[0-9A-Z]")
_CURIE_PART = re.compile(r"[\w.-]+")
_NOT_A_CODE = "contains characters other than letters, digits, '.', '-' and '_'"
_MISSING = ("error", "drop", "group")


def records(  # noqa: PLR0913 - the differences between users' tables
    path: Path,
    *,
    tally: Tally,
    dialect: str | None = None,
    synonyms: str | Sequence[str] = (),
    hierarchy: bool = True,
    headings: bool = True,
    missing: str = "error",
    encoding: str = "",
    name: str = SOURCE.name,
    normalizer: str = "none",
) -> Iterator[Record]:
    """Read descriptions and the hierarchy of headings and procedures.

    The columns are named ``code``, ``parent`` and ``description``, or by one of the usual other names (``CPT code``,
    ``parent code``, ``long description``...). Every row has a name and, unless it is a root, a parent. A code of
    five characters is a procedure (99213, 0001F, 0075T); any other, a range or a number of the table itself, is a
    heading. A code may have several rows, with several parents or with further descriptions, which are synonyms. Where
    procedures hang under categories that have a code alone, as under those of CCS in HiPrBERT's table, ``missing=group``
    keeps the categories as grouping nodes: they are part of the hierarchy and have no name.

    Args:
        path: A table with a header.
        tally: Counts the names, one for each description in a row, and the parents, one for each in a row.
        dialect: ``csv``, ``semicolon``, ``tsv`` or ``tsv_quoted``; by default the suffix of the file decides: ``.csv`` or
            ``.tsv``.
        synonyms: Columns with further names, e.g. ``"medium_description,short_description"``. Write their names in
            lower case, with underscores for spaces; by default none. Empty cells are counted.
        hierarchy: Whether the table has a column of parents; on by default.
        headings: Whether headings are concepts; on by default. Otherwise, their rows and the parents that are headings
            are counted.
        missing: The treatment of a parent without its own row: ``"error"`` (default), ``"drop"``, which leaves
            the parent out and counts it, or ``"group"``, which makes a grouping node of it, and of a code whose rows have
            no description.
        encoding: Encoding of the file, e.g. ``cp1252``; by default UTF-8, or UTF-16 if it begins with a byte order
            mark.
        name: Short name of the source and prefix of its codes; by default ``CPT``. UMLS has a source CPT, too, and two of
            one name are not merged.
        normalizer: The normalizer of every name: ``"none"`` (default), ``"lower"`` or ``"coder"``, the cleaning of HiPrBERT's code.

    Raises:
        InputError: With file and line: a code without a description, a description without a code, a code that is its
            own parent, a parent without a row or with characters that no code has, a malformed row. Also: no such file,
            no such column, grouping nodes without headings, a name with other characters than codes have.
    """
    check_name("missing of reader 'cpt'", missing, _MISSING)
    if missing == "group" and not headings:
        raise InputError(
            "missing=group of reader 'cpt' keeps headings without a name, which headings=false leaves out"
        )
    if not _CURIE_PART.fullmatch(name):
        raise InputError(f"name of reader 'cpt' {name!r} {_NOT_A_CODE}")
    clean = name_normalizer(normalizer)
    path = check_file(path)
    further = listed("synonyms", synonyms)
    columns = [_CODE, _DESCRIPTION, *([_PARENT] if hierarchy else []), *((column,) for column in further)]
    yield replace(SOURCE, name=name, version=year_in_name(path))
    names: dict[str, set[str]] = {}
    left_out: set[str] = set()
    parents: dict[tuple[str, str], int] = {}
    for line, row in read_table(path, columns, dialect=dialect, encoding=resolve_encoding(path, encoding, tally)):
        code, description, *others = (cell.strip() for cell in row)
        parent = others.pop(0) if hierarchy else ""
        bare = missing == "group" and not any((description, *others))
        _check(f"{path}:{line}", code, description or bare, parent)
        tally.read(1 + len(others) + bool(parent))
        if not headings and not _PROCEDURE.fullmatch(code):
            left_out.add(code)
            tally.drop("headings", 1 + len(others))
            tally.drop("parents of headings", int(bool(parent)))
            continue
        if bare:
            tally.drop("empty names", 1 + len(others))
        for text in () if bare else map(clean, (description, *others)):
            known = names.setdefault(code, set())
            if not text or text in known:
                tally.drop("repeated names of a code" if text else "empty names")
                continue
            tally.keep()
            yield Term(f"{name}:{code}", text, "synonym" if known else "preferred", source=name)
            known.add(text)
        if (code, parent) in parents:
            tally.drop("repeated parents of a code")
        elif parent:
            parents[code, parent] = line
    yield from _hierarchy(path, name, names, parents, left_out, missing, tally)


def _hierarchy(
    path: Path,
    name: str,
    names: Container[str],
    parents: Mapping[tuple[str, str], int],
    left_out: Container[str],
    missing: str,
    tally: Tally,
) -> Iterator[Record]:
    """The parents between described codes and grouping nodes; ``parents`` has the line of each code and its parent."""
    nameless = grouping_nodes(names, parents) if missing == "group" else set()
    for (code, parent), line in parents.items():
        if missing == "group" and not _CURIE_PART.fullmatch(parent):
            raise InputError(f"{path}:{line}: parent {parent!r} {_NOT_A_CODE}")
        if all(end in names or end in nameless for end in (code, parent)):
            tally.keep()
            yield Parent(f"{name}:{code}", f"{name}:{parent}", name)
        elif parent in left_out:
            tally.drop("parents that are headings")
        elif missing == "group":
            tally.drop("parents of codes without a described code below them")
        elif missing == "drop":
            tally.drop("parents without a row of their own")
        else:
            raise InputError(
                f"{path}:{line}: parent {parent!r} of {code!r} has no row; missing=drop leaves it out, missing=group keeps "
                "it without a name"
            )
    for code in sorted(nameless):
        yield Grouping(f"{name}:{code}")


def _check(where: str, code: str, description: str | bool, parent: str) -> None:
    """Reject a row that does not describe a concept."""
    if not code:
        raise InputError(f"{where}: description {description!r} has no code")
    if not _CURIE_PART.fullmatch(code):
        raise InputError(f"{where}: code {code!r} {_NOT_A_CODE}")
    if not description:
        raise InputError(f"{where}: code {code!r} has an empty description")
    if code == parent:
        raise InputError(f"{where}: code {code!r} is its own parent")
