"""LOINC: observations and their parts, from the unpacked folder of a release."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_header, read_table
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.readers._loinc_variants import variant_names
from st_biomed.readers._normalizers import name_normalizer
from st_biomed.readers._unpacked import unpacked
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="LOINC",
    title="Logical Observation Identifiers Names and Codes",
    license="LOINC license (Regenstrief Institute): free use with its notice, content not to be altered",
    url="https://loinc.org",
)
PATH = "the unpacked folder of a release, e.g. Loinc_2.77"

_CORE_TABLES = [f"{folder}LoincTableCore.csv" for folder in ("LoincTableCore/", "LoincTable/", "")]
_WHOLE_TABLES = [f"{folder}Loinc.csv" for folder in ("LoincTable/", "")]
_HIERARCHIES = [
    f"{folder}{name}.csv"
    for name in ("ComponentHierarchyBySystem", "MultiAxialHierarchy")
    for folder in (f"AccessoryFiles/{name}/", f"{name}/", "")
]
_STATUSES = ("ACTIVE", "TRIAL", "DISCOURAGED", "DEPRECATED")
_SYNONYMS = ("SHORTNAME", "DisplayName", "COMPONENT", "CONSUMER_NAME")
_ONLY_IN_WHOLE = {"DisplayName", "CONSUMER_NAME"}
_CODE = re.compile(r"\d{1,7}-\d")
_PART = re.compile(r"LP\d+-\d")


def records(
    path: Path,
    *,
    tally: Tally,
    synonyms: str | Sequence[str] = "SHORTNAME",
    statuses: str | Sequence[str] = "ACTIVE,TRIAL,DISCOURAGED",
    hierarchy: bool = True,
    languages: str | Sequence[str] = "",
    normalizer: str = "none",
) -> Iterator[Record]:
    """Read LOINC codes and, as their ancestors, LP parts.

    The preferred name of a code is its ``LONG_COMMON_NAME``, that of a part its ``CODE_TEXT`` in the hierarchy. A code
    may have several parents. The version is the newest ``VersionLastChanged`` in the table.

    Names in other languages are synonyms of the codes: ``LONG_COMMON_NAME`` and ``LinguisticVariantDisplayName`` of the
    linguistic variants, and, if they are in ``synonyms``, ``SHORTNAME`` and ``COMPONENT``. A code of which a variant
    translates only other parts has no name in its language.

    Args:
        path: The unpacked release (``Loinc_2.77``), or a folder with its tables, which may be gzipped. The tables are
            ``LoincTableCore.csv`` or else ``Loinc.csv`` (the other way around if ``synonyms`` are only in the latter),
            and ``ComponentHierarchyBySystem.csv`` or else ``MultiAxialHierarchy.csv``, in the folders of a release or in
            the folder itself.
        tally: Counts the rows of both tables and of the variants.
        synonyms: Columns whose cells are synonyms, among ``SHORTNAME``, ``DisplayName`` and ``CONSUMER_NAME`` (both
            only in ``Loinc.csv``) and ``COMPONENT``, which names what is measured and is broader than the code; e.g.
            ``"SHORTNAME,COMPONENT"``, or ``""`` for none; by default ``SHORTNAME``. Empty cells and repeated names are
            not synonyms.
        statuses: The codes to read, among ``ACTIVE``, ``TRIAL``, ``DISCOURAGED`` and ``DEPRECATED``; by default all
            but the last. Others are counted.
        hierarchy: Whether to read the hierarchy and its parts; on by default.
        languages: Linguistic variants to read: ``"it"`` for all of a language, ``"es-MX"`` for that of a country, e.g.
            ``"it,es-MX"``, or ``"all"``; by default none. They are in ``AccessoryFiles/LinguisticVariants``, in
            ``LinguisticVariants`` or in the folder itself, listed by ``LinguisticVariants.csv``.
        normalizer: The normalizer of every name: ``"none"`` (default), ``"lower"`` or ``"coder"``, the cleaning of HiPrBERT's code.

    Raises:
        InputError: With file and line: an invalid code or a code that is listed twice, an empty name, an unknown
            status, a code that is its own parent, a malformed row. Also: no such folder, table, column or language.
    """
    path = unpacked(Path(path), "unpacked folder of a LOINC release")
    chosen = listed("synonyms of reader 'loinc'", synonyms, _SYNONYMS)
    kept = listed("statuses of reader 'loinc'", statuses, _STATUSES)
    whole_first = bool(_ONLY_IN_WHOLE & set(chosen))
    tables = [*_WHOLE_TABLES, *_CORE_TABLES] if whole_first else [*_CORE_TABLES, *_WHOLE_TABLES]
    table = _find(path, tables, "")
    parts = _find(path, _HIERARCHIES, "; hierarchy=False reads only the codes") if hierarchy else None
    clean = name_normalizer(normalizer)
    known: set[str] = set()
    yield from _codes(table, tally, chosen, kept, known, clean)
    if spoken := listed("languages", languages):
        yield from variant_names(path, spoken, chosen, known, SOURCE.name, tally, clean)
    if parts is not None:
        yield from _hierarchy(parts, tally, known, clean)


def _find(folder: Path, names: Sequence[str], advice: str) -> Path:
    """The first of several files that exists, plain or gzipped."""
    for name in names:
        if file := plain_or_gzipped(folder / name):
            return file
    raise InputError(f"{folder}: contains none of {', '.join(names)}{advice}")


def _codes(
    path: Path,
    tally: Tally,
    chosen: Sequence[str],
    kept: Sequence[str],
    known: set[str],
    clean: Callable[[str], str],
) -> Iterator[Record]:
    """The names of the codes, which are added to ``known``, and the source with its version."""
    columns = ["LOINC_NUM", "STATUS", "LONG_COMMON_NAME", *chosen]
    if "VersionLastChanged" in read_header(path, dialect="csv"):
        columns.append("VersionLastChanged")
    listed_codes: set[str] = set()
    newest: tuple[int, ...] = ()
    for line, row in read_table(path, columns, dialect="csv"):
        number, status, *names = (cell.strip() for cell in row)
        if not _CODE.fullmatch(number):
            raise InputError(f"{path}:{line}: {number!r} is not a LOINC code; they look like 2345-7")
        if number in listed_codes:
            raise InputError(f"{path}:{line}: LOINC code {number} is listed twice")
        if status not in _STATUSES:
            raise InputError(f"{path}:{line}: STATUS must be one of {', '.join(_STATUSES)}, found {status!r}")
        listed_codes.add(number)
        tally.read()
        if len(columns) > 3 + len(chosen):
            changed = names.pop()
            if re.fullmatch(r"\d{1,9}(\.\d{1,9})*", changed):
                newest = max(newest, tuple(map(int, changed.split("."))))
        if status not in kept:
            tally.drop(f"{status.lower()} codes")
            continue
        if not names[0]:
            raise InputError(f"{path}:{line}: LOINC code {number} has an empty LONG_COMMON_NAME")
        tally.keep()
        known.add(number)
        for i, name in enumerate(dict.fromkeys(map(clean, filter(None, names)))):
            yield Term(f"{SOURCE.name}:{number}", name, "synonym" if i else "preferred")
    yield replace(SOURCE, version=".".join(map(str, newest)))


def _hierarchy(path: Path, tally: Tally, known: set[str], clean: Callable[[str], str]) -> Iterator[Record]:
    """The names of the parts, and the parents of parts and codes.

    Args:
        path: The hierarchy, with its rows in any order.
        tally: Counts its rows.
        known: The codes with a name; the parts are added.
    """
    rows: list[tuple[str, str]] = []
    for line, row in read_table(path, ["IMMEDIATE_PARENT", "CODE", "CODE_TEXT"], dialect="csv"):
        parent, code, text = (cell.strip() for cell in row)
        if not _PART.fullmatch(code) and not _CODE.fullmatch(code):
            raise InputError(
                f"{path}:{line}: CODE must be a part like LP14449-0 or a code like 2345-7, found {code!r}"
            )
        if code == parent:
            raise InputError(f"{path}:{line}: code {code!r} is its own parent")
        tally.read()
        rows.append((code, parent))
        if code not in known and _PART.fullmatch(code):
            if not text:
                raise InputError(f"{path}:{line}: part {code} has an empty CODE_TEXT")
            known.add(code)
            yield Term(f"{SOURCE.name}:{code}", clean(text))
    seen: set[tuple[str, str]] = set()
    for code, parent in rows:
        if code not in known:
            tally.drop("hierarchy rows of a code that is left out")
        elif (code, parent) in seen:
            tally.drop("repeated hierarchy rows")
        elif parent and parent not in known:
            tally.drop("hierarchy rows below a code without a name")
        else:
            tally.keep()
            if parent:
                yield Parent(f"{SOURCE.name}:{code}", f"{SOURCE.name}:{parent}")
        seen.add((code, parent))
