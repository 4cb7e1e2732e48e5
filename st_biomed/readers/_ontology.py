"""What the readers of ontologies have in common: CURIEs, licenses, scopes of synonyms, and which statements are kept.

No reader by itself: ``obo``, ``obograph``, ``babelon``, ``sssom`` and ``hpoa`` are built on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.readers._once import Once
from st_biomed.records import Parent, Record, Relation, SourceInfo, Tally, Term, Type, Xref
from st_biomed.settings.keyword_options import listed

SCOPES = ("EXACT", "BROAD", "NARROW", "RELATED")

# Reasons of the tally that the readers share.
LOGICAL = "parts of logical definitions"
OTHER = "statements of other kinds (definitions, comments, ...)"

# Titles and licenses as the ontologies and the OBO Foundry registry publish them.
_KNOWN = {
    "BFO": ("Basic Formal Ontology", "CC-BY-4.0"),
    "CHEBI": ("Chemical Entities of Biological Interest", "CC-BY-4.0"),
    "CL": ("Cell Ontology", "CC-BY-4.0"),
    "DECIPHER": ("DECIPHER syndromes", "not stated"),
    "DOID": ("Human Disease Ontology", "CC0-1.0"),
    "FOODON": ("Food Ontology", "CC-BY-3.0"),
    "GO": ("Gene Ontology", "CC-BY-4.0"),
    "HP": ("Human Phenotype Ontology", "HPO license (attribution and version, content not to be altered)"),
    "MAXO": ("Medical Action Ontology", "CC-BY-4.0"),
    "MONDO": ("Mondo Disease Ontology", "CC-BY-4.0"),
    "NCBITaxon": ("NCBI organismal classification", "CC0-1.0"),
    "NCIT": ("NCI Thesaurus", "CC-BY-4.0"),
    "OMIM": ("Online Mendelian Inheritance in Man", "OMIM license"),
    "ORDO": ("Orphanet Rare Disease Ontology", "CC-BY-4.0"),
    "PATO": ("Phenotype And Trait Ontology", "CC-BY-3.0"),
    "PR": ("Protein Ontology", "CC-BY-4.0"),
    "UBERON": ("Uberon multi-species anatomy ontology", "CC-BY-3.0"),
}
_HOMES = {
    "DECIPHER": "https://www.deciphergenomics.org",
    "OMIM": "https://www.omim.org",
    "ORDO": "https://www.orphadata.com/ordo/",
}  # of those that the OBO library does not publish
_OPEN = re.compile(r"CC0-[\d.]+|CC-BY-[\d.]+")
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/([\d.]+\d)")

# One prefix for each terminology, whatever an ontology calls it; keys in capitals.
_PREFIXES = {
    "ICD-9": "ICD9",
    "ICD-10": "ICD10",
    "ICD-O": "ICDO",
    "MEDDRA": "MEDDRA",
    "MSH": "MESH",
    "NCI": "NCIT",
    "NCI_THESAURUS": "NCIT",
    "NCITHESAURUS": "NCIT",
    "ORPHA": "ORDO",
    "ORPHANET": "ORDO",
    "SCTID": "SNOMEDCT",
    "SNOMED_CT": "SNOMEDCT",
    "SNOMEDCT_US": "SNOMEDCT",
    "UMLS_CUI": "UMLS",
}
_EDITION = re.compile(r"_\d{4}_\d\d_\d\d$")  # DOID: SNOMEDCT_US_2023_03_01
_CURIE = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*):((?!//)\S+)")
_IRIS = (
    (re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]\w*)_([\w.-]+)", re.ASCII), None),
    (re.compile(r"https?://www\.orpha\.net/ORDO/(Orphanet)_(\w+)", re.ASCII), None),
    (re.compile(r"https?://www\.ebi\.ac\.uk/efo/(EFO)_(\w+)", re.ASCII), None),
    (re.compile(r"https?://identifiers\.org/([a-z0-9.]+)[/:](\S+)", re.ASCII), None),
    (re.compile(r"https?://ncicb\.nci\.nih\.gov/xml/owl/EVS/Thesaurus\.owl#()(C\d+)"), "NCIT"),
    (re.compile(r"https?://linkedlifedata\.com/resource/umls/id/()(C\d+)"), "UMLS"),
    (re.compile(r"https?://snomed\.info/id/()(\d+)"), "SNOMEDCT"),
)
_MATCH = re.compile(r"(?:skos:|https?://www\.w3\.org/2004/02/skos/core#)?((?:exact|close|broad|narrow|related)Match)")


def curie(text: str) -> str | None:
    """A CURIE or IRI as the CURIE that every reader uses for the concept; ``None`` where it is neither.

    Prefixes become one per terminology: ``UMLS_CUI`` UMLS, ``MSH`` MESH, ``NCI`` NCIT, ``ORPHA`` and ``Orphanet`` ORDO,
    ``SCTID`` and every ``SNOMEDCT_US_<date>`` SNOMEDCT, ``ICD-10`` ICD10; others stay as they are written. IRIs are
    those of OBO, Orphanet, EFO, NCIt, UMLS (linkedlifedata), SNOMED CT and identifiers.org.
    """
    for form, prefix in _IRIS:
        if match := form.fullmatch(text):
            found = prefix or (match[1].upper() if "identifiers.org" in text else match[1])
            return f"{_PREFIXES.get(found.upper(), found)}:{match[2]}"
    match = _CURIE.fullmatch(text)
    if not match:
        return None
    found = _EDITION.sub("", match[1].upper())
    return f"{_PREFIXES.get(found, match[1])}:{match[2]}"


def match_predicate(text: str) -> str:
    """``exactMatch`` and its like, whether written with ``skos:``, as an IRI or bare; empty for anything else."""
    match = _MATCH.fullmatch(text)
    return match[1] if match else ""


def relation_name(relation: str, label: str = "") -> str:
    """What a relation is called: its label with underscores for spaces, else its CURIE, else the end of its IRI."""
    return "_".join(label.split()) or curie(relation) or re.split("[#/]", relation)[-1] or relation


def describe(prefix: str, *, title: str = "", version: str = "", license: str = "") -> SourceInfo:
    """The source whose codes have this prefix: its published title and license, else what a file says of it.

    Args:
        prefix: The source's name.
        title: The file's title of it, used where none is known.
        version: Its edition.
        license: The file's license of it, an IRI or a phrase; by default the published one.
    """
    known_title, known_license = _KNOWN.get(prefix, (title or prefix, "not stated"))
    if match := _CREATIVE_COMMONS.search(license):
        license = f"CC0-{match[2]}" if match[1] == "zero" else f"CC-{match[1].upper()}-{match[2]}"
    license = license or known_license
    url = _HOMES.get(prefix) or (f"http://purl.obolibrary.org/obo/{prefix.lower()}.owl" if prefix in _KNOWN else "")
    return SourceInfo(prefix, known_title, version, license, url or "not stated", bool(_OPEN.fullmatch(license)))


class Header(NamedTuple):
    """What an ontology says of itself.

    Attributes:
        ontology: Its id or IRI, e.g. ``"uberon/basic"`` or ``"http://purl.obolibrary.org/obo/hp.json"``.
        title: Its title.
        version: Its edition; a date within it is enough.
        license: Its license.
    """

    ontology: str = ""
    title: str = ""
    version: str = ""
    license: str = ""

    @property
    def name(self) -> str:
        """The prefix of the ontology's own codes in capitals: ``"UBERON"``, ``"HP"``; empty where it has no id."""
        _, obo, below = self.ontology.partition("purl.obolibrary.org/obo/")
        path = [part for part in (below if obo else self.ontology).split("/") if part] or [""]
        segment = path[-1] if "://" in self.ontology and not obo else path[0]
        own = segment.split(".")[0].upper()
        return _PREFIXES.get(own, own)  # Orphanet's ontology of ORDO codes is called orphanet

    def source(self, prefix: str) -> SourceInfo:
        """The source of the names, parents and relations of this prefix: the ontology itself, or one it imports."""
        date = re.search(r"\d{4}-\d\d-\d\d", self.version)
        version = date[0] if date else self.version
        if self.name in ("", prefix.upper()):
            return describe(prefix, title=self.title, version=version, license=self.license)
        own = describe(prefix)
        title = f"{own.title} as imported by {self.name}"
        return SourceInfo(
            f"{prefix}-{self.name}", title, version, own.license, own.url, redistributable=own.redistributable
        )


@dataclass
class Statements:
    """What an ontology says of one term, in its own words.

    Attributes:
        id: CURIE or IRI.
        name: Its label; empty where it has none.
        obsolete: Whether it is no longer in use.
        synonyms: Pairs of a scope and a name.
        types: Subsets and namespaces.
        xrefs: Pairs of a predicate and a CURIE or IRI.
        edges: Pairs of a relation, empty for is_a, and the CURIE or IRI it leads to.
        left_out: How many of its statements no reader takes, by reason.
    """

    id: str
    name: str = ""
    obsolete: bool = False
    synonyms: list[tuple[str, str]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    xrefs: list[tuple[str, str]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class Ontology:
    """From statements to records. Rows of the tally are terms that are dropped whole, and each statement of the others.

    Call :meth:`begin` with the header, then :meth:`term` and :meth:`edge`, in the end :meth:`finish`.
    """

    def __init__(
        self,
        path: Path,
        tally: Tally,
        *,
        scopes: str | Sequence[str],
        obsolete: bool,
        prefixes: str | Sequence[str],
        language: str,
    ) -> None:
        self.path = path
        self.tally = tally
        self.scopes = listed("scope", scopes, SCOPES)
        self.obsolete = obsolete
        self.prefixes = listed("prefix", prefixes)
        if not re.fullmatch("[a-z]{2}", language):
            raise InputError(f"language must be two letters of ISO 639-1, e.g. 'it', found {language!r}")
        self.language = language
        self.header = Header()
        self.source_of: dict[str, str] = {}  # of each concept that was read
        self._here: set[str] = set()  # terms of the graph that is being read
        self._sources: dict[str, str] = {}  # prefix to source, in this graph
        self._declared: set[str] = set()
        self._found: set[str] = set()
        self._edges: list[tuple[str, str, str]] = []

    def begin(self, header: Header) -> None:
        """A file or a graph of it begins."""
        self.header = header
        self._here, self._sources = set(), {}

    def term(self, term: Statements, where: str) -> Iterator[Record]:
        """The records of a term, its edges aside.

        Args:
            term: What is said of it.
            where: ``file:line`` or the like, for errors.

        Raises:
            InputError: The term is defined twice in one graph.
        """
        code = curie(term.id)
        if code is None:
            self._drop("terms whose id is no CURIE")
            return
        if code in self._here:
            raise InputError(f"{where}: term {code} is defined twice")
        prefix, name = code.partition(":")[0], term.name.strip()
        self._found.add(prefix)
        if reason := self._reason(code, prefix, name, term.obsolete):
            self._drop(reason)
            return
        self._here.add(code)
        if prefix not in self._sources:
            source = self.header.source(prefix)
            if prefix not in {source.name, *self._declared}:
                yield describe(prefix)  # rows name the import as their source, and their codes have this prefix
            yield source
            self._sources[prefix] = source.name
            self._declared |= {prefix, source.name}
        self.source_of[code] = self._sources[prefix]
        self._keep()
        yield Term(code, name, "preferred", self.language, self.source_of[code])
        yield from self._synonyms(code, name, term.synonyms)
        yield from self._links(code, term)
        for relation, parent in term.edges:
            self.edge(code, relation, parent)
        for reason, n in term.left_out.items():
            self.tally.read(n)
            self.tally.drop(reason, n)

    def edge(self, child: str, relation: str, parent: str) -> None:
        """Keep an edge for the end, when it is known which concepts have a name; ``relation`` is empty for is_a."""
        self._edges.append((curie(child) or child, relation, curie(parent) or parent))

    def finish(self, labels: Mapping[str, str]) -> Iterator[Record]:
        """The edges.

        Args:
            labels: What relations are called.

        Raises:
            InputError: No term has a prefix that was asked for.
        """
        for prefix in self.prefixes:
            if prefix not in self._found:
                raise InputError(
                    f"{self.path}: no term has prefix {prefix!r}; there are {', '.join(sorted(self._found)) or 'none'}"
                )
        edges = Once(self.tally, "repeated parents and relations")
        for child, relation, parent in self._edges:
            name = relation_name(relation, labels.get(relation, "")) if relation else ""
            source = self.source_of.get(child)
            if source is None or parent not in self.source_of:
                self._drop("parents and relations of a concept that was not read")
            elif child == parent:
                self._drop("parents and relations of a concept to itself")
            elif self._reads(edges, child, name, parent):
                yield Relation(child, name, parent, source) if relation else Parent(child, parent, source)

    def _reason(self, code: str, prefix: str, name: str, obsolete: bool) -> str:
        """Why a term is dropped; empty where it is kept."""
        if obsolete and not self.obsolete:
            return "obsolete terms"
        if not name:
            return "terms without a name"
        if self.prefixes and prefix not in self.prefixes:
            return "terms of other prefixes"
        return "terms of an earlier graph" if code in self.source_of else ""

    def _synonyms(self, code: str, name: str, synonyms: list[tuple[str, str]]) -> Iterator[Record]:
        names = Once(self.tally, "repeated names of a concept")
        names.knows([(name,)])
        for scope, text in synonyms:
            text = text.strip()
            if scope not in self.scopes:
                self._drop(f"{scope} synonyms")
            elif not text:
                self._drop("empty names")
            elif self._reads(names, text):
                yield Term(code, text, "synonym", self.language, self.source_of[code])

    def _links(self, code: str, term: Statements) -> Iterator[Record]:
        types = Once(self.tally, "repeated or empty types")
        types.knows([("",)])
        for kind in map(str.strip, term.types):
            if self._reads(types, kind):
                yield Type(code, kind)
        targets = Once(self.tally, "repeated cross-references, or to the concept itself")
        for predicate, text in term.xrefs:
            target = curie(text)
            targets.knows([(predicate, code)])
            if target is None:
                self._drop("cross-references that are no CURIE")
            elif self._reads(targets, predicate, target):
                yield Xref(code, target, predicate, self.source_of[code])

    def _reads(self, rows: Once, *row: str) -> bool:
        self.tally.read()
        return rows.keeps(*row)

    def _keep(self) -> None:
        self.tally.read()
        self.tally.keep()

    def _drop(self, reason: str) -> None:
        self.tally.read()
        self.tally.drop(reason)
