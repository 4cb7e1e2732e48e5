"""Elements of a FHIR resource: nested concepts, properties with their meaning, texts and flags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from st_biomed.readers._json import field, objects
from st_biomed.records import single_spaced

_PROPERTIES = "http://hl7.org/fhir/concept-properties#"
_DATES = {"deprecationDate": "deprecated", "retirementDate": "retired"}
_OUT_OF_USE = ("deprecated", "inactive", "retired", "withdrawn")
_FALSE = ("", "false")

Resource = dict[str, Any]


def nested(where: str, holder: Resource, key: str) -> Iterator[tuple[str, Resource, Resource | None]]:
    """The place of each concept at any depth, the concept, and the one above it."""
    waiting: list[tuple[str, Resource, Resource | None]] = [(where, holder, None)]
    while waiting:
        place, concept, above = waiting.pop()
        top = concept is holder
        if not top:
            yield place, concept, above
        inner = enumerate(objects(place, concept, key))
        below = [(f"{place}{': ' if top else '.'}{key}[{i}]", each, None if top else concept) for i, each in inner]
        waiting += reversed(below)


def property_meanings(where: str, resource: Resource) -> Iterator[tuple[str, str]]:
    """The code of each property with a meaning that FHIR defines."""
    for prop in objects(where, resource, "property"):
        uri = text_of(where, prop, "uri")
        if uri.startswith(_PROPERTIES):
            yield text_of(where, prop, "code"), uri.removeprefix(_PROPERTIES)


def properties(where: str, concept: Resource, meanings: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The meaning and value of each property of a concept; the value of a coding is its code."""
    for prop in objects(where, concept, "property"):
        code = text_of(where, prop, "code")
        value = next((prop[key] for key in prop if key.startswith("value")), "")
        if isinstance(value, dict):
            value = value.get("code", "")
        yield meanings.get(code, code), str(value).lower() if isinstance(value, bool) else str(value).strip()


def stated_status(meaning: str, value: str) -> str:
    """The status that a property states, ``active`` if the concept is in use; empty if the property is of another kind."""
    if meaning == "status":
        return value if value in _OUT_OF_USE else "active"
    if meaning in ("inactive", "deprecated"):
        return "active" if value in _FALSE else meaning
    return _DATES[meaning] if meaning in _DATES and value else ""


def text_of(where: str, holder: Resource, key: str) -> str:
    """A text with single spaces; empty if it is missing."""
    return single_spaced(field(where, holder, key, str))


def is_true(value: object) -> bool:
    """Whether a flag of JSON or XML is set."""
    return value in (True, "true")
