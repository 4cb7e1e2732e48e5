"""Translations of an ontology's names and definitions: Babelon tables, such as those of HPO, and tables of synonyms.

The codes are those of the ontology, so that ``Terminology.merge`` combines the names with the English ones. Each
language is a separate source, ``HP-IT`` for the Italian names of HPO.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError, unknown_name
from st_biomed.files.delimited import read_header, read_table
from st_biomed.readers._curies import curie, describe
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._languages import language_of
from st_biomed.readers._ontology import SCOPES
from st_biomed.records import Definition, Record, SourceInfo, Tally, Term, single_spaced
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="BABELON",
    title="Translations of an ontology",
    license="as the ontology",
    url="https://github.com/monarch-initiative/babelon",
)
PATH = "a table of translations, e.g. hp-it.babelon.tsv"

# The name of each column in Babelon and in DOID's tables.
_COLUMNS = {
    "subject_id": ("subject_id", "source_id"),
    "translation_value": ("translation_value", "translation_text"),
    "predicate_id": ("predicate_id", "predicate"),
    "translation_language": ("translation_language", "translation_lang"),
    "translation_status": ("translation_status", "status"),
}
_NEEDED = ("subject_id", "translation_value")
_STATUSES = ("OFFICIAL", "TRANSLATED", "MANUALLY TRANSLATED", "CANDIDATE", "UNDER_REVIEW", "NOT_TRANSLATED")
_STATUS = re.compile(r"[A-Z][A-Z_ ]*")
_STATUS_OF_SYNONYMS = ("status", "comment")  # some tables of synonyms have the status in the column of remarks
_SYNONYM = re.compile(
    r"(?:oboInOwl|oio):has(Exact|Broad|Narrow|Related)Synonym|oio:(exact|broad|narrow|related)Synonym"
)
_DEFINITION = "IAO:0000115"
# The second line of a table of synonyms: "AL oboInOwl:hasExactSynonym@it SPLIT=|".
_TEMPLATE = re.compile(r"AL? (\S+?)(?:@([\w-]+))?(?: SPLIT=(\S))?")


class _Wanted(NamedTuple):
    """The translations to read."""

    statuses: Sequence[str]
    scopes: Sequence[str]
    definitions: bool


class _Text(NamedTuple):
    """A translated name or definition."""

    code: str
    text: str
    predicate: str
    language: str


def records(
    path: Path,
    *,
    tally: Tally,
    synonyms: str | Path | None = None,
    statuses: str | Sequence[str] = "OFFICIAL,TRANSLATED,MANUALLY TRANSLATED",
    scopes: str | Sequence[str] = "EXACT",
    definitions: bool = True,
) -> Iterator[Record]:
    """Read translated labels as preferred names, translated synonyms as synonyms, and translated definitions.

    The first label of a term is preferred, its other labels are synonyms. A term without a label has its first synonym
    as preferred name. The definition of a term without any name is left out.

    Args:
        path: A Babelon table (``hp-it.babelon.tsv``), a table of synonyms (``hp-it.synonyms.tsv``, whose second line
            is a ROBOT template that names the language), or DOID's ``doid-es-translated.tsv``.
        tally: Counts the names and definitions of both tables; a cell of a table of synonyms holds several with ``|``
            between.
        synonyms: A table of synonyms to read as well; by default none.
        statuses: Statuses of the translations to read, separated by commas: ``OFFICIAL``, ``TRANSLATED`` and
            ``MANUALLY TRANSLATED`` by default. ``CANDIDATE`` and ``UNDER_REVIEW`` are proposals, many of them by a
            machine; ``NOT_TRANSLATED`` are in the source language. Any other status must occur in the tables. Tables
            without statuses count as ``OFFICIAL``.
        scopes: Scopes of the synonyms to read, separated by commas: ``EXACT`` (default), ``BROAD``, ``NARROW``,
            ``RELATED``.
        definitions: Whether to read definitions; on by default.

    Raises:
        InputError: With file and line: a code that is not a CURIE, no language, an unknown predicate. Also: a table
            without the columns, an unknown status or scope.
    """
    wanted = _Wanted(listed("status", statuses), listed("scope", scopes, SCOPES), definitions)
    names: dict[tuple[str, str], list[_Text]] = {}
    defined: dict[tuple[str, str], list[str]] = {}
    met: set[str] = set()
    for table in [path] if synonyms is None else [path, Path(synonyms)]:
        for row in _texts(table, tally, wanted, met):
            if row.predicate == _DEFINITION:
                defined.setdefault((row.code, row.language), []).append(row.text)
            else:
                names.setdefault((row.code, row.language), []).append(row)
    for status in wanted.statuses:
        if status not in {*_STATUSES, *met}:
            # Remarks in the column of statuses would make a long list.
            allowed = {*_STATUSES, *filter(_STATUS.fullmatch, met)}
            raise unknown_name("status of reader 'babelon' (no translation has it)", status, allowed)
    sources: dict[tuple[str, str], str] = {}
    named = {code for code, _ in names}
    once = DuplicateFilter(tally, "repeated definitions of a concept")
    for code, language in dict.fromkeys([*names, *(key for key in defined if key[0] in named)]):
        prefix = code.partition(":")[0]
        if (prefix, language) not in sources:
            own = describe(prefix)
            sources[prefix, language] = f"{prefix}-{language.upper()}"
            yield own  # declares the prefix
            title = f"{own.title}, names in language {language!r}"
            yield replace(own, name=sources[prefix, language], title=title)
        source, translations = sources[prefix, language], names.get((code, language), [])
        ordered = dict.fromkeys(
            name.text for name in sorted(translations, key=lambda name: name.predicate != "rdfs:label")
        )
        tally.keep(len(ordered))
        tally.drop("repeated names of a concept", len(translations) - len(ordered))
        for i, text in enumerate(ordered):
            yield Term(code, text, "synonym" if i else "preferred", language, source)
        for text in map(single_spaced, defined.pop((code, language), ())):
            if once.keep(code, language, text):
                yield Definition(code, text, language, source)
    tally.drop("definitions of a term without a name", sum(map(len, defined.values())))


def _texts(path: Path, tally: Tally, wanted: _Wanted, met: set[str]) -> Iterator[_Text]:
    """The requested names and definitions of a table; all others are dropped. The statuses are added to ``met``."""
    header = {"_".join(name.lower().split()) for name in read_header(path, dialect="tsv_quoted")}
    columns = dict(_COLUMNS)
    if not header & set(columns["translation_language"]):
        columns["translation_status"] = _STATUS_OF_SYNONYMS
    columns = {column: names for column, names in columns.items() if column in _NEEDED or header & set(names)}
    template: re.Match[str] | None = None
    for line, cells in read_table(path, list(columns.values()), dialect="tsv_quoted"):
        where = f"{path}:{line}"
        cell = {column: text.strip() for column, text in zip(columns, cells)}
        if cell["subject_id"] == "ID":
            template = _TEMPLATE.fullmatch(cell["translation_value"])
            if template is None:
                raise InputError(f"{where}: is not a template of synonyms, found {cell['translation_value'][:40]!r}")
            tally.read_dropped("template lines")
            continue
        predicate, tongue, separator = template.groups("") if template else ("rdfs:label", "", "")
        predicate, tongue = cell.get("predicate_id", predicate), cell.get("translation_language", tongue)
        code = curie(cell["subject_id"])
        if code is None:
            raise InputError(f"{where}: {cell['subject_id'][:40]!r} is not a code of an ontology, such as HP:0000001")
        language = language_of(where, tongue)
        status = cell.get("translation_status", "OFFICIAL")
        met.add(status)
        reason = _reason(where, predicate, status, wanted)
        value = cell["translation_value"]
        for text in value.split(separator or "|") if template else [value]:
            tally.read()
            if reason or not text.strip():
                tally.drop(reason or ("empty definitions" if predicate == _DEFINITION else "empty names"))
            else:
                yield _Text(code, text.strip(), predicate, language)


def _reason(where: str, predicate: str, status: str, wanted: _Wanted) -> str:
    """The reason for dropping a name or definition; empty if it is kept."""
    synonym = _SYNONYM.fullmatch(predicate)
    scope = (synonym[1] or synonym[2]).upper() if synonym else ""
    if predicate == _DEFINITION and not wanted.definitions:
        return "definitions"
    if not synonym and predicate not in ("rdfs:label", _DEFINITION):
        raise InputError(
            f"{where}: predicate {predicate[:40]!r} must be one of rdfs:label, IAO:0000115 or "
            "oboInOwl:hasExactSynonym (or Broad, Narrow, Related)"
        )
    if scope and scope not in wanted.scopes:
        return f"{scope} synonyms"
    return "" if status in wanted.statuses else f"translations with status {status or '(none)'}"
