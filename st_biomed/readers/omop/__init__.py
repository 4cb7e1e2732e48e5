"""OMOP: the standardized vocabularies of OHDSI, from a download of Athena or a test set, read by columns.

Concepts are ``OMOP:201826``, the concept id; the code in its own vocabulary is a cross-reference, ``SNOMEDCT:44054006``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.readers._unpacked import unpacked
from st_biomed.readers.omop.concepts import FILTERS, read_concepts, source_name
from st_biomed.readers.omop.links import PARENTS, link_rows
from st_biomed.readers.omop.names import ENGLISH, term_rows
from st_biomed.readers.omop.tables import Tables
from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="OMOP",
    title="OMOP Standardized Vocabularies",
    license="not stated (each vocabulary has its own license)",
    url="https://athena.ohdsi.org",
)

TYPES = {"domain": "domain_id", "concept_class": "concept_class_id"}
"""The choices of types, and their columns."""


def records(  # noqa: PLR0913 - what a vocabulary is limited to, and what is read of it
    path: Path | None = None,
    *,
    tally: Tally,
    vocabularies: str | Sequence[str] = (),
    domains: str | Sequence[str] = (),
    concept_classes: str | Sequence[str] = (),
    standard: bool = False,
    languages: str | Sequence[str] = (),
    types: str = "domain",
    mark_standard: bool = True,
    parents: str | Sequence[str] = "is_a,ancestors",
    relations: str | Sequence[str] = "all",
    inverses: bool = True,
) -> Iterator[Record]:
    """Read names, semantic types, codes, mappings, parents and relations.

    Rows with an ``invalid_reason`` and the id 0 ("No matching concept") are dropped and counted, and so are blank
    synonyms and rows of concepts that are not in CONCEPT. The name in CONCEPT is English and is the preferred one; in
    other languages it is the first synonym in the file. A standard concept has the semantic type ``standard`` besides
    its domain, by which ``st-biomed link --standard`` finds it. 'Maps to' becomes a cross-reference with this
    predicate, also if its target is in CONCEPT but not read. In 'Is a' the second concept is the parent.

    Every vocabulary is a source of its own with the version in VOCABULARY, e.g. ``OMOP_SNOMED``; none of them is
    redistributable. The source of names and cross-references is the vocabulary of their concept. Parents and relations
    between two vocabularies are of the source ``OMOP``. 'Is a' follows each vocabulary's hierarchy;
    ``Terminology.without_cycles()`` drops contradictions.

    Args:
        path: The folder with ``CONCEPT.csv`` and, if they exist, ``CONCEPT_SYNONYM``, ``CONCEPT_RELATIONSHIP``,
            ``CONCEPT_ANCESTOR``, ``VOCABULARY`` and ``RELATIONSHIP``, plain or gzipped: separated by tabs without
            quoting, as Athena writes them, or by commas with quoting; file and column names in any case.
        tally: Counts the rows of the first four tables, and notes those of each and what is missing. Types and codes
            are additional records of counted rows.
        vocabularies: ``vocabulary_id`` of the concepts to read, e.g. ``"SNOMED,RxNorm"``; all by default.
        domains: ``domain_id`` of the concepts to read, e.g. ``"Condition,Drug"``; all by default.
        concept_classes: ``concept_class_id`` of the concepts to read, e.g. ``"Ingredient"``; all by default.
        standard: Whether to read only standard concepts (``standard_concept`` = S); off by default.
        languages: ISO 639-1 codes of the names to keep, e.g. ``"en,es"``; all by default. Known are ``en``, ``es``,
            ``fr``, ``de``, ``it``, ``nl``, ``pt``, ``sv``, ``fi`` and ``zh``; names in any other language have
            ``und``, and the tally lists the ids of these languages.
        types: The semantic types, ``"domain"`` (default) or ``"concept_class"``.
        mark_standard: Whether standard concepts have the semantic type ``standard``, too; on by default. Measures of
            semantic types, such as MCSM, count it as one of them.
        parents: ``"is_a"``, ``"ancestors"`` (pairs of CONCEPT_ANCESTOR one level apart) or both, the default, where
            only a concept without an 'Is a' gets its parents from CONCEPT_ANCESTOR; empty for none.
        relations: The other relationships to read, by ``relationship_id``, e.g. ``"Has asso morph,Has finding site"``;
            ``"all"`` by default, empty for none. 'Subsumes' and 'Mapped from', the inverses of 'Is a' and 'Maps to',
            are only read if they are named.
        inverses: Whether to keep both of two inverse relations; on by default. Otherwise the first by name of each
            pair in RELATIONSHIP is kept.

    Raises:
        InputError: No such folder, or an archive in place of it; no CONCEPT, or a missing table that an option needs;
            an unknown option value; a requested vocabulary, domain, class, language or relation that no row has. With
            file and line: a missing column, a malformed row, a truncated last line, a concept that is listed twice or
            has no vocabulary or type.
    """
    if path is None:
        raise InputError("reader omop: expected the folder with CONCEPT.csv")
    folder = unpacked(Path(path), "folder with CONCEPT.csv")
    check_name("types of reader 'omop'", types, TYPES)
    hierarchy = listed("parents of reader 'omop'", parents, PARENTS)
    spoken = listed("languages", languages)
    asked = None if relations == "all" else listed("relations", relations)
    tables = Tables(folder, tally)
    given = zip(FILTERS, (vocabularies, domains, concept_classes))
    concepts = read_concepts(
        tables,
        {option: listed(option, value) for option, value in given},
        standard=standard,
        named=not spoken or ENGLISH in spoken,
        types=TYPES[types],
    )
    yield from _described(tables, concepts.vocabularies)
    yield from term_rows(tables, concepts, spoken)
    yield from concepts.rows(TYPES[types], mark_standard=mark_standard)
    yield from link_rows(tables, concepts, relations=asked, inverses=inverses, parents=hierarchy)


def _described(tables: Tables, vocabularies: Sequence[str]) -> Iterator[SourceInfo]:
    """The whole with its version, which VOCABULARY states for the vocabulary None, then the vocabularies."""
    about: dict[str, Sequence[str]] = {}
    for block in tables.blocks("VOCABULARY"):
        for name, *rest in zip(*(column.to_pylist() for column in block.values())):
            about[name] = rest
    yield replace(SOURCE, version=about.get("None", ("", "", ""))[2])
    for name in vocabularies:
        title, url, version = about.get(name, (name, "", ""))
        yield SourceInfo(source_name(name), f"{title} as imported by OMOP", version, SOURCE.license, url or SOURCE.url)
