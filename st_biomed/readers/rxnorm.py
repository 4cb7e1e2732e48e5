"""RxNorm: drugs by ingredient, strength and form, from the RRF files of a release.

Relations follow the convention of UMLS: a row ``RXCUI1 REL RXCUI2 RELA`` states the relation of the second concept to
the first, and is read as ``RXCUI2 RELA RXCUI1``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.errors import InputError, check_name
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._normalizers import name_normalizer
from st_biomed.readers._rxnorm_files import rrf_folder, rrf_rows
from st_biomed.records import Parent, Record, Relation, SourceInfo, Tally, Term, Type
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="RXNORM",
    title="RxNorm",
    license="US public domain (names and relations of RxNorm's own, SAB=RXNORM)",
    url="https://www.nlm.nih.gov/research/umls/rxnorm/",
    redistributable=True,
)
PATH = "the folder with RXNCONSO.RRF"

# The one name that RxNorm creates for a concept, then prescribable names and synonyms.
_PREFERRED = (
    *("IN", "PIN", "MIN", "BN", "SCD", "SBD", "GPCK", "BPCK", "SCDC", "SBDC", "SCDF", "SBDF", "SCDFP", "SBDFP"),
    *("SCDG", "SBDG", "SCDGP", "DF", "DFG", "PSN", "SY", "TMSY", "ET"),
)
_LANGUAGES = {"ENG": "en", "SPA": "es"}
_HIPRBERT = "consists_of,has_precise_ingredient,has_part,has_ingredient,form_of"
_CURRENT = ("", "N")  # of SUPPRESS

PARENTS = {"hiprbert": tuple(_HIPRBERT.split(","))}
"""Presets of the relations that are parents."""


def resolved(**options: Any) -> dict[str, Any]:
    """Expand the presets of ``parents`` into their relations."""
    if "parents" not in options:
        return options
    return {**options, "parents": _above(options["parents"])}


def records(  # noqa: PLR0913 - the choices of names, relations and parents
    path: Path,
    *,
    tally: Tally,
    sources: str | Sequence[str] = "RXNORM",
    term_types: str | Sequence[str] = "all",
    keep_suppressed: bool = False,
    relations: str | Sequence[str] = _HIPRBERT,
    parents: str | Sequence[str] = "isa",
    name: str = SOURCE.name,
    normalizer: str = "none",
) -> Iterator[Record]:
    """Read names, relations, parents, semantic types and the version.

    The preferred name of a concept is the first by source (in the order of ``sources``; RXNORM first if all are read),
    then by suppression (names that are not suppressed come first), then by term type (``IN PIN MIN BN SCD SBD GPCK
    BPCK SCDC SBDC SCDF SBDF SCDFP SBDFP SCDG SBDG SCDGP DF DFG PSN SY TMSY ET``, then any other), then by position in
    the file. All other names are synonyms. Names and relations of sources other than RXNORM have their own source,
    e.g. ``RXNORM_MTHSPL``, which may not be redistributed; a name of several sources is one of each.

    ``isa`` alone gives RxNorm few parents. HiPrBERT (arXiv:2307.00266, section 3.1) represents it "as forests" of 192,683
    nodes and does not state the relations. Its published preprocessing reads rows "rxcui2 rela rxcui1", such as a drug
    that ``has_precise_ingredient`` a substance, and makes the second concept the parent: "two drugs containing same
    ingredient are similar". ``parents=hiprbert`` does the same with the five relations that ``relations`` has by default; that these five and no
    other make the forest is a reading, and the number of nodes has not been counted on RxNorm. A concept may have several parents.

    Args:
        path: The folder with ``RXNCONSO.RRF``, or the folder above its ``rrf``; the files may be gzipped.
            ``RXNSTY.RRF`` and ``RXNSAB.RRF`` are read if they exist.
        tally: Counts the rows of RXNCONSO, RXNREL and RXNSTY.
        sources: The sources (SAB) of the names and relations to read, e.g. ``"RXNORM,MTHSPL"``, or ``"all"``; by
            default ``RXNORM``. Each must have a name.
        term_types: The term types (TTY) of the names to read, e.g. ``"IN,BN,SY"``, or ``"all"`` (default). Each must
            have a name.
        keep_suppressed: Whether to read suppressed rows (obsolete, or by an editor's or source's choice); off by
            default.
        relations: The relations (RELA, or REL for rows without one) to read, e.g. ``"has_ingredient,tradename_of"``.
            ``"all"`` reads each in both directions, ``""`` none. By default those of HiPrBERT: ``consists_of``,
            ``has_precise_ingredient``, ``has_part``, ``has_ingredient`` and ``form_of``. Relations between single names
            (RXAUI) are counted. Each named relation must occur.
        parents: The relations that make the second concept of a triple a parent of the first, e.g.
            ``"isa,has_ingredient"``; they are no relations then, even if ``relations`` has them. ``"hiprbert"`` stands
            for the five relations of HiPrBERT; ``""`` reads no parents. By default ``isa``. Each named relation must
            occur, apart from ``isa`` and those of the preset.
        name: Short name of the source and prefix of its codes; by default ``RXNORM``. UMLS has a source RXNORM, too, and
            two of one name are not merged.
        normalizer: The normalizer of every name: ``"none"`` (default), ``"lower"`` or ``"coder"``, the cleaning of HiPrBERT's code.

    Raises:
        InputError: No such folder, or an archive in place of it; no ``RXNCONSO.RRF`` or, unless ``relations`` is empty
            and ``parents`` is ``isa`` or empty, no ``RXNREL.RRF``. With file and line: an empty code or name, a
            malformed row. A source, term type or relation that no row has. A name with other characters than letters,
            digits, ``_``, ``.`` and ``-``.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"name of reader 'rxnorm' must be letters, digits, '_', '.' or '-', found {name!r}")
    folder = rrf_folder(Path(path))
    wanted, asked, above = _chosen(sources), _chosen(relations), _above(parents)
    if not wanted:
        raise InputError("sources of reader 'rxnorm' needs at least one source, e.g. RXNORM")
    conso, related = (plain_or_gzipped(folder / file) for file in ("RXNCONSO.RRF", "RXNREL.RRF"))
    if conso is None:
        raise InputError(f"{folder}: contains no RXNCONSO.RRF")
    if related is None and (asked or set(above) - {"isa"}):
        raise InputError(f"{folder}: contains no RXNREL.RRF; empty values of relations and parents read only names")
    suppressed = ("", *"NOEY") if keep_suppressed else _CURRENT
    described = _described(plain_or_gzipped(folder / "RXNSAB.RRF"), name)
    yield described.get(name, replace(SOURCE, name=name))
    used = {name}
    names = _names(conso, tally, wanted, _chosen(term_types), suppressed, name_normalizer(normalizer))
    streams: list[Iterator[Term | Parent | Relation]] = [_terms(names, tally, name)]
    if related is not None:
        named = set(listed("parents", parents)) - {"isa", *PARENTS}  # not by a preset
        required = named | {*(() if isinstance(asked, _All) or asked == _chosen(_HIPRBERT) else asked)}
        streams.append(_relations(related, tally, names, name, _Kept(wanted, suppressed, asked, above, required)))
    for stream in streams:
        for record in stream:
            if record.source not in used:
                used.add(record.source)
                yield described.get(record.source) or _imported(record.source.removeprefix(f"{name}_"), name)
            yield record
    types = plain_or_gzipped(folder / "RXNSTY.RRF")
    if types is not None:
        yield from _types(types, tally, names, name)


class _All:
    """A container of everything."""

    def __contains__(self, member: object) -> bool:
        return True

    def __len__(self) -> int:
        return 1


def _chosen(value: str | Sequence[str]) -> _All | tuple[str, ...]:
    """The members of an option; everything for ``"all"``."""
    return _All() if value == "all" else listed("option", value)


def _above(parents: str | Sequence[str]) -> tuple[str, ...]:
    """The relations that are parents, presets expanded."""
    members = (PARENTS.get(member, (member,)) for member in listed("parents", parents))
    return tuple(dict.fromkeys(relation for relations in members for relation in relations))


def _source(sab: str, own: str) -> str:
    return own if sab == SOURCE.name else f"{own}_{sab}"


def _imported(sab: str, own: str, title: str = "", version: str = "", level: str = "") -> SourceInfo:
    license = f"UMLS license, source restriction level {level}" if level else "UMLS license"
    return SourceInfo(_source(sab, own), f"{title or sab} as imported by RxNorm", version, license, SOURCE.url)


def _described(path: Path | None, own: str) -> dict[str, SourceInfo]:
    """Name to description of the sources in RXNSAB; empty if there is no such file."""
    sources: dict[str, SourceInfo] = {}
    rows = iter(()) if path is None else rrf_rows(path, "RSAB", "SON", "SVER", "SRL", "CURVER")
    for where, (sab, title, version, level, current) in rows:
        if not sab:
            raise InputError(f"{where}: a source has no RSAB")
        if current != "N":
            if sab == SOURCE.name:
                info = replace(SOURCE, name=own, version=version)
            else:
                info = _imported(sab, own, title, version, level)
            sources[info.name] = info
    return sources


_Name = tuple[tuple[int, bool, int], str, str, str]
"""Rank (of its source, suppression, term type), string, language, source."""


def _names(
    path: Path,
    tally: Tally,
    wanted: _All | tuple[str, ...],
    types: _All | tuple[str, ...],
    suppressed: Container[str],
    clean: Callable[[str], str],
) -> dict[str, list[_Name]]:
    """Code to its names, in the order of the file; kept names are not tallied yet."""
    ranks = {tty: rank for rank, tty in enumerate(_PREFERRED)}
    order = {SOURCE.name: 0} if isinstance(wanted, _All) else {sab: rank for rank, sab in enumerate(wanted)}
    names: dict[str, list[_Name]] = {}
    met: dict[str, set[str]] = {"sources": set(), "term_types": set()}
    for where, (code, language, sab, tty, text, mark) in rrf_rows(
        path, "RXCUI", "LAT", "SAB", "TTY", "STR", "SUPPRESS"
    ):
        tally.read()
        if not code.isdecimal() or not sab:
            raise InputError(f"{where}: RXCUI must be a number and SAB a source, found {code!r} and {sab!r}")
        met["sources"].add(sab)
        met["term_types"].add(tty)
        if sab not in wanted:
            tally.drop("names of other sources")
        elif mark not in suppressed:
            tally.drop("suppressed names")
        elif tty not in types:
            tally.drop("names of other term types")
        elif language not in _LANGUAGES:
            tally.drop("names in other languages than English and Spanish")
        elif not text:
            raise InputError(f"{where}: RXCUI {code} has an empty STR")
        else:
            rank = order.get(sab, len(order)), mark not in _CURRENT, ranks.get(tty, len(ranks))
            names.setdefault(code, []).append((rank, clean(text), _LANGUAGES[language], sab))
    for option, chosen in (("sources", wanted), ("term_types", types)):
        for value in () if isinstance(chosen, _All) else chosen:
            check_name(f"value of option {option} (no name in {path} has it)", value, met[option])
    return names


def _terms(names: dict[str, list[_Name]], tally: Tally, own: str) -> Iterator[Term]:
    for code, concept_names in names.items():
        distinct, kind = DuplicateFilter(tally, "repeated names of a concept"), "preferred"
        for _, text, language, sab in sorted(concept_names, key=itemgetter(0)):
            if distinct.keep(text, language, sab):
                yield Term(f"{own}:{code}", text, kind, language, _source(sab, own))
                kind = "synonym"


class _Kept(NamedTuple):
    """The relations to be kept: their sources, marks of suppression and names."""

    sources: Container[str]
    marks: Container[str]
    relations: Container[str]
    parents: Container[str]
    """Relations that are read as parents."""
    required: set[str]
    """Relations that must occur."""


def _relations(
    path: Path,
    tally: Tally,
    names: Container[str],
    own: str,
    kept: _Kept,
) -> Iterator[Parent | Relation]:
    """The rows to be kept, between concepts with names."""
    relations = DuplicateFilter(tally, "repeated relations")
    listed_relations: set[str] = set()
    columns = ("RXCUI1", "STYPE1", "REL", "RXCUI2", "STYPE2", "RELA", "SAB", "SUPPRESS")
    for where, (second, stype1, rel, first, stype2, named, sab, mark) in rrf_rows(path, *columns):
        relation = named or rel
        tally.read()
        if not relation:
            raise InputError(f"{where}: has neither REL nor RELA")
        listed_relations.add(relation)
        if sab not in kept.sources:
            tally.drop("relations of other sources")
        elif (stype1, stype2) != ("CUI", "CUI"):
            tally.drop("relations between single names")
        elif mark not in kept.marks:
            tally.drop("suppressed relations")
        elif relation not in kept.parents and relation not in kept.relations:
            tally.drop("relations not asked for")
        elif first not in names or second not in names:
            tally.drop("relations of a concept without a name")
        elif first == second:
            tally.drop("relations of a concept to itself")
        elif relations.keep(first, relation, second, sab):
            head, tail, source = f"{own}:{first}", f"{own}:{second}", _source(sab, own)
            yield Parent(head, tail, source) if relation in kept.parents else Relation(head, relation, tail, source)
    for relation in sorted(kept.required):
        check_name(f"relation of {path}:", relation, listed_relations)


def _types(path: Path, tally: Tally, names: Container[str], own: str) -> Iterator[Type]:
    types = DuplicateFilter(tally, "repeated types")
    for where, (code, type_) in rrf_rows(path, "RXCUI", "TUI"):
        tally.read()
        if not type_:
            raise InputError(f"{where}: RXCUI {code} has an empty TUI")
        if code not in names:
            tally.drop("types of a concept without a name")
        elif types.keep(code, type_):
            yield Type(f"{own}:{code}", type_)
