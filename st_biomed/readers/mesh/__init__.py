"""MeSH, the Medical Subject Headings of the U.S. National Library of Medicine: one concept for each descriptor or supplementary record."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file
from st_biomed.files.gzipped import open_decompressed, plain_name
from st_biomed.readers._years import year_in_name
from st_biomed.readers.mesh import ascii, table, xml
from st_biomed.readers.mesh.descriptors import SOURCE, Descriptor, Thesaurus
from st_biomed.records import Record, Tally
from st_biomed.settings.keyword_options import listed

__all__ = ["PATH", "SOURCE", "records"]

PATH = "MeSH: desc2031.xml, d2031.bin or a table of terms"
_CONCEPTS = ("all", "preferred")


def records(  # noqa: PLR0913 - four files, and which terms are names
    path: Path,
    *,
    tally: Tally,
    trees: str | Path | None = None,
    actions: str | Path | None = None,
    permuted: bool = False,
    without_tags: str | Sequence[str] = "",
    concepts: str = "all",
    definitions: bool = True,
    supplement: str | Path | None = None,
    supplement_notes: bool = False,
) -> Iterator[Record]:
    """Read headings as preferred names, entry terms as synonyms, scope notes as definitions, tree numbers as parents.

    The types of a descriptor are the letters of its trees: A anatomy, B organisms, C diseases, D chemicals and drugs,
    and so on. A descriptor with several tree numbers has the parent of each. Together, the trees contain a cycle of
    two descriptors that are above one another in different trees; ``Terminology.without_cycles`` drops it. Female and
    Male have no tree number. A descriptor whose substance has an action has the relation
    ``has_pharmacological_action`` to the descriptor of that action. The definition is the scope note of the preferred
    concept; tables of terms have none.

    Supplementary records (substances, protocols, rare diseases, organisms, ...) are concepts with the relation
    ``mapped_to`` to each heading that they are mapped to, without its qualifier, and with pharmacological actions. They
    have neither parents nor types.

    Args:
        path: The official XML (``desc2031.xml``) or ASCII form (``d2031.bin``), distinguished by the suffix, or a
            table of terms with the columns DescriptorUI, DescriptorName, ConceptUI, TermName, IsPermutedTermYN,
            LexicalTag and RecordPreferredTermYN.
        tally: Counts terms, tree numbers, pharmacological actions, scope notes, and mappings to headings.
        trees: For a table of terms, the official tree numbers (``mtrees2031.bin``); by default none, so that there are
            no parents.
        actions: For a table of terms, a table of pharmacological actions with the columns DescriptorUI and
            PharmActionUI; by default none.
        permuted: Whether to read permuted terms too ("Fever, Zorb" beside "Zorb Fever"); off by default. The ASCII
            form does not mark them, so they are always read from it.
        without_tags: Lexical tags of the terms to leave out, separated by commas, e.g. ``"TRD,LAB"`` for trade names
            and numbers of laboratories; none by default.
        concepts: ``all`` (default) for the terms of every concept of a descriptor, which may be narrower than its
            heading; ``preferred`` for those of the preferred concept.
        definitions: Whether to read scope notes; on by default.
        supplement: The supplementary records, as XML (``supp2031.xml``) or in ASCII form (``c2031.bin``); by default none.
        supplement_notes: Whether to read the notes of supplementary records as definitions; off by default, since most
            are remarks such as where the structure was published.

    Raises:
        InputError: With file and line: an invalid or repeated identifier or tree number, a descriptor without a
            heading, a malformed row, invalid XML or XML that declares entities. Also: no such file, no such column,
            ``supplement_notes`` without ``supplement``.
    """
    if concepts not in _CONCEPTS:
        raise InputError(f"concepts must be {' or '.join(_CONCEPTS)}, found {concepts!r}")
    if supplement_notes and supplement is None:
        raise InputError("supplement_notes of reader 'mesh' needs supplement, the file of supplementary records")
    path = check_file(path)
    beside = [check_file(file) for file in (trees, actions, supplement) if file is not None]
    thesaurus = Thesaurus(
        tally,
        permuted=permuted,
        without_tags=listed("without_tags", without_tags),
        preferred_only=concepts == "preferred",
        definitions=definitions,
        supplement_notes=supplement_notes,
    )
    yield replace(SOURCE, version=year_in_name(path, *beside))
    any_descriptor = False
    for descriptor in _descriptors(path, tally, trees, actions):
        any_descriptor = True
        yield from thesaurus.descriptor(descriptor)
    if not any_descriptor:
        raise InputError(f"{path}: contains no descriptor of MeSH")
    if supplement is not None:
        for record in _supplementary(Path(supplement), tally):
            yield from thesaurus.supplementary(record)
    yield from thesaurus.finish()


def _descriptors(
    path: Path, tally: Tally, trees: str | Path | None, actions: str | Path | None
) -> Iterator[Descriptor]:
    """The descriptors of a file of any form."""
    suffix = _form(path)
    if suffix in (".xml", ".bin"):
        if trees is not None or actions is not None:
            raise InputError(f"{path}: contains its trees and actions; trees= and actions= are for a table of terms")
        yield from xml.descriptors(path) if suffix == ".xml" else ascii.descriptors(path, tally)
        return
    descriptors = list(table.descriptors(path))
    if trees is not None:
        table.add_trees(Path(trees), descriptors, tally)
    if actions is not None:
        table.add_actions(Path(actions), descriptors, tally)
    yield from descriptors


def _supplementary(path: Path, tally: Tally) -> Iterator[Descriptor]:
    """The supplementary records of a file of either form."""
    suffix = _form(path)
    if suffix not in (".xml", ".bin"):
        raise InputError(f"{path}: supplementary records must be .xml or .bin, found {suffix!r}")
    any_record = False
    for record in xml.supplementary(path) if suffix == ".xml" else ascii.supplementary(path, tally):
        any_record = True
        yield record
    if not any_record:
        raise InputError(f"{path}: contains no supplementary record of MeSH")


def _form(path: Path) -> str:
    """The suffix of a file in lower case; of ``desc2031.gz``, as NLM names it, that of its contents."""
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix:
        return suffix
    with open_decompressed(path) as (stream, _):
        start = stream.read(64).removeprefix(codecs.BOM_UTF8).lstrip()
    return ".xml" if start.startswith(b"<") else ".bin" if start.startswith(b"*NEWRECORD") else ""
