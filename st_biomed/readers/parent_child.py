"""Any hierarchy in two tables, a parent-child map and a code-string map (HiPrBERT's input), or in a combined table.

A code-string table without parents, or a ``code||name`` file, gives a terminology of synonyms without a hierarchy.
Names in several languages can be in one table with a column for the language; a third table can hold relations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file, dialect_name, read_header, read_table
from st_biomed.files.encodings import resolve_encoding
from st_biomed.files.gzipped import open_decompressed
from st_biomed.readers._curies import in_source
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._grouping_nodes import grouping_nodes
from st_biomed.readers._languages import language_of
from st_biomed.records import Definition, Grouping, Parent, Record, Relation, SourceInfo, Tally, Term, single_spaced

_Rows = Iterator[tuple[str, Sequence[str]]]

SOURCE = SourceInfo(
    name="PARENT_CHILD",
    title="Tables of the user's own",
    license="not stated",
    url="not stated",
)

# Usual names of columns, the most likely first.
_USUAL_NAMES = {
    "parent": ("parent", "parent_code", "parent_id", "immediate_parent"),
    "child": ("child", "child_code", "child_id", "code", "id"),
    "code": ("code", "id", "concept", "concept_id", "cui", "curie"),
    "string": ("string", "str", "name", "term", "label", "text", "code_text", "description"),
    "language": ("language", "lang"),
    "definition": ("definition", "def"),
    "head": ("head", "subject", "subject_id", "source"),
    "relation": ("relation", "predicate", "predicate_id", "rela", "rel"),
    "tail": ("tail", "object", "object_id", "target"),
}
_MISSING = ("error", "drop", "group")
_REMEDY = "missing=drop drops such rows, missing=group keeps such parents without a name"


def records(  # noqa: PLR0913 - all differences between users' tables
    path: Path | None = None,
    *,
    tally: Tally,
    strings: str | Path | None = None,
    relations: str | Path | None = None,
    dialect: str | None = None,
    header: bool = True,
    parent: str | None = None,
    child: str | None = None,
    code: str | None = None,
    string: str | None = None,
    definition: str | None = None,
    name: str | None = None,
    version: str = "",
    license: str = "not stated",
    language: str = "en",
    redistributable: bool = False,
    missing: str = "error",
    encoding: str = "",
) -> Iterator[Record]:
    """Read a parent-child map, its code-string map, and a table of relations.

    The first string of a code is its preferred name, the others are synonyms. A row of the map without a parent
    belongs to a root and is counted. A code may have several parents.

    A code-string table that also has a column of parents (``code,name,parent``) is the map as well: it is read
    as one table and then as the other. Other columns are ignored.

    Args:
        path: The parent-child map, or the code-string table if ``strings`` is not given.
        tally: Counts the rows of all tables; those of a combined table, twice; and the definitions.
        strings: The code-string table. By default ``path`` is it.
        relations: A table of triples, by default none: ``head`` (or ``subject``, ``subject_id``, ``source``),
            ``relation`` (``predicate``, ``predicate_id``, ``rela``, ``rel``) and ``tail`` (``object``, ``object_id``,
            ``target``); head and tail are codes of the code-string table.
        dialect: Dialect of all tables: ``csv``, ``semicolon``, ``tsv``, ``tsv_quoted``, ``double_pipe`` or ``rrf``; by
            default the suffix of each file decides: ``.csv``, ``.tsv``, or ``.txt`` for ``code||name``.
        header: Whether line 1 names the columns; on by default. Otherwise the columns are parent and child, code and
            string, or head, relation and tail, in this order. ``code||name`` files never have a header.
        parent: Name of the column with the parent's code; by default ``parent``,
            ``parent_code``, ``parent_id``, ``immediate_parent``.
        child: Name of the column with the child's code; by default ``child``, ``child_code``, ``child_id``, ``code``,
            ``id``, or, for a combined table, its code column.
        code: Name of the code column of the code-string table; by default ``code``, ``id``, ``concept``,
            ``concept_id``, ``cui``, ``curie``.
        string: Name of its string column; by default ``string``, ``str``, ``name``, ``term``, ``label``, ``text``,
            ``code_text``, ``description``.
        definition: Name of its column of definitions, with empty cells allowed; by default ``definition`` or ``def``
            if there is one. A definition belongs to the code and has the language of its row.
        name: Short name of the source and prefix of its codes, unless they contain it already; by default derived from
            the file's name.
        version: Edition of the source; by default 12 hexadecimal digits of the tables' SHA-256. Two different tables
            with the same name are then two versions, which ``Terminology.merge`` rejects; with an explicit version
            they are parts of one source.
        license: License of the source; "not stated" by default.
        language: ISO 639-1 code of the strings; ``en`` by default. A column ``language`` or ``lang`` of the
            code-string table sets it for each string; this value is for empty cells.
        redistributable: Whether the strings may appear in a released file; off by default.
        missing: The treatment of a row of the map or of the relations whose code has no string: ``"error"`` (default),
            ``"drop"``, which leaves the row out and counts it, or ``"group"``, which makes a grouping node of the code if
            the map has a code with a string below it: it is part of the hierarchy and has no name. Other rows are left
            out and counted, relations among them.
        encoding: Encoding of all tables, e.g. ``cp1252``; by default each is UTF-8, or UTF-16 if it begins with a byte
            order mark.

    Raises:
        InputError: With file and line: a code without a string, a string without a code, an empty string, a code that
            is its own parent, an incomplete triple, a malformed row. Also: no table, no such column, no row
            with a parent in a map or in a named column of parents.
    """
    check_name("missing of reader 'parent_child'", missing, _MISSING)
    language = language_of("language", language)
    tables = [check_file(table) for table in (path, strings) if table is not None]
    if not tables:
        raise InputError("reader 'parent_child' needs the path of a code-string table, or of a map with strings=TABLE")
    name = name or re.sub(r"\W+", "_", tables[0].name.split(".")[0])
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"name of reader 'parent_child' must be letters, digits, '_', '.' or '-', found {name!r}")
    triples = [check_file(relations)] if relations is not None else []
    version = version or _content_version([*tables, *triples])
    yield SourceInfo(name, name, version, license, "not stated", redistributable)

    # The form of a combined table is determined once.
    forms = {
        table: _Table(table, dialect or dialect_name(table), header, resolve_encoding(table, encoding, tally))
        for table in dict.fromkeys([*tables, *triples])
    }
    named, hierarchy = forms[tables[-1]], forms[tables[0]]
    known: set[str] = set()
    curie = partial(in_source, name)
    columns: dict[str, str | tuple[str, ...]] = {
        "code": code or _USUAL_NAMES["code"],
        "string": string or _USUAL_NAMES["string"],
    }
    for optional, column_name in (("language", None), ("definition", definition)):
        if named.has(optional, column_name):
            columns[optional] = column_name or _USUAL_NAMES[optional]
    for concept, text, spoken, meaning in _strings(named.rows(columns), list(columns), language, curie, tally):
        if text:
            kind = "synonym" if concept in known else "preferred"
            yield Term(concept, text, kind, spoken, name)
        known.add(concept)
        if meaning:
            yield Definition(concept, meaning, spoken, name)
    needed = named.path if missing == "error" else None
    for table in triples:
        rows = forms[table].rows({role: _USUAL_NAMES[role] for role in ("head", "relation", "tail")})
        for head, relation, tail in _triples(rows, curie, tally, known, needed):
            yield Relation(head, relation, tail, name)
    combined = len(tables) == 1
    if combined and not named.has("parent", parent):
        return
    own = (code or _USUAL_NAMES["code"]) if combined else _USUAL_NAMES["child"]
    map_columns = {"parent": parent or _USUAL_NAMES["parent"], "child": child or own}
    nameless = set[str]()
    if missing == "group":
        edges = ((curie(below), curie(above)) for _, (above, below) in hierarchy.rows(map_columns) if above and below)
        nameless = grouping_nodes(known, edges)
    empty = True
    for above, below in _pairs(hierarchy.rows(map_columns), curie, tally, known | nameless, needed):
        yield Parent(below, above, name)
        empty = False
    if empty and (not combined or parent is not None):
        raise InputError(f"{hierarchy.path}: no row has a parent and a child; the hierarchy is empty")
    for concept in sorted(nameless):
        yield Grouping(concept)


def _content_version(tables: Sequence[Path]) -> str:
    sha = hashlib.sha256()
    for table in tables:
        with open_decompressed(table) as (stream, _):  # unpacked, because two gzip files of one table may differ
            sha.update(hashlib.file_digest(stream, "sha256").digest())
    return sha.hexdigest()[:12]


class _Table(NamedTuple):
    """A table: arguments of :func:`~st_biomed.files.delimited.read_table`, and whether it has a header."""

    path: Path
    dialect: str
    has_header: bool
    encoding: str

    @property
    def columns(self) -> set[str]:
        """The normalized names of the columns; none without a header."""
        if not self.has_header or self.dialect == "double_pipe":
            return set()
        header = read_header(self.path, dialect=self.dialect, encoding=self.encoding)
        return {"_".join(column.lower().split()) for column in header}

    def has(self, column: str, column_name: str | None) -> bool:
        """Whether to read a table of strings for another column: the column is named, or has one of the usual names.

        Args:
            column: A key of ``_USUAL_NAMES``.

        Raises:
            InputError: A column is named, but the table has no header.
        """
        columns = self.columns
        if columns:
            return column_name is not None or not columns.isdisjoint(_USUAL_NAMES[column])
        if column_name is not None:
            raise InputError(f"{self.path}: has no header, so no column can have the name {column_name!r} ({column})")
        return False

    def rows(self, columns: Mapping[str, str | tuple[str, ...]]) -> _Rows:
        """``file:line`` and the stripped cells of each row.

        Raises:
            InputError: A column is named, but the table has no header.
        """
        named = [name for name in columns.values() if isinstance(name, str)]
        if named and not self.columns:
            raise InputError(f"{self.path}: has no header, so no column can have the name {named[0]!r}")
        if self.has_header and self.dialect != "double_pipe":
            table = read_table(self.path, list(columns.values()), dialect=self.dialect, encoding=self.encoding)
        else:
            table = read_table(self.path, dialect=self.dialect, header=tuple(columns), encoding=self.encoding)
        for line, cells in table:
            yield f"{self.path}:{line}", [cell.strip() for cell in cells]


def _strings(
    rows: _Rows, columns: Sequence[str], language: str, curie: Callable[[str], str], tally: Tally
) -> Iterator[tuple[str, str, str, str]]:
    """CURIE, string, language and definition of each row.

    A repeated or missing string or definition is empty; a missing language is ``language``.
    """
    strings = DuplicateFilter(tally, "repeated strings of a code")
    definitions = DuplicateFilter(tally, "repeated definitions of a code")
    for where, row in rows:
        cell = {"language": "", "definition": "", **dict(zip(columns, row))}
        code, string, definition = cell["code"], cell["string"], single_spaced(cell["definition"])
        spoken = language_of(where, cell["language"]) if cell["language"] else language
        tally.read()
        if not code:
            raise InputError(f"{where}: string {string!r} has no code")
        if not string:
            raise InputError(f"{where}: code {code!r} has an empty string")
        code = curie(code)
        if not strings.keep(code, string, spoken):
            string = ""
        if definition and not definitions.read(code, definition, spoken):
            definition = ""
        yield code, string, spoken, definition


def _pairs(
    rows: _Rows, curie: Callable[[str], str], tally: Tally, known: set[str], strings: Path | None
) -> Iterator[tuple[str, str]]:
    """The CURIEs of the distinct ``(parent, child)`` rows; codes without a string are an error if their table is given."""
    pairs = DuplicateFilter(tally, "repeated map rows")
    for where, (parent, child) in rows:
        tally.read()
        if not child:
            raise InputError(f"{where}: parent {parent!r} has an empty child")
        if parent and curie(parent) == curie(child):
            raise InputError(f"{where}: code {child!r} is its own parent")
        unknown = [code for code in (parent, child) if code and curie(code) not in known]
        if unknown and strings is not None:
            raise InputError(f"{where}: code {unknown[0]!r} has no string in {strings}; {_REMEDY}")
        if unknown:
            tally.drop("map rows of a code without a string")
        elif not parent:
            tally.drop("map rows of a root")
        elif pairs.keep(*(pair := (curie(parent), curie(child)))):
            yield pair


def _triples(
    rows: _Rows, curie: Callable[[str], str], tally: Tally, known: set[str], strings: Path | None
) -> Iterator[tuple[str, str, str]]:
    """The distinct ``(head, relation, tail)`` rows, with CURIEs; codes without a string are an error if their table is given."""
    triples = DuplicateFilter(tally, "repeated relations")
    for where, (head, relation, tail) in rows:
        tally.read()
        if not (head and relation and tail):
            raise InputError(f"{where}: a relation needs head, relation and tail, found {(head, relation, tail)}")
        unknown = [code for code in (head, tail) if curie(code) not in known]
        if unknown and strings is not None:
            raise InputError(f"{where}: code {unknown[0]!r} has no string in {strings}; missing=drop drops such rows")
        if unknown:
            tally.drop("relations of a code without a string")
        elif triples.keep(*(triple := (curie(head), relation, curie(tail)))):
            yield triple
