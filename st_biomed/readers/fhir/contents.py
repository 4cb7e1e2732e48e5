"""The concepts of a code system or value set, and the mappings of a concept map."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.readers._curies import in_source
from st_biomed.readers._json import field, objects
from st_biomed.readers._languages import language_of
from st_biomed.readers.fhir.concepts import (
    CODE_SYSTEM,
    CONCEPT_MAP,
    DESIGNATION,
    VALUE_SET,
    Concepts,
    Text,
)
from st_biomed.readers.fhir.elements import (
    Resource,
    is_true,
    nested,
    properties,
    property_meanings,
    stated_status,
    text_of,
)
from st_biomed.readers.fhir.systems import Published, Systems, importer
from st_biomed.records import Tally, single_spaced

_ABOVE, _BELOW = ("parent", "subsumedBy"), ("child",)

# R4 `equivalence` and R5 `relationship`, which say what the target is to the concept, as predicates of SSSOM.
_PREDICATES = {
    "equal": "exactMatch",
    "equivalent": "exactMatch",
    "wider": "broadMatch",
    "subsumes": "broadMatch",
    "source-is-narrower-than-target": "broadMatch",
    "narrower": "narrowMatch",
    "specializes": "narrowMatch",
    "source-is-broader-than-target": "narrowMatch",
    "inexact": "relatedMatch",
    "relatedto": "relatedMatch",
    "related-to": "relatedMatch",
}
_CONDITIONAL = "conditional"  # as in the reader of SNOMED CT: the mapping holds if other elements have certain values
BY_RULE = "inclusions by a rule, whose codes are not listed"
"""Why the concepts of a value set may be missing."""
_DENIED = ("unmatched", "disjoint", "not-related-to")


class Reading(NamedTuple):
    """What the resources are read into.

    Attributes:
        tally: Counts what is neither a name nor a definition, parent or mapping.
        systems: Prefixes and sources.
        language: The language of resources that do not state theirs.
    """

    tally: Tally
    systems: Systems
    concepts: Concepts
    language: str
    mappings: bool

    def drop(self, reason: str, n: int = 1) -> None:
        self.tally.read_dropped(reason, n)

    def language_of(self, where: str, resource: Resource, otherwise: str = "") -> str:
        return language_of(where, text_of(where, resource, "language") or otherwise or self.language)

    def names(self, where: str, concept: Resource, code: str, rank: int, spoken: str, source: str) -> None:
        """The display and the designations of a concept."""
        if "display" in concept:
            self.concepts.name(code, rank, Text(text_of(where, concept, "display"), spoken, source))
        for designation in objects(where, concept, "designation"):
            text = text_of(where, designation, "value")
            language = self.language_of(where, designation, spoken)
            self.concepts.name(code, DESIGNATION, Text(text, language, source))


def code_system(where: str, resource: Resource, reading: Reading) -> None:
    """Concepts with their displays, designations, definitions, parents and status.

    Raises:
        InputError: With the file and the element: a code system without a URL, a concept without a code or with that of
            another one, a field of the wrong type.
    """
    published = _published(where, resource)
    supplemented = text_of(where, resource, "supplements")
    url = supplemented or published.url or text_of(where, resource, "id") or text_of(where, resource, "name")
    if not url:
        raise InputError(f"{where}: the CodeSystem has no url, id or name")
    prefix = reading.systems.prefix(where, url)
    source = reading.systems.source(prefix, url, published, importer(published.url or url) if supplemented else "")
    spoken = reading.language_of(where, resource)
    meanings = dict(property_meanings(where, resource))
    part = text_of(where, resource, "hierarchyMeaning") == "part-of"
    retired = "retired" if text_of(where, resource, "status") == "retired" else ""
    listed: set[str] = set()
    for place, concept, above in nested(where, resource, "concept"):
        code = _code(place, concept, prefix)
        if code in listed:
            raise InputError(f"{place}: code {code} is listed twice")
        listed.add(code)
        status = retired
        edges = [(code, _code(where, above, prefix))] if above is not None else []
        for meaning, value in properties(place, concept, meanings):
            if meaning in _ABOVE and value:
                edges.append((code, in_source(prefix, value)))
            elif meaning in _BELOW and value:
                edges.append((in_source(prefix, value), code))
            elif not (stated := stated_status(meaning, value)):
                reading.drop("properties of other kinds")
            else:
                status = status or stated.removeprefix("active")
        if not supplemented:
            reading.concepts.concept(code, CODE_SYSTEM, status)
        reading.names(place, concept, code, CODE_SYSTEM, spoken, source)
        if "definition" in concept:
            definition = single_spaced(text_of(place, concept, "definition"))
            reading.concepts.definition(code, Text(definition, spoken, source))
        for child, parent in edges:
            reading.concepts.edge(child, parent, source, part)


def value_set(where: str, resource: Resource, reading: Reading) -> None:
    """The concepts that are listed in the definition, and those of the expansion, whose nesting states no parents.

    Raises:
        InputError: With the file and the element: a concept without a code or a code system, a field of the wrong type.
    """
    published = _published(where, resource)
    spoken = reading.language_of(where, resource)

    def add(place: str, concept: Resource, url: str) -> None:
        prefix = reading.systems.prefix(place, url)
        code = _code(place, concept, prefix)
        source = reading.systems.source(prefix, url, published, importer(published.url or "value-set"))
        reading.concepts.concept(code, VALUE_SET, "inactive" if is_true(concept.get("inactive")) else "")
        reading.names(place, concept, code, VALUE_SET, spoken, source)

    compose = field(where, resource, "compose", dict)
    for i, include in enumerate(objects(where, compose, "include")):
        place = f"{where}: include[{i}]"
        if include.get("filter") or include.get("valueSet") or not include.get("concept"):
            reading.drop(BY_RULE)
        for j, concept in enumerate(objects(place, include, "concept")):
            add(f"{place}.concept[{j}]", concept, _system(place, include))
    reading.drop("exclusions", len(objects(where, compose, "exclude")))
    for place, concept, _ in nested(where, field(where, resource, "expansion", dict), "contains"):
        if is_true(concept.get("abstract")) and "code" not in concept:
            reading.drop("headings of an expansion without a code")
        else:
            add(place, concept, _system(place, concept))


def concept_map(where: str, resource: Resource, reading: Reading) -> None:
    """Mappings as cross-references; the display of a mapped concept is a name.

    Raises:
        InputError: With the file and the element: a concept without a code, an unknown equivalence, a field of the wrong
            type.
    """
    published = _published(where, resource)
    spoken = reading.language_of(where, resource)
    for i, group in enumerate(objects(where, resource, "group")):
        place = f"{where}: group[{i}]"
        urls = text_of(place, group, "source"), text_of(place, group, "target")
        elements = objects(place, group, "element")
        targets = [objects(f"{place}.element[{j}]", element, "target") for j, element in enumerate(elements)]
        if not reading.mappings or not all(urls):
            reading.drop("mappings without a code system" if reading.mappings else "mappings", sum(map(len, targets)))
            continue
        own, other = (reading.systems.prefix(place, url) for url in urls)
        source = reading.systems.source(own, urls[0], published, importer(published.url or "concept-map"))
        for j, element in enumerate(elements):
            inner = f"{place}.element[{j}]"
            code = _code(inner, element, own)
            reading.concepts.concept(code, CONCEPT_MAP)
            reading.names(inner, element, code, CONCEPT_MAP, spoken, source)
            if is_true(element.get("noMap")):
                reading.drop("mappings that are denied")
            for target in targets[j]:
                stated = text_of(inner, target, "equivalence") or text_of(inner, target, "relationship")
                if stated in _DENIED:
                    reading.drop("mappings that are denied")
                elif stated not in _PREDICATES:
                    allowed = ", ".join((*_PREDICATES, *_DENIED))
                    raise InputError(f"{inner}: equivalence must be one of {allowed}, found {stated[:40]!r}")
                else:
                    predicate = _CONDITIONAL if objects(inner, target, "dependsOn") else _PREDICATES[stated]
                    reading.concepts.mapping(code, _code(inner, target, other), predicate, source)


READ: dict[str, Callable[[str, Resource, Reading], None]] = {
    "CodeSystem": code_system,
    "ValueSet": value_set,
    "ConceptMap": concept_map,
}


def _published(where: str, resource: Resource) -> Published:
    title = text_of(where, resource, "title") or text_of(where, resource, "name")
    url, version, copyright = (text_of(where, resource, key) for key in ("url", "version", "copyright"))
    return Published(url, title, version, copyright)


def _system(where: str, holder: Resource) -> str:
    if not (url := text_of(where, holder, "system")):
        raise InputError(f"{where}: has concepts without a 'system'")
    return url


def _code(where: str, holder: Resource, prefix: str) -> str:
    code = text_of(where, holder, "code")
    if not code:
        raise InputError(f"{where}: a concept needs a 'code', found {str(holder)[:40]!r}")
    return in_source(prefix, code)
