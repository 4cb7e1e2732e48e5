"""MeSH as the official XML of descriptors, ``desc2031.xml``, and supplementary records, ``supp2031.xml``, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from st_biomed.files.xml_elements import XMLForm, read_elements
from st_biomed.readers.mesh.descriptors import Descriptor, Name

_ACTIONS = "PharmacologicalActionList/PharmacologicalAction/DescriptorReferredTo/DescriptorUI"
_DESCRIPTORS = XMLForm("the XML of descriptors", "DescriptorRecordSet", "DescriptorRecord")
_SUPPLEMENT = XMLForm("the XML of supplementary records", "SupplementalRecordSet", "SupplementalRecord")


def descriptors(path: Path) -> Iterator[Descriptor]:
    """The records of descriptors.

    Raises:
        InputError: See :func:`~st_biomed.files.xml_elements.read_elements`.
    """
    for line, record in read_elements(path, _DESCRIPTORS):
        notes = [
            (note.text or "", preferred)
            for concept, preferred in _concepts(record)
            for note in concept.iterfind("ScopeNote")
        ]
        yield Descriptor(
            f"{path}:{line}",
            record.findtext("DescriptorUI", "").strip(),
            record.findtext("DescriptorName/String", "").strip(),
            _names(record),
            _texts(record, "TreeNumberList/TreeNumber"),
            _texts(record, _ACTIONS),
            notes,
        )


def supplementary(path: Path) -> Iterator[Descriptor]:
    """The supplementary records.

    Raises:
        InputError: See :func:`~st_biomed.files.xml_elements.read_elements`.
    """
    for line, record in read_elements(path, _SUPPLEMENT):
        yield Descriptor(
            f"{path}:{line}",
            record.findtext("SupplementalRecordUI", "").strip(),
            record.findtext("SupplementalRecordName/String", "").strip(),
            _names(record),
            actions=_texts(record, _ACTIONS),
            notes=[(note, True) for note in _texts(record, "Note")],
            mapped_to=_texts(record, "HeadingMappedToList/HeadingMappedTo/DescriptorReferredTo/DescriptorUI"),
        )


def _concepts(record: Element) -> list[tuple[Element, bool]]:
    """The concepts of a record, each with whether it is the preferred one."""
    return [
        (concept, concept.get("PreferredConceptYN", "Y") == "Y") for concept in record.iterfind("ConceptList/Concept")
    ]


def _names(record: Element) -> list[Name]:
    return [
        Name(
            term.findtext("String", ""),
            term.get("IsPermutedTermYN") == "Y",
            term.get("LexicalTag", "NON"),
            preferred,
        )
        for concept, preferred in _concepts(record)
        for term in concept.iterfind("TermList/Term")
    ]


def _texts(record: Element, path: str) -> list[str]:
    return [(element.text or "").strip() for element in record.iterfind(path)]
