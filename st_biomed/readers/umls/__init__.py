"""UMLS: the Metathesaurus in Rich Release Format, read by columns.

Concepts are ``UMLS:C0000000``. Every vocabulary inside UMLS is a separate source with its version and restriction
level, so that subsets by source and the privacy check know the owner of each name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.readers._normalizers import NORMALIZERS
from st_biomed.readers._unpacked import unpacked
from st_biomed.readers.umls.asked import AskedFor
from st_biomed.readers.umls.concepts import of_types, read_history, read_types
from st_biomed.readers.umls.definitions import read_definitions
from st_biomed.readers.umls.folder import MetaFolder
from st_biomed.readers.umls.links import RELATIONS, read_links
from st_biomed.readers.umls.names import read_names
from st_biomed.readers.umls.semantic_types import ITALIAN_TYPES
from st_biomed.readers.umls.vocabularies import all_described, described, spoken
from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="UMLS",
    title="Unified Medical Language System, Metathesaurus",
    license="UMLS Metathesaurus License",
    url="https://www.nlm.nih.gov/research/umls",
)

PRESETS: dict[str, dict[str, Any]] = {
    # "we then extract all English entries from the MRCONSO.RRF raw file and convert all entity names into lowercase",
    # "we also include tradenames of drugs as synonyms (extracted from MRREL.RRF)" (SapBERT, 3)
    "sapbert": {"languages": ("ENG",), "keep_suppressed": True, "normalizer": "lower", "trade_names": True},
    # "a subset of the Metathesaurus with three main Italian vocabularies: ICPCITA, MDRITA and MSHITA. Moreover, we only
    # consider the concepts belonging to the following semantic types" (the Italian paper's data section)
    "italian": {
        "sources": ("ICPCITA", "MDRITA", "MSHITA"),
        "relation_sources": (),
        "semantic_types": tuple(ITALIAN_TYPES),
    },
    # "4.4 million concepts and 15.9 million unique concept names" in "up to 27 languages", with relations such as "PAR (has
    # parent relationship) and RB (has a broader relationship)" (BERGAMOT, 3, 2 and Figure 1). The published code
    # (graphmel/preprocessing/create_positive_triplets_dataset_stratified.py) lower-cases names, adds trade names, and
    # reads rows of every SUPPRESS.
    "bergamot": {"relations": "rel", "keep_suppressed": True, "normalizer": "lower", "trade_names": True},
}
"""The papers' data sections as options."""


def resolved(**options: Any) -> dict[str, Any]:
    """Expand the preset into its options.

    Raises:
        InputError: Unknown preset or normalizer.
    """
    preset = options.get("preset")
    if preset is not None and preset not in PRESETS:
        raise unknown_name("preset of reader 'umls'", preset, PRESETS)
    stated_options = {name: value for name, value in options.items() if value is not None}
    values = {"normalizer": "none", **PRESETS.get(preset or "", {}), **stated_options}
    check_name("normalizer", values["normalizer"], NORMALIZERS)
    return values


def records(  # noqa: PLR0913 - all choices that differ between the papers
    path: Path | None = None,
    *,
    tally: Tally,
    preset: str | None = None,
    languages: str | Sequence[str] | None = None,
    sources: str | Sequence[str] | None = None,
    relation_sources: str | Sequence[str] | None = None,
    parent_sources: str | Sequence[str] = (),
    term_types: str | Sequence[str] | None = None,
    keep_suppressed: bool | None = None,
    semantic_types: str | Sequence[str] | None = None,
    semantic_groups: str | Sequence[str] | None = None,
    concepts: str | Path | Sequence[str] | None = None,
    normalizer: str | None = None,
    trade_names: bool | None = None,
    relations: str | None = None,
    inverses: bool = True,
    least_relation_rows: int = 1,
    definitions: bool = True,
) -> Iterator[Record]:
    """Read names, parents, relations, semantic types, definitions and the history of concepts.

    A row is a line of MRCONSO, MRREL, MRSTY, MRCUI or MRDEF. A name occurs once for each source that has it. One row
    of a concept is its preferred name: English before other languages, then TS = P, STT = PF, ISPREF = Y, then the
    first in the file. A row of MRREL states the relation of its *second* concept to its first: with REL = PAR or CHD
    it becomes a parent, otherwise a relation from the second to the first. A concept that was merged into another one
    is a cross-reference of that one with the predicate ``replaces``. The language of a definition is that of its
    vocabulary in MRSAB, otherwise the only language of the vocabulary's names.

    The vocabularies have conflicting hierarchies, so the parents of all of them contain cycles, which a hierarchy
    rejects. Use the hierarchy of one vocabulary (``parent_sources="SNOMEDCT_US"``, or ``relation_sources``, which limits
    the relations, too), and ``Terminology.without_cycles()`` to drop the contradictions within it.

    Options that are lists may be strings, separated by commas. The presets are:

    - ``sapbert``: ``languages=ENG keep_suppressed=true normalizer=lower trade_names=true``.
    - ``italian``: ``sources=ICPCITA,MDRITA,MSHITA``, relations of all sources (an empty ``relation_sources``) and
      ``semantic_types`` T023, T031, T103, T074, T033, T184, T058, T060, T059, T061, T046, T039, T037 with the types
      below them.
    - ``bergamot``: ``relations=rel keep_suppressed=true normalizer=lower trade_names=true``, for all languages and
      sources.

    Some languages and sources of a preset may have no row, which the tally mentions with 0 rows. Those that you set
    yourself must occur.

    Every vocabulary is a source with MRSAB's version and restriction level. Vocabularies that MRSAB does not describe
    are not redistributable, and neither is the source ``UMLS`` itself.

    Args:
        path: The META folder: MRCONSO.RRF and, if they exist, MRREL, MRSTY, MRCUI, MRDEF, MRSAB, MRDOC and MRFILES;
            plain, gzipped or in pieces (``MRCONSO.RRF.aa.gz``).
        tally: Counts the lines of MRCONSO, MRREL, MRSTY, MRCUI and MRDEF, including blank ones, and the identifiers in
            ``concepts``. Trade names of a drug are additional records of counted rows.
        preset: ``"sapbert"``, ``"italian"`` or ``"bergamot"``: the paper's choice of the options below; options that
            are set override it. By default none.
        languages: LAT of the names and definitions to keep, e.g. ``["ENG"]``; all by default.
        sources: SAB of the names and definitions to keep; all by default.
        relation_sources: SAB of the parents and relations to keep, each of which must occur in MRREL; by default those
            of ``sources``, which need not occur in MRREL; empty for all.
        parent_sources: SAB of the parents to keep among these, each of which must occur in MRREL; the others' parents
            are counted. By default empty, which keeps all.
        term_types: TTY of the names to keep; all by default.
        keep_suppressed: Whether to keep names, relations and definitions with SUPPRESS = O, E or Y, as the papers do;
            off by default.
        semantic_types: TUI of the concepts to keep, each with the types below it in the semantic network; all by
            default.
        semantic_groups: Groups of semantic types to keep, besides ``semantic_types``: ``ACTI``, ``ANAT``, ``CHEM``,
            ``CONC``, ``DEVI``, ``DISO``, ``GENE``, ``GEOG``, ``LIVB``, ``OBJC``, ``OCCU``, ``ORGA``, ``PHEN``,
            ``PHYS``, ``PROC``; all by default.
        concepts: CUIs to keep, or a text file with one on each line; all by default. MRCUI resolves merged ones.
            Concepts that are missing from MRCONSO are counted; at least one must be in it.
        normalizer: The normalizer of every name: ``"none"`` (default), ``"lower"`` or ``"coder"``.
        trade_names: Whether the names of a drug's trade names (RELA tradename_of, has_tradename) are synonyms of the
            drug too, in addition to being names of their own concepts; off by default. The published code of SapBERT,
            HiPrBERT and BERGAMOT also gives a trade name the names of its drug, and keeps the last of several.
        relations: ``"named"`` (default) keeps relations that have a RELA, ``"all"`` the others too, named by their
            REL, ``"rel"`` names all of them by their REL, ``"none"`` keeps parents only.
        inverses: Whether to keep both of two inverse relations; on by default. Otherwise the first by name of each
            pair in MRDOC is kept.
        least_relation_rows: Relations with fewer rows are dropped as rare; by default 1, which drops none. The rows are
            counted after the other options of relations and before concepts are chosen.
        definitions: Whether to read MRDEF if it exists; on by default.

    Raises:
        InputError: No such folder, or an archive in place of it; no MRCONSO, a missing piece of a file, or another
            number of rows than in MRFILES; with file and line: a malformed row, a name or type without a concept; an
            unknown option value; a requested language, source or term type that no row has, or none of the requested
            concepts; a missing file that an option needs.
    """
    chosen = resolved(
        preset=preset,
        languages=languages,
        sources=sources,
        relation_sources=relation_sources,
        term_types=term_types,
        keep_suppressed=keep_suppressed,
        semantic_types=semantic_types,
        semantic_groups=semantic_groups,
        normalizer=normalizer,
        trade_names=trade_names,
        relations=relations,
    )
    named = chosen.get("relations", "named")
    check_name("relations of reader 'umls'", named, RELATIONS)
    if path is None:
        raise InputError("reader umls: expected the META folder with MRCONSO.RRF")
    path = unpacked(path, "META folder with MRCONSO.RRF")

    def members(name: str) -> tuple[str, ...] | None:
        return listed(name, chosen[name]) if name in chosen else None

    typed = {"languages": languages, "sources": sources, "term_types": term_types}
    of_names = {name: members(name) for name in typed}
    by_preset = {name: preset for name, value in typed.items() if value is None and preset is not None}
    of_relations = members("relation_sources")
    folder = MetaFolder(path, tally, keep_suppressed=chosen.get("keep_suppressed", False))
    vocabularies = list(described(folder, SOURCE))
    yield from vocabularies

    history = read_history(folder)
    types = read_types(folder)
    asked = None if concepts is None else AskedFor(concepts, history)
    wanted = {
        "of other semantic types": of_types(types, members("semantic_types"), members("semantic_groups")),
        "other concepts": None if asked is None else asked.wanted,
    }
    links = read_links(
        folder,
        sources=of_names["sources"] if of_relations is None else of_relations or None,
        asked=of_relations or (),
        parent_sources=listed("parent_sources", parent_sources),
        relations=named,
        inverses=inverses,
        least_rows=least_relation_rows,
        trade_names=chosen.get("trade_names", False),
    )
    names = read_names(folder, wanted, of_names, by_preset, chosen["normalizer"])
    if asked is not None:
        asked.count(names.present, names.known, tally)
    rows = chain(
        names.rows(links.trade_names),
        links.rows(names.known),
        types.rows(names.known),
        history.rows(names.known, SOURCE.name),
        read_definitions(
            folder,
            names.known,
            language_of=spoken(folder, names.languages),
            sources=of_names["sources"],
            languages=of_names["languages"],
        )
        if definitions
        else (),
    )
    yield from all_described(rows, folder, vocabularies, SOURCE)
