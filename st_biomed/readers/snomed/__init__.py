"""SNOMED CT: the snapshots of one or several editions in Release Format 2, read by columns.

The files are those of the SNOMED CT Release File Specification (doc.ics.snomed.org). Concepts are ``SNOMEDCT:`` and
their identifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import check_name
from st_biomed.readers.snomed.concepts import PREFIX, Concepts
from st_biomed.readers.snomed.descriptions import Descriptions
from st_biomed.readers.snomed.language_sets import Preferences
from st_biomed.readers.snomed.maps import DEFAULT, asked_maps, read_maps
from st_biomed.readers.snomed.relationships import VIEWS, Relationships
from st_biomed.readers.snomed.release import Release
from st_biomed.readers.snomed.semantic_tags import SemanticTags
from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name=PREFIX,
    title="SNOMED CT",
    license="SNOMED CT Affiliate License (SNOMED International)",
    url="https://www.snomed.org",
)
PATH = "the unpacked folder of a release (RF2)"


def records(
    path: Path,
    *,
    tally: Tally,
    also: str | Path | Sequence[str | Path] = "",
    languages: str | Sequence[str] = "",
    dialect: str | Sequence[str] = "",
    view: str = "inferred",
    definitions: bool = True,
    maps: str | Sequence[str] = DEFAULT,
) -> Iterator[Record]:
    """Read names, types, definitions, parents, relations and cross-references of the active concepts.

    The files are found by their names (``sct2_Concept_Snapshot_INT_20240101.txt``) in the folder and all below it;
    other files, such as Full, Delta and concrete values, are not read. Several editions are one terminology: of the
    rows with one id that with the latest effectiveTime counts, active or not, and the others are counted. An extension
    needs the international edition that it extends.

    The semantic tag at the end of a fully specified name, ``(disorder)``, is the type of the concept and no part of
    the name. The preferred name is, in this order: a synonym that a requested dialect prefers, a name in the first
    language, a synonym that US English, then GB English, then any other dialect prefers, the fully specified name. All
    other names are synonyms; a name that equals another one of its concept is counted. The type is that of the English
    name if there is one.

    A relationship ``is a`` is a parent. Another one is a relation named by the fully specified name of its attribute,
    with underscores for spaces (``Finding_site``). Relationship groups are not kept.

    A cross-reference of an extended map has the predicate ``conditional`` if its rule depends on the patient
    (``IFA ...``, and ``OTHERWISE TRUE`` beside such rules in its group), ``additional`` if it is the second or a later
    code of a concept that needs several, otherwise ``xref``. The open end of a code of ICD-10-CM is left out: ``S52.91X?`` becomes S52.91.

    Args:
        path: The unpacked folder of a release, or one that holds several of them; the files may be gzipped.
        tally: Counts the rows of all files that are read, active or not, and notes those of each file and what is
            missing.
        also: Further folders, e.g. of the international edition beside a national one; by default none.
        languages: Languages of the names and definitions to keep (``"it,en"``), the first ones preferred; by default
            all of them, English preferred.
        dialect: Language reference sets whose preferred terms are preferred names, in this order, e.g.
            ``"900000000000508004"`` for GB English. Each must occur; by default none is requested.
        view: ``"inferred"`` (default), the relationships that a classifier derived; ``"stated"``, those that authors
            wrote, which are OWL axioms and not read in releases since 2019; or ``"none"``.
        definitions: Whether to read text definitions; on by default.
        maps: Map reference sets to read: ``ICD10`` (WHO), ``ICD10CM`` (US edition), ``ICDO`` and ``CTV3``, or
            ``PREFIX=identifier`` of another one; by default ``ICD10,ICD10CM``, which need not occur. Others must.

    Raises:
        InputError: No such folder, an archive in place of it, or no snapshot of concepts, descriptions or relationships
            in it; with file and line: a malformed row, a truncated last line, an id with a wrong check digit. A
            language, dialect or map that no row has.
    """
    check_name("view of reader 'snomed'", view, VIEWS)
    asked = asked_maps(listed("maps", maps))
    folders = (
        [also] if isinstance(also, Path) else listed("also", map(str, also) if not isinstance(also, str) else also)
    )
    release = Release([Path(path), *map(Path, folders)], tally)
    yield replace(SOURCE, version=release.version)
    concepts = Concepts(release)
    preferences = Preferences(release, listed("dialect", dialect))
    relationships = Relationships(release, concepts, view)
    tags = SemanticTags(concepts, relationships.attributes)
    spoken = [language.lower() for language in listed("languages", languages)]
    descriptions = Descriptions(release, concepts, preferences, tags, spoken, definitions=definitions)
    known = descriptions.known
    concepts.count(known)
    yield from descriptions.rows()
    yield from tags.rows(known, tally)
    yield from relationships.rows(known, tags)
    yield from read_maps(release, concepts, known, asked, needed=listed("maps", maps) != listed("maps", DEFAULT))
