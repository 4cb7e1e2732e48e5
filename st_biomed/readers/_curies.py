"""Names that ontologies write in several ways: CURIEs, predicates, relations, sources and licenses."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from st_biomed.records import SourceInfo

# Titles and licenses as the ontologies and the OBO Foundry registry publish them.
_KNOWN = {
    "BFO": ("Basic Formal Ontology", "CC-BY-4.0"),
    "BTO": ("BRENDA Tissue Ontology", "CC-BY-4.0"),
    "CARO": ("Common Anatomy Reference Ontology", "CC-BY-3.0"),
    "CHEBI": ("Chemical Entities of Biological Interest", "CC-BY-4.0"),
    "CL": ("Cell Ontology", "CC-BY-4.0"),
    "DECIPHER": ("DECIPHER syndromes", "not stated"),
    "DOID": ("Human Disease Ontology", "CC0-1.0"),
    "FOODON": ("Food Ontology", "CC-BY-3.0"),
    "GO": ("Gene Ontology", "CC-BY-4.0"),
    "HGNC": ("HUGO Gene Nomenclature Committee", "CC0-1.0"),
    "HP": ("Human Phenotype Ontology", "HPO license (attribution and version, content not to be altered)"),
    "MAXO": ("Medical Action Ontology", "CC-BY-4.0"),
    "MESH": ("Medical Subject Headings", "public domain (courtesy of the U.S. National Library of Medicine)"),
    "MONDO": ("Mondo Disease Ontology", "CC-BY-4.0"),
    "NCBITaxon": ("NCBI organismal classification", "CC0-1.0"),
    "NCIT": ("NCI Thesaurus", "CC-BY-4.0"),
    "OMIM": ("Online Mendelian Inheritance in Man", "OMIM license"),
    "ORDO": ("Orphanet Rare Disease Ontology", "CC-BY-4.0"),
    "PATO": ("Phenotype And Trait Ontology", "CC-BY-3.0"),
    "PR": ("Protein Ontology", "CC-BY-4.0"),
    "SYMP": ("Symptom Ontology", "CC0-1.0"),
    "UBERON": ("Uberon multi-species anatomy ontology", "CC-BY-3.0"),
}
_HOMES = {
    "DECIPHER": "https://www.deciphergenomics.org",
    "HGNC": "https://www.genenames.org",
    "MESH": "https://www.nlm.nih.gov/mesh",
    "OMIM": "https://www.omim.org",
    "ORDO": "https://www.orphadata.com/ordo/",
}  # for prefixes outside of the OBO library
_OPEN = re.compile(r"CC0-[\d.]+|CC-BY-[\d.]+|public domain\b.*")
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/([\d.]+\d)")

_OTHER_PREFIXES = (
    "ATC",
    "CPT",
    "DRUGBANK",
    "EFO",
    "ENSEMBL",
    "HGNC_GROUP",
    "ICD10",
    "ICD10CM",
    "ICD11",
    "ICD9",
    "ICD9CM",
    "ICD9PROC",
    "ICDO",
    "LOINC",
    "MEDDRA",
    "NCBIGene",
    "RXNORM",
    "SNOMEDCT",
    "UMLS",
    "UNIPROT",
)
_ALIASES = {
    "CPT4": "CPT",
    "ENTREZ": "NCBIGene",
    "HGNC.GENEFAMILY": "HGNC_GROUP",
    "HGNC.GENEGROUP": "HGNC_GROUP",
    "ICD-9": "ICD9",
    "ICD-9-CM": "ICD9CM",
    "ICD-10": "ICD10",
    "ICD-10-CM": "ICD10CM",
    "ICD-11": "ICD11",
    "ICD10WHO": "ICD10",
    "ICD-O": "ICDO",
    "MIM": "OMIM",
    "MSH": "MESH",
    "NCI": "NCIT",
    "NCI_THESAURUS": "NCIT",
    "NCITHESAURUS": "NCIT",
    "ORPHA": "ORDO",
    "ORPHANET": "ORDO",
    "ORPHANET.ORDO": "ORDO",
    "SCTID": "SNOMEDCT",
    "SNOMED": "SNOMEDCT",
    "SNOMED_CT": "SNOMEDCT",
    "SNOMEDCT_US": "SNOMEDCT",
    "SWISSPROT": "UNIPROT",
    "UMLS_CUI": "UMLS",
    "UNIPROTKB": "UNIPROT",
}
# One prefix for each terminology, for every prefix that is used for it, in capitals.
_CANONICAL = {prefix.upper(): prefix for prefix in (*_KNOWN, *_OTHER_PREFIXES)} | _ALIASES
_EDITION = re.compile(r"_\d{4}_\d\d_\d\d$")  # DOID: SNOMEDCT_US_2023_03_01
_LANGUAGE_AND_EDITION = re.compile(r"_[A-Za-z]{2}_\d+$")  # Orphanet: ORDO_en_4.5.owl
_CURIE = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*):((?!//)\S+)")
_IRIS = (
    (re.compile(r"https?://purl\.obolibrary\.org/obo/([A-Za-z]\w*)_([\w.-]+)", re.ASCII), None),
    (re.compile(r"https?://www\.orpha\.net/ORDO/(Orphanet)_(\w+)", re.ASCII), None),
    (re.compile(r"https?://www\.ebi\.ac\.uk/efo/(EFO)_(\w+)", re.ASCII), None),
    (re.compile(r"https?://ncicb\.nci\.nih\.gov/xml/owl/EVS/Thesaurus\.owl#()(C\d+)"), "NCIT"),
    (re.compile(r"https?://linkedlifedata\.com/resource/umls/id/()(C\d+)"), "UMLS"),
    (re.compile(r"https?://snomed\.info/id/()(\d+)"), "SNOMEDCT"),
    (re.compile(r"https?://(?:www\.)?omim\.org/entry/()(\d+)"), "OMIM"),
    (re.compile(r"https?://purl\.bioontology\.org/ontology/(ICD10CM|ICD9CM)/([\w.-]+)"), None),
)
_REGISTERED = re.compile(r"https?://identifiers\.org/([A-Za-z0-9.]+)[/:](\S+)", re.ASCII)
_MATCH = re.compile(r"(?:skos:|https?://www\.w3\.org/2004/02/skos/core#)?((?:exact|close|broad|narrow|related)Match)")


def canonical_prefix(prefix: str) -> str:
    """The one prefix that every reader uses for a terminology; a prefix of none is returned as it is.

    ``UMLS_CUI`` becomes UMLS, ``MSH`` MESH, ``NCIt`` NCIT, ``ORPHA`` and ``Orphanet`` ORDO, ``DrugBank`` DRUGBANK, ``MIM``
    OMIM, ``SwissProt`` and ``UniProtKB`` UNIPROT, ``SCTID`` and every ``SNOMEDCT_US_<date>`` SNOMEDCT, ``ICD-10`` and Mondo's
    ``ICD10WHO`` ICD10, and Bioregistry's lower-case ``chebi`` CHEBI.
    """
    return _CANONICAL.get(_EDITION.sub("", prefix.upper()), prefix)


def curie(text: str) -> str | None:
    """Convert a CURIE or IRI to the CURIE that every reader uses for the concept; ``None`` if it is neither.

    Prefixes are those of :func:`canonical_prefix`. Known IRIs are those of OBO, Orphanet, EFO, NCIt, UMLS
    (linkedlifedata), SNOMED CT, OMIM, ICD-9-CM and ICD-10-CM (BioPortal) and identifiers.org, whose local part may repeat the
    prefix (``hp/HP:0000118``, ``orphanet.ordo:Orphanet_558``).
    """
    for form, prefix in _IRIS:
        if match := form.fullmatch(text):
            return f"{canonical_prefix(prefix or match[1])}:{match[2]}"
    if match := _REGISTERED.fullmatch(text):
        own = _registered_prefix(match[1])
        repeated, _, rest = match[2].replace("Orphanet_", "Orphanet:", 1).partition(":")
        return f"{own}:{rest if rest and _registered_prefix(repeated) == own else match[2]}"
    match = _CURIE.fullmatch(text)
    return f"{canonical_prefix(match[1])}:{match[2]}" if match else None


def in_source(prefix: str, code: str) -> str:
    """The CURIE of a source's own code, which may contain the prefix already, as those of OBO and HGNC do."""
    return code if code.startswith(f"{prefix}:") and len(code) > len(prefix) + 1 else f"{prefix}:{code}"


def registry_curie(text: str) -> str | None:
    """Convert a CURIE with a lower-case prefix of Bioregistry to the CURIE that every reader uses: ``doid:1`` DOID:1.

    ``None`` if it is not a CURIE.
    """
    prefix, colon, rest = text.partition(":")
    return curie(f"{_registered_prefix(prefix)}:{rest}") if colon else None


def _registered_prefix(prefix: str) -> str:
    """The prefix of a terminology that a registry writes in lower case: the canonical one, or else capitals."""
    return canonical_prefix(prefix.upper())


def match_predicate(text: str) -> str:
    """``exactMatch`` and similar predicates, written with ``skos:``, as an IRI or bare; empty for anything else."""
    match = _MATCH.fullmatch(text)
    return match[1] if match else ""


def relation_name(relation: str, label: str = "") -> str:
    """The name of a relation: its label with underscores for spaces, else its CURIE, else the end of its IRI."""
    return "_".join(label.split()) or curie(relation) or re.split("[#/]", relation)[-1] or relation


def describe(prefix: str, *, title: str = "", version: str = "", license: str = "") -> SourceInfo:
    """The source whose codes have this prefix, with its published title and license, else with those of the file.

    Args:
        prefix: The source's name.
        title: Its title in the file, used if no published one is known.
        version: Its edition.
        license: Its license in the file, an IRI or a phrase; by default the published one.
    """
    known_title, known_license = _KNOWN.get(prefix, (title or prefix, "not stated"))
    if match := _CREATIVE_COMMONS.search(license):
        license = f"CC0-{match[2]}" if match[1] == "zero" else f"CC-{match[1].upper()}-{match[2]}"
    license = license or known_license
    url = _HOMES.get(prefix) or (f"http://purl.obolibrary.org/obo/{prefix.lower()}.owl" if prefix in _KNOWN else "")
    return SourceInfo(prefix, known_title, version, license, url or "not stated", bool(_OPEN.fullmatch(license)))


def is_published(prefix: str) -> bool:
    """Whether a prefix is that of a terminology which others publish."""
    return prefix in _CANONICAL.values()


def closed_unless_published_open(source: SourceInfo) -> SourceInfo:
    """The source of a terminology in a file of others: their license can close its names, but cannot open them.

    It is redistributable if the file's license is open and so is the published license of its prefix.

    Args:
        source: Named after the prefix.
    """
    return replace(source, redistributable=source.redistributable and describe(source.name).redistributable)


class Header(NamedTuple):
    """The metadata in an ontology's header.

    Attributes:
        ontology: Its id or IRI, e.g. ``"uberon/basic"`` or ``"http://purl.obolibrary.org/obo/hp.json"``.
        version: Its edition; a date is extracted from it.
    """

    ontology: str = ""
    title: str = ""
    version: str = ""
    license: str = ""

    @property
    def name(self) -> str:
        """The prefix of the ontology's own codes in capitals: ``"UBERON"``, ``"HP"``; empty if it has no id."""
        _, obo, below = self.ontology.partition("purl.obolibrary.org/obo/")
        path = [part for part in (below if obo else self.ontology).split("/") if part] or [""]
        segment = path[-1] if "://" in self.ontology and not obo else path[0]
        own = _LANGUAGE_AND_EDITION.sub("", segment.split(".")[0]).upper()
        return _CANONICAL.get(own, own).upper()  # Orphanet's ontology of ORDO codes has the id orphanet

    def source(self, prefix: str) -> SourceInfo:
        """The source of the names, parents and relations of this prefix: the ontology itself, or an imported one.

        Without an id it is not known which prefix is the ontology's own: its license opens the names of none.
        """
        date = re.search(r"\d{4}-\d\d-\d\d", self.version)
        version = date[0] if date else self.version
        if self.name in ("", prefix.upper()):
            source = describe(prefix, title=self.title, version=version, license=self.license)
            return source if self.name else closed_unless_published_open(source)
        own = describe(prefix)
        title = f"{own.title} as imported by {self.name}"
        return SourceInfo(
            f"{prefix}-{self.name}", title, version, own.license, own.url, redistributable=own.redistributable
        )
