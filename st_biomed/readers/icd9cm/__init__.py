"""ICD-9-CM in its published forms: CMS's code files, the tabular list, a table with chapters, the Italian tree.

Chapters and blocks have no codes. Their code is their range, e.g. ``ICD9CM:001-139``, and ``ICD9CM:042-042`` for a
block of one category. Procedures have their own prefix, ``ICD9PROC:00.10``, because their codes without points look
like those of diagnoses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.encodings import WINDOWS, resolve_encoding
from st_biomed.readers.icd9cm.concepts import DIAGNOSES, PROCEDURES, Concept
from st_biomed.readers.icd9cm.flat import CODE_LINE, read_code_file, read_hierarchy_table
from st_biomed.readers.icd9cm.notes import LISTED
from st_biomed.readers.icd9cm.partial_terms import without_parts
from st_biomed.readers.icd9cm.tabular import inclusion_terms, read_tabular
from st_biomed.readers.icd9cm.tree import read_tree
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term

SOURCE = SourceInfo(
    name=DIAGNOSES,
    title="International Classification of Diseases, 9th Revision, Clinical Modification",
    license="US public domain (CDC/NCHS, CMS)",
    url="https://www.cdc.gov/nchs/icd/icd9cm.htm",
    redistributable=True,
)
SOURCE_PROCEDURES = replace(SOURCE, name=PROCEDURES, title=f"{SOURCE.title}, procedures")
SOURCE_ITALIAN = SourceInfo(
    name="ICD9CM_IT",
    title="ICD-9-CM, Italian edition",
    license="not stated (Ministry of Health)",
    url="https://www.salute.gov.it",
)
PATH = "a code file, a tabular list, a table or a tree"

_FORMS = ("auto", "codes", "tabular", "table", "tree")
_CODES = ("auto", "diagnoses", "procedures")
_INCLUDES = ("none", "categories", "all")
_CAPITALS = re.compile(r"(\d{1,2}\.\s+)?[A-Z][^a-z'\"]*")  # a title in front of the tabular list


def records(
    path: Path,
    *,
    tally: Tally,
    form: str = "auto",
    codes: str = "auto",
    includes: str = "categories",
    short_names: bool = False,
    parts: bool = False,
    tabular: str | Path | None = None,
) -> Iterator[Record]:
    r"""Read titles as preferred names, inclusion terms as synonyms, and the hierarchy.

    A file, plain or gzipped, in UTF-8 or in ``cp1252``, in which CMS publishes its files (the encoding is recorded), has one
    of four forms:

    - ``codes``: lines of a code without its point and a name (``CMS32_DESC_LONG_DX.txt``). Only codes that begin with
      another code have a parent.
    - ``tabular``: the tabular list as text (``Dtab12.txt``), with chapters, blocks and inclusion terms. Its titles
      depend on those above ("Due to Vibrio cholerae"). Codes that are defined by a table of fifth digits are missing.
    - ``table``: a CSV with the columns ``code``, ``short_desc``, ``long_desc``, ``three_digit``, ``major``,
      ``sub_chapter`` and ``chapter`` (``icd9cm_hierarchy`` of the R package icd). The range of a chapter or block is
      that of the categories in it.
    - ``tree``: the Italian edition as a TSV with the columns ``node_id``, ``parent_id``, ``section``, ``code``,
      ``label_it`` and ``notes_raw`` (``\n`` between lines), with procedures. Names are Italian, of the source
      ``ICD9CM_IT``.

    In notes, an item of a list is read with the head of the list. Not names are phrases that refer to other codes, the
    sites and substances of a title, and entries below several codes ("Leg", "complete"): see ``parts``. A title of the
    tree in lower case continues the one above and is read with it.

    Args:
        path: The file.
        tally: Counts the names, those of chapters and blocks once, and all other notes: a line of the tabular
            list, an entry of the tree's notes with the lines that continue it.
        form: One of the four; by default ``auto``: the first line decides.
        codes: For a code file: ``"diagnoses"`` or ``"procedures"``; by default ``auto``: procedures if the name of the
            file contains ``_SG``, as in CMS's names.
        includes: The "includes" notes that are synonyms: ``"categories"`` (default) those of categories and
            subcategories, ``"all"`` also those of chapters and blocks, which describe their scope and are not names,
            or ``"none"``. Inclusion terms, which follow a title without the word, are always synonyms.
        short_names: Whether the abbreviated names of a table are synonyms; off by default.
        parts: Whether inclusion terms that name only a part are synonyms: the sites of malignant tumors (140-195),
            single words below other tumors and injuries (up to 959), substances of poisonings and adverse effects
            (960-989, E850-E869, E930-E949), and terms of several codes or equal to the title of another; off by
            default.
        tabular: For a table or a code file: the tabular list whose inclusion terms become synonyms of the codes; by
            default none.

    Raises:
        InputError: With file and line: a malformed code, a code listed twice, an empty name, a parent that is not
            listed above it, a malformed row. Also: no such file, none of the forms, an unknown option value.
    """
    for name, value, allowed in (("form", form, _FORMS), ("codes", codes, _CODES), ("includes", includes, _INCLUDES)):
        check_name(f"{name} of reader 'icd9cm'", value, allowed)
    path = check_file(path)
    encoding = resolve_encoding(path, "", tally, fallback=WINDOWS)
    form = _recognized(path, encoding) if form == "auto" else form
    if tabular is not None and form not in ("codes", "table"):
        raise InputError(f"tabular of reader 'icd9cm' goes with a code file or a table; {path} is read as a {form}")
    source = SOURCE
    if form == "codes" and (codes == "procedures" or (codes == "auto" and "_SG" in path.name.upper())):
        source = SOURCE_PROCEDURES
    elif form == "tree":
        source = SOURCE_ITALIAN
        yield from (SOURCE, SOURCE_PROCEDURES)  # the prefixes of its codes
    version = re.search(r"CMS(\d\d)", path.name)
    yield replace(source, version=version[1] if version else "")

    concepts = list(_concepts(path, form, encoding, source, tally, includes, short_names))
    if form in ("tabular", "tree"):
        notes = {code: names[1:] for code, _, names in concepts}
        concepts = [concept._replace(names=concept.names[:1]) for concept in concepts]
    else:
        notes = _inclusion_terms(tabular, tally, includes) if tabular is not None else {}
    if not parts:
        notes = without_parts(notes, {code: names[0] for code, _, names in concepts}, tally)
    for code, parent, names in concepts:
        for i, name in enumerate(_distinct([*names, *notes.pop(code, ())], tally)):
            yield Term(code, name, "synonym" if i else "preferred", "it" if form == "tree" else "en", source.name)
        if parent:
            yield Parent(code, parent, source.name)
    for names in notes.values():
        tally.read_dropped("inclusion terms of codes that are not in the file", len(names))


def _recognized(path: Path, encoding: str) -> str:
    """The form of a file, from its first line."""
    _, first = next(read_lines(path, encoding=encoding), (0, ""))
    first = first.strip()
    columns = set(re.split(r"[,\t]", first.replace('"', "")))
    if {"code", "three_digit"} <= columns:
        return "table"
    if {"node_id", "parent_id"} <= columns:
        return "tree"
    if CODE_LINE.fullmatch(first) and not LISTED.fullmatch(first):
        return "codes"
    if LISTED.fullmatch(first) or _CAPITALS.fullmatch(first):
        return "tabular"
    raise InputError(
        f"{path}:1: is not the first line of a code file or tabular list, and does not have the columns of a table "
        f"(code, three_digit) or a tree (node_id, parent_id), found {first[:40]!r}; set form if it is one of them"
    )


def _concepts(
    path: Path, form: str, encoding: str, source: SourceInfo, tally: Tally, includes: str, short_names: bool
) -> Iterator[Concept]:
    if form == "codes":
        return read_code_file(path, source.name, encoding)
    if form == "table":
        return read_hierarchy_table(path, encoding, short_names)
    return (read_tabular if form == "tabular" else read_tree)(path, encoding, tally, includes)


def _inclusion_terms(tabular: str | Path, tally: Tally, includes: str) -> dict[str, list[str]]:
    path = check_file(tabular)
    return inclusion_terms(path, resolve_encoding(path, "", tally, fallback=WINDOWS), tally, includes)


def _distinct(names: list[str], tally: Tally) -> Iterable[str]:
    """A concept's distinct names."""
    distinct = dict.fromkeys(names)
    tally.read(len(names))
    tally.keep(len(distinct))
    tally.drop("repeated names of a concept", len(names) - len(distinct))
    return distinct
