"""HGNC: human genes with their approved names, from the complete set of the HUGO Gene Nomenclature Committee."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file, read_table
from st_biomed.readers._curies import canonical_prefix
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term, Type, Xref
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="HGNC",
    title="HUGO Gene Nomenclature Committee",
    license="CC0-1.0",
    url="https://www.genenames.org",
    redistributable=True,
)
_GROUPS = replace(SOURCE, name="HGNC_GROUP", title="Gene groups of the HUGO Gene Nomenclature Committee")
PATH = "hgnc_complete_set.txt"

_CODE = re.compile(r"HGNC:\d{1,6}")
_GROUP = re.compile(r"\d{1,6}")
_APPROVED = "Approved"
_NAMES = ("symbol", "name")
_ALIASES = ("alias_symbol", "alias_name")
_PREVIOUS = ("prev_symbol", "prev_name")
# Column to the prefix of its identifiers; the older file names groups families.
_XREFS = {
    "entrez_id": canonical_prefix("entrez"),
    "ensembl_gene_id": canonical_prefix("ensembl"),
    "omim_id": canonical_prefix("omim"),
    "orphanet": canonical_prefix("orphanet"),
    "uniprot_ids": canonical_prefix("uniprot"),
}
_COLUMNS: dict[str, str | tuple[str, ...]] = {
    **{name: name for name in ("hgnc_id", "status", "locus_type", *_NAMES, *_ALIASES, *_PREVIOUS)},
    "gene_group": ("gene_group", "gene_family"),
    "gene_group_id": ("gene_group_id", "gene_family_id"),
}
_GROUPINGS = ("parents", "types", "none")


def records(
    path: Path,
    *,
    tally: Tally,
    preferred: str = "symbol",
    previous: bool = False,
    groups: str = "parents",
    xrefs: str | Sequence[str] = "entrez_id,ensembl_gene_id,omim_id",
) -> Iterator[Record]:
    """Read approved symbols and names, aliases, gene groups as parents, and cross-references.

    A gene has the approved symbol as preferred name, and the approved name, alias symbols and alias names as synonyms.
    Gene groups are concepts ``HGNC_GROUP:588`` above their genes. The type of a gene is its locus type, e.g.
    ``gene with protein product``. Entries whose status is not ``Approved`` are dropped and counted.

    Args:
        path: The table ``hgnc_complete_set.txt``; cells with several values are separated by ``|``.
        tally: Counts names, types, groups, cross-references, and entries that are dropped.
        preferred: The preferred name: ``symbol`` (default) or ``name``. The other one is a synonym.
        previous: Whether to read previous symbols and names as synonyms; off by default, since a previous symbol may be
            the approved symbol of another gene.
        groups: ``parents`` (default) for gene groups above their genes; ``types`` for their names as types of the genes;
            ``none``.
        xrefs: Columns of identifiers that are cross-references, among ``entrez_id``, ``ensembl_gene_id``, ``omim_id``,
            ``orphanet`` and ``uniprot_ids``, separated by commas; by default ``entrez_id,ensembl_gene_id,omim_id``.

    Raises:
        InputError: With file and line: an invalid or repeated identifier, an approved entry without symbol or name, groups
            without as many identifiers, a group with two names, a malformed row. Also: a missing column.
    """
    for option, value, allowed in (("preferred", preferred, _NAMES), ("groups", groups, _GROUPINGS)):
        check_name(f"{option} of reader 'hgnc'", value, allowed)
    references = listed("xrefs", xrefs, _XREFS)
    path = check_file(path)
    columns = {**_COLUMNS, **{name: name for name in references}}
    names = (preferred, *(name for name in _NAMES if name != preferred), *_ALIASES, *_PREVIOUS)
    gene_groups = _GeneGroups(groups, tally)
    yield SOURCE
    yield _GROUPS
    for where, row in _approved(path, columns, tally):
        code = row["hgnc_id"]
        yield from _terms(code, row, names, previous, tally)
        types = DuplicateFilter(tally, "empty or repeated types")
        types.mark_seen([("",)])
        if types.read(row["locus_type"]):
            yield Type(code, row["locus_type"])
        for name in gene_groups.read(where, row):
            if types.keep(name):
                yield Type(code, name)
        yield from _xrefs(code, row, references, tally)
    yield from gene_groups.parents()


def _approved(
    path: Path, columns: dict[str, str | tuple[str, ...]], tally: Tally
) -> Iterator[tuple[str, dict[str, str]]]:
    """``file:line`` and the stripped cells of each approved entry."""
    seen: set[str] = set()
    for line, cells in read_table(path, list(columns.values()), dialect="tsv_quoted"):
        row = dict(zip(columns, map(str.strip, cells)))
        where, code = f"{path}:{line}", row["hgnc_id"]
        if not _CODE.fullmatch(code) or code in seen:
            raise InputError(f"{where}: expected a unique identifier such as HGNC:5, found {code[:40]!r}")
        seen.add(code)
        if row["status"] != _APPROVED:
            tally.read_dropped(f"entries with status {row['status'][:40] or '(none)'}")
        elif not all(row[name] for name in _NAMES):
            raise InputError(f"{where}: approved entry {code} needs a symbol and a name")
        else:
            yield where, row
    if not seen:
        raise InputError(f"{path}: contains no gene")


class _GeneGroups:
    """The gene groups of all genes: concepts above them, types of them, or left out, as the option ``groups`` says."""

    def __init__(self, use: str, tally: Tally):
        self._use, self._tally = use, tally
        self._names: dict[str, str] = {}
        self._members: list[tuple[str, str]] = []

    def read(self, where: str, row: dict[str, str]) -> Iterator[str]:
        """Take the groups of a gene. What is given are the names of those that are types."""
        own = DuplicateFilter(self._tally, "repeated gene groups")
        for number, name in _groups(where, row):
            self._tally.read()
            known = self._names.setdefault(number, name)
            if known != name:
                raise InputError(
                    f"{where}: gene group {number} has the name {name[:40]!r} here and {known[:40]!r} before"
                )
            if self._use == "none":
                self._tally.drop("gene groups")
            elif self._use == "types":
                yield name
            elif own.keep(number):
                self._members.append((row["hgnc_id"], number))

    def parents(self) -> Iterator[Record]:
        """The groups of the genes, and the genes below them."""
        for number in dict.fromkeys(number for _, number in self._members):
            yield Term(f"{_GROUPS.name}:{number}", self._names[number], source=_GROUPS.name)
        for code, number in self._members:
            yield Parent(code, f"{_GROUPS.name}:{number}")


def _xrefs(code: str, row: dict[str, str], columns: Sequence[str], tally: Tally) -> Iterator[Xref]:
    targets = DuplicateFilter(tally, "repeated cross-references")
    for column in columns:
        for identifier in _values(row[column]):
            tally.read()
            target = f"{_XREFS[column]}:{identifier.removeprefix('ORPHA:')}"
            if targets.keep(target):
                yield Xref(code, target)


def _terms(code: str, row: dict[str, str], columns: Sequence[str], previous: bool, tally: Tally) -> Iterator[Record]:
    """The names of a gene, the preferred one first."""
    once = DuplicateFilter(tally, "repeated names of a gene")
    for i, column in enumerate(columns):
        for text in [row[column]] if column in _NAMES else _values(row[column]):
            tally.read()
            if column in _PREVIOUS and not previous:
                tally.drop("previous symbols and names")
            elif once.keep(text):
                yield Term(code, text, "synonym" if i else "preferred")


def _groups(where: str, row: dict[str, str]) -> list[tuple[str, str]]:
    """The identifier and the name of each gene group."""
    numbers, names = _values(row["gene_group_id"]), _values(row["gene_group"])
    if len(numbers) != len(names) or not all(map(_GROUP.fullmatch, numbers)):
        raise InputError(
            f"{where}: expected a number for each gene group, found {row['gene_group_id'][:40]!r} for {row['gene_group'][:40]!r}"
        )
    return list(zip(numbers, names))


def _values(cell: str) -> list[str]:
    """The values of a cell, separated by pipes."""
    return [value for part in cell.split("|") if (value := part.strip())]
