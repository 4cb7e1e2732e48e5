"""BioC, the format of NCBI's corpora: BioRED, NLM-Chem, BC5CDR, tmVar, PubTator3's exports; XML or JSON.

A file, or a folder with a file for each split (``Train.BioC.XML``, ``CDR_TestSet.BioC.xml``,
``corpus-dev.BioC.json.gz``), folders of files with the names of their splits (``train/*.xml``), or files without a
split.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.files.gzipped import plain_name
from st_biomed.linking_data.annotated import Corpus, files_by_split
from st_biomed.linking_data.bioc import BioCAnnotation, BioCDocument, bioc_form, composite_parts, read_bioc
from st_biomed.linking_data.bioc_places import Place, Places
from st_biomed.linking_data.gold_ids import SEVERAL, groups_of
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="BIOC",
    title="A corpus in BioC (Comeau et al., Database 2013)",
    license="that of the corpus",
    url="https://bioc.sourceforge.net",
)
DICTIONARY = "names"
PREFIX = ""

KEYS = ("identifier", "MESH", "NCBI GENE", "NCBI Homologene", "OMIM", "CUI", "UMLS", "concept_id")
"""Infons with ids, the most likely first."""
FORMS = ("xml", "json")


def read(
    path: Path,
    *,
    tally: Tally,
    types: str | Iterable[str] = (),
    key: str = "",
    several: str = "groups",
    form: str = "",
) -> Corpus:
    """Read the existing splits; files without a split are ``all``. Relations are ignored.

    A mention is searched for at its offsets, which count characters of the document. In some files they count bytes of
    UTF-8 or units of UTF-16, or start at the beginning of the passage; the tally then has a note. A mention that is
    not found is kept without its position, and noted too. An annotation without a string has the text at its offsets.
    The individual mentions of a composite one (BC5CDR's ``CompositeRole``) are its parts and are not counted
    separately.

    Args:
        tally: Counts annotations and relations.
        types: Types of the annotations to read (their infon ``type``), e.g. ``Disease,Chemical``; all by default.
        key: The infon with the ids; by default the first existing one of ``identifier``, ``MESH``, ``NCBI GENE``,
            ``NCBI Homologene``, ``OMIM``, ``CUI``, ``UMLS`` and ``concept_id``. Keys are compared in any case.
        several: What several ids of an annotation are, with ``|``, ``;``, ``,`` or ``+`` between: ``groups``, the
            parts of a composite mention, or ``alternatives`` of one concept.
        form: ``xml`` or ``json``, for a folder with both.

    Raises:
        InputError: With file and line: an error of :func:`~st_biomed.linking_data.bioc.read_bioc`. Also another
            ``several`` or ``form``, a ``key`` that no annotation has, no file, or files of both forms.
    """
    check_name("several", several, SEVERAL)
    if form and form not in FORMS:
        raise unknown_name("form", form, FORMS)
    files = files_by_split(path, lambda file: bioc_form(file) in ((form,) if form else FORMS))
    forms = {bioc_form(file): file.name for some in files.values() for file in some}
    if len(forms) > 1 and path.is_dir():
        raise InputError(f"{path}: holds {' and '.join(sorted(forms.values()))}; choose one with form=, xml or json")
    reading = _Reading(tally, listed("types", types), key.lower(), several)
    for split, some in files.items():
        reading.corpus.mentions[split] = []
        for file in some:
            for document in read_bioc(file):
                reading.take(document, split, plain_name(file))
    reading.finish()
    return reading.corpus


@dataclass
class _Reading:
    """The content of a corpus read so far."""

    tally: Tally
    types: tuple[str, ...]
    key: str
    several: str
    corpus: Corpus = field(default_factory=Corpus)
    keys: dict[str, None] = field(default_factory=dict)
    displaced: list[str] = field(default_factory=list)

    def take(self, document: BioCDocument, split: str, file: str) -> None:
        """Add a document of a file."""
        self.tally.read_dropped("relations between concepts", document.n_relations)
        repeated = document.id in self.corpus.documents
        places = Places(document)
        self.corpus.documents.setdefault(document.id, places.text)
        for passage in document.passages:
            parts_of = composite_parts(passage.annotations)
            parts = {part for some in parts_of.values() for part in some}
            for i, annotation in enumerate(passage.annotations):
                self.tally.read()
                kind = annotation.infons.get("type", "")
                self.keys.update(dict.fromkeys(annotation.infons))
                if repeated:
                    self.tally.drop("annotations of a document that came before")
                elif self.types and kind not in self.types:
                    self.tally.drop(f"annotations of type {kind or '(none)'}")
                elif i in parts:
                    self.tally.drop("parts of a composite mention")
                elif not annotation.locations:
                    self.tally.drop("annotations without a location")
                elif not (place := places.find(annotation, passage.offset)).text:
                    self.tally.drop("annotations without a string")
                else:
                    self._note(place, document, file)
                    gold = self._gold(annotation)
                    strings = self._parts(gold, [passage.annotations[part] for part in parts_of.get(i, ())])
                    mention = Mention(place.text, gold, strings, document.id, place.start, place.end, kind)
                    self.corpus.add(split, mention)
                    self.tally.keep()

    def _gold(self, annotation: BioCAnnotation) -> tuple[frozenset[str], ...]:
        """The ids in the infon with the key, or in the first of the usual ones."""
        keys = [self.key] if self.key else [key.lower() for key in KEYS]
        cell = next((annotation.infons[key] for key in keys if annotation.infons.get(key)), "")
        return groups_of(cell, self.several)

    def _parts(self, gold: tuple[frozenset[str], ...], parts: list[BioCAnnotation]) -> tuple[str, ...]:
        """The string of each group of a composite mention; nothing if one of them has none."""
        strings = {self._gold(part): " ".join(part.text.split()) for part in reversed(parts)}
        group_strings = [strings.get((group,), "") for group in gold]
        return tuple(group_strings) if all(group_strings) else ()

    def _note(self, place: Place, document: BioCDocument, file: str) -> None:
        if place.counted:
            self.tally.note(f"{file}: offsets count {place.counted}")
        if place.start < 0:
            self.displaced.append(f"{document.where}: {place.text[:40]!r}")

    def finish(self) -> None:
        """Report the mentions that were not found.

        Raises:
            InputError: No annotation has the requested key.
        """
        if self.key and self.keys and self.key not in self.keys:
            raise unknown_name("key of linking format 'bioc' (no annotation has it)", self.key, self.keys)
        if self.displaced:
            n = len(self.displaced)
            self.tally.note(f"{n:,} mention{'s' * (n > 1)} not found at the offsets, first {self.displaced[0]}")
