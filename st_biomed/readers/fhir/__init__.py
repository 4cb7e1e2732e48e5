"""FHIR, the exchange format of HL7: code systems, value sets and concept maps, in JSON or XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.readers._languages import language_of
from st_biomed.readers.fhir.concepts import Concepts
from st_biomed.readers.fhir.contents import BY_RULE, READ, Reading
from st_biomed.readers.fhir.resources import read_resources
from st_biomed.readers.fhir.systems import Systems
from st_biomed.records import Record, SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="FHIR",
    title="Terminology resources of FHIR",
    license="as each resource states",
    url="https://hl7.org/fhir/terminology-module.html",
)
PATH = "resources: a file in JSON or XML, a folder or a .tar.gz"


def records(
    path: Path,
    *,
    tally: Tally,
    inactive: bool = False,
    languages: str | Sequence[str] = "",
    language: str = "en",
    definitions: bool = True,
    mappings: bool = True,
    prefixes: str = "",
) -> Iterator[Record]:
    """Read displays as preferred names, designations as synonyms, definitions, parents and mappings.

    Resources of one code system are combined: the display in a ``CodeSystem`` precedes that in a ``ValueSet``
    (``compose.include.concept`` and ``expansion.contains``), and this that in a ``ConceptMap``. Parents come from nested
    concepts and from the properties ``parent``, ``subsumedBy`` and ``child``; if the code system states that its
    hierarchy means ``part-of``, they are relations ``part_of``. The nesting of an expansion has no such meaning and
    states no parents. A concept without a name is a grouping node if a concept with a name is below it. A definition
    that equals a name of its concept is dropped. Mappings are cross-references with the predicates ``exactMatch``,
    ``broadMatch`` (the target is broader), ``narrowMatch`` and ``relatedMatch``; one that depends on other elements
    (``dependsOn``) has the predicate ``conditional``.

    Codes of known systems have the prefix of other readers (``SNOMEDCT``, ``LOINC``, ``ICD10CM``, ``RXNORM``, ``CPT``,
    ``ATC``, ``HP`` and every OBO ontology...); for others it is the end of the URL in capitals, the prefix of the reader ``fsh``. A source is a
    code system with its title, version and copyright, e.g. ``SNOMEDCT``, or a system in a value set, e.g.
    ``SNOMEDCT-PROBLEMS``. Only names from a code system under CC0 or CC BY may be redistributed.

    Args:
        path: A file (``.json``, ``.xml``, or ``.ndjson`` with a resource on each line), an archive (``.tar.gz``, also
            ``.tgz`` of a FHIR package) or a folder. Resources in a ``Bundle`` are read, too.
        tally: Counts names, definitions, parents, mappings and concepts that are dropped, properties of other kinds,
            and resources of other kinds.
        inactive: Whether to read concepts that are inactive, deprecated or retired, or of a retired code system; off by
            default. The code system decides; without it, the expansions.
        languages: ISO 639-1 codes of the languages to read, separated by commas, e.g. ``"en,it"``; all by default.
        language: ISO 639-1 code of resources that state no language; ``en`` by default.
        definitions: Whether to read definitions; on by default.
        mappings: Whether to read concept maps; on by default.
        prefixes: Prefixes of code systems, as pairs URL=PREFIX separated by commas; none by default.

    Raises:
        InputError: With the file and the line or element: no JSON, no well-formed XML, an entity, no resource, a concept
            without a code or a code system, a code that a code system lists twice, a field of the wrong type, an
            unknown equivalence, two code systems with one prefix. Also: no such file, no concept, a language to read
            that no name or definition has.
    """
    concepts = Concepts(
        tally,
        inactive=inactive,
        languages=tuple(language_of("languages", tag) for tag in listed("languages", languages)),
        definitions=definitions,
    )
    reading = Reading(tally, Systems(prefixes), concepts, language_of("language", language), mappings)
    for where, resource in read_resources(path, tally):
        READ[resource["resourceType"]](where, resource, reading)
    if not len(concepts):
        rules = f"; {BY_RULE}: expand the value sets" if tally.dropped.get(BY_RULE) else ""
        raise InputError(f"{path}: contains no concept of a CodeSystem, ValueSet or ConceptMap{rules}")
    yield from reading.systems.sources
    yield from concepts.finish()
