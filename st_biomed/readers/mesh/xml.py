"""MeSH as the official XML of descriptors, ``desc2031.xml``, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.files.xml_elements import XMLForm, read_elements
from st_biomed.readers.mesh.descriptors import Descriptor, Name

_FORM = XMLForm("the XML of descriptors", "DescriptorRecordSet", "DescriptorRecord")


def descriptors(path: Path) -> Iterator[Descriptor]:
    """The records of descriptors.

    Raises:
        InputError: See :func:`~st_biomed.files.xml_elements.read_elements`.
    """
    for line, record in read_elements(path, _FORM):
        concepts = [
            (concept, concept.get("PreferredConceptYN", "Y") == "Y")
            for concept in record.iterfind("ConceptList/Concept")
        ]
        yield Descriptor(
            f"{path}:{line}",
            record.findtext("DescriptorUI", "").strip(),
            record.findtext("DescriptorName/String", "").strip(),
            [
                Name(
                    term.findtext("String", ""),
                    term.get("IsPermutedTermYN") == "Y",
                    term.get("LexicalTag", "NON"),
                    preferred,
                )
                for concept, preferred in concepts
                for term in concept.iterfind("TermList/Term")
            ],
            [(number.text or "").strip() for number in record.iterfind("TreeNumberList/TreeNumber")],
            [
                (action.text or "").strip()
                for action in record.iterfind(
                    "PharmacologicalActionList/PharmacologicalAction/DescriptorReferredTo/DescriptorUI"
                )
            ],
            [
                (note.text or "", preferred)
                for concept, preferred in concepts
                for note in concept.iterfind("ScopeNote")
            ],
        )
