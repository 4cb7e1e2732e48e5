"""Orphanet's packets: a JSON object for each rare disease, with names, definition, parents, phenotypes and genes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.readers._curies import curie, describe, relation_name
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers.orphapacket.packets import listed_below, objects_below, read_packets, text_of, texts_below
from st_biomed.records import Definition, Parent, Record, Relation, SourceInfo, Tally, Term, Type, Xref, single_spaced

SOURCE = SourceInfo(
    name="ORPHAPACKET",
    title="Orphanet's packets of rare diseases",
    license="CC-BY-4.0",
    url="https://github.com/Orphanet/orphapacket",
    redistributable=True,
)
PATH = "packets: orphapackets.jsonl, or the folder of ORPHApacket_*.json"

_CODE = re.compile(r"\d{1,9}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_PREDICATES = {
    "E": "exactMatch",
    "NTBT": "broadMatch",
    "NTBT/E": "broadMatch",
    "BTNT": "narrowMatch",
    "BTNT/E": "narrowMatch",
    "ND": "xref",
}
_WRONG = "W"
_LEFT_OUT = {
    "Children": "Child",
    "Prevalences": "Prevalence",
    "AverageAgeOfOnsets": "AverageAgeOfOnset",
    "TypeOfInheritances": "TypeOfInheritance",
}
_EXCLUDED = "Excluded"


def records(
    path: Path,
    *,
    tally: Tally,
    phenotypes: bool = True,
    frequencies: bool = True,
    genes: bool = True,
    definitions: bool = True,
) -> Iterator[Record]:
    """Read each packet as a concept of ORDO with names, definition, parents, phenotypes, genes and cross-references.

    Parents without their own packet, phenotypes (HPO) and genes (HGNC) are concepts with the name in the packet; the
    symbol of a gene is its synonym. A disease has the relation ``has_phenotype_very_frequent`` and similar ones to its
    phenotypes; excluded phenotypes are dropped. A gene has relations such as
    ``Disease-causing_germline_mutation(s)_in`` to its diseases. Cross-references have the predicate of their mapping:
    ``exactMatch``, ``narrowMatch`` if the disease is broader than the target, ``broadMatch``, or ``xref`` if Orphanet
    has not decided. The type is that of the disorder, e.g. ``Clinical subtype``.

    The source is ``ORPHAPACKET``, so that packets can be merged with ORDO in another version. Names of phenotypes and
    genes have the sources of HPO and HGNC.

    Args:
        path: A file with a packet on each line (``orphapackets.jsonl``), or the folder of ``ORPHApacket_*.json``.
        tally: Counts names, types, definitions, parents, phenotypes, genes and cross-references, and statements of
            other kinds: children (which repeat the parents), prevalences, ages of onset and inheritance.
        phenotypes: Whether to read phenotypes; on by default.
        frequencies: Whether the relation to a phenotype states its frequency; on by default. Otherwise it is
            ``has_phenotype``.
        genes: Whether to read genes; on by default.
        definitions: Whether to read definitions; on by default.

    Raises:
        InputError: With file and line: no JSON, no packet, a packet without a code or a name, a code that occurs
            twice, a field of the wrong type, an unknown mapping. Also: a file or folder without packets.
    """
    packets = Packets(tally, phenotypes=phenotypes, frequencies=frequencies, genes=genes, definitions=definitions)
    for where, packet in read_packets(path):
        yield from packets.packet(where, packet)
    if not packets.names:
        raise InputError(f"{path}: contains no packet of Orphanet")
    yield from packets.finish()


class Packets:
    """Converts packets to records."""

    def __init__(self, tally: Tally, *, phenotypes: bool, frequencies: bool, genes: bool, definitions: bool) -> None:
        self.tally = tally
        self.phenotypes, self.frequencies, self.genes = phenotypes, frequencies, genes
        self.definitions = definitions
        self.names: dict[str, set[str]] = {}
        self._version: str | None = None
        self._declared: set[str] = set()
        self._parents: dict[tuple[str, str], str] = {}  # child and parent to the parent's name in the child's packet
        self._relations = DuplicateFilter(tally, "repeated phenotypes and genes")

    def packet(self, where: str, packet: dict[str, Any]) -> Iterator[Record]:
        """All statements of a packet except its parents."""
        number, name = text_of(where, packet, "ORPHAcode"), text_of(where, packet, "Label")
        if not _CODE.fullmatch(number) or not name:
            raise InputError(
                f"{where}: a packet needs an 'ORPHAcode' and a 'Label', found {number[:40]!r} and {name[:40]!r}"
            )
        code = f"ORDO:{number}"
        if code in self.names:
            raise InputError(f"{where}: packet {number} occurs twice")
        if self._version is None:
            date = _DATE.search(text_of(where, packet, "version"))
            self._version = date[0] if date else ""
            yield replace(SOURCE, version=self._version)
            yield describe("ORDO")
        names = DuplicateFilter(self.tally, "empty or repeated names of a concept")
        names.mark_seen([("",)])
        for i, text in enumerate([name, *texts_below(where, packet, "Synonyms", "Synonym")]):
            if names.read(text):
                yield Term(code, text, "synonym" if i else "preferred")
        self.names[code] = {name}
        yield from self._meaning(where, code, packet)
        for parent in objects_below(where, packet, "Parents", "Parent"):
            self._parent(where, code, parent)
        for phenotype in objects_below(where, packet, "Phenotypes", "Phenotype"):
            yield from self._phenotype(where, code, phenotype)
        for gene in objects_below(where, packet, "Genes", "Gene"):
            yield from self._gene(where, code, gene)
        targets = DuplicateFilter(self.tally, "repeated cross-references")
        for reference in objects_below(where, packet, "ExternalReferences", "ExternalReference"):
            yield from self._xref(where, code, reference, targets)
        for key, single in _LEFT_OUT.items():
            n = len(listed_below(where, packet, key, single))
            self.tally.read_dropped(f"statements of other kinds ({key})", n)

    def finish(self) -> Iterator[Record]:
        """Parents, and names of those without a packet."""
        for (child, parent), name in self._parents.items():
            self.tally.read()
            if child == parent:
                self.tally.drop("parents equal to their child")
                continue
            if parent not in self.names:
                if not name:
                    self.tally.drop("parents without a packet or a name")
                    continue
                self.names[parent] = {name}
                yield Term(parent, name)
            self.tally.keep()
            yield Parent(child, parent)

    def _meaning(self, where: str, code: str, packet: dict[str, Any]) -> Iterator[Record]:
        """The type of a disorder and its definition."""
        for kind in objects_below(where, packet, "DisorderType", "DisorderType"):
            self.tally.read()
            if value := text_of(where, kind, "value"):
                self.tally.keep()
                yield Type(code, value)
            else:
                self.tally.drop("empty types")
        rows = DuplicateFilter(self.tally, "empty or repeated definitions")
        rows.mark_seen([("",)])
        for section in objects_below(where, packet, "TextSection", "TextSection"):
            text = single_spaced(text_of(where, section, "Contents"))
            self.tally.read()
            if text_of(where, section, "TextSectionType") != "Definition":
                self.tally.drop("texts that are no definitions")
            elif not self.definitions:
                self.tally.drop("definitions")
            elif rows.keep(text):
                yield Definition(code, text)

    def _parent(self, where: str, code: str, parent: dict[str, Any]) -> None:
        above = text_of(where, parent, "ORPHAcode")
        if not _CODE.fullmatch(above):
            raise InputError(f"{where}: a parent needs an 'ORPHAcode', found {above[:40]!r}")
        key = code, f"ORDO:{above}"
        if key in self._parents:
            self.tally.read_dropped("repeated parents")
        else:
            self._parents[key] = text_of(where, parent, "Label")

    def _phenotype(self, where: str, code: str, phenotype: dict[str, Any]) -> Iterator[Record]:
        target, name = curie(text_of(where, phenotype, "HPOId")), text_of(where, phenotype, "HPOTerm")
        frequency = text_of(where, phenotype, "HPOFrequency").partition("(")[0].strip()
        relation = "has_phenotype"
        if self.frequencies and frequency:
            relation += "_" + relation_name("", frequency.lower())
        self.tally.read()
        if not self.phenotypes:
            self.tally.drop("phenotypes")
        elif frequency == _EXCLUDED:
            self.tally.drop("phenotypes that are excluded")
        elif target is None or not name:
            self.tally.drop("phenotypes without a code or a name")
        elif self._relations.keep(code, relation, target):
            yield from self._named(target, [name])
            yield Relation(code, relation, target)

    def _gene(self, where: str, code: str, gene: dict[str, Any]) -> Iterator[Record]:
        references = objects_below(where, gene, "ExternalReferences", "ExternalReference")
        number = next((text_of(where, ref, "Reference") for ref in references if ref.get("Source") == "HGNC"), "")
        target = curie(f"HGNC:{number}")
        names = [text for key in ("Name", "Symbol") if (text := text_of(where, gene, key))]
        relation = relation_name("", text_of(where, gene, "DisorderGeneAssociationType"))
        self.tally.read()
        if not self.genes:
            self.tally.drop("genes")
        elif target is None or not names or not relation:
            self.tally.drop("genes without a code of HGNC, a name or an association")
        elif self._relations.keep(target, relation, code):
            yield from self._named(target, names)
            yield Relation(target, relation, code)

    def _xref(self, where: str, code: str, reference: dict[str, Any], targets: DuplicateFilter) -> Iterator[Record]:
        source, number = text_of(where, reference, "Source"), text_of(where, reference, "Reference")
        target = curie(f"{source}:{number}")
        mapping = (text_of(where, reference, "DisorderMappingRelation").split() or ["ND"])[0]
        self.tally.read()
        if target is None:
            self.tally.drop("cross-references that are no code")
        elif mapping == _WRONG:
            self.tally.drop("cross-references that are denied")
        elif mapping not in _PREDICATES:
            raise InputError(
                f"{where}: a mapping must be one of {', '.join((*_PREDICATES, _WRONG))}, found {mapping[:40]!r}"
            )
        elif targets.keep(_PREDICATES[mapping], target):
            yield Xref(code, target, _PREDICATES[mapping])

    def _named(self, code: str, texts: list[str]) -> Iterator[Record]:
        """The new names of a phenotype or gene."""
        prefix = code.partition(":")[0]
        source = f"{prefix}-{SOURCE.name}"
        if prefix not in self._declared:
            self._declared.add(prefix)
            own = describe(prefix)
            yield own
            yield replace(
                own, name=source, title=f"{own.title} as imported by {SOURCE.name}", version=self._version or ""
            )
        known = self.names.setdefault(code, set())
        for text in texts:
            if text not in known:
                yield Term(code, text, "synonym" if known else "preferred", source=source)
                known.add(text)
