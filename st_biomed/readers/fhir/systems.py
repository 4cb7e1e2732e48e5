"""Code systems of FHIR: from their URLs to prefixes of codes, and from resources to sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from st_biomed.readers._curies import canonical_prefix, describe
from st_biomed.readers._prefixes import end_of_url, given_prefixes, refuse_shared_prefix
from st_biomed.records import SourceInfo, single_spaced

# https://hl7.org/fhir/terminologies-systems.html, without scheme and final slash.
_KNOWN = {
    "fdasis.nlm.nih.gov": "UNII",
    "hl7.org/fhir/sid/cvx": "CVX",
    "hl7.org/fhir/sid/icd-10": "ICD10",
    "hl7.org/fhir/sid/icd-10-cm": "ICD10CM",
    "hl7.org/fhir/sid/icd-9-cm": "ICD9CM",
    "hl7.org/fhir/sid/ndc": "NDC",
    "human-phenotype-ontology.org": "HP",
    "id.who.int/icd/release/11/mms": "ICD11",
    "loinc.org": "LOINC",
    "ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl": "NCIT",
    "snomed.info/sct": "SNOMEDCT",
    "unitsofmeasure.org": "UCUM",
    "www.ama-assn.org/go/cpt": "CPT",
    "www.genenames.org": "HGNC",
    "www.genenames.org/geneId": "HGNC",
    "www.meddra.org": "MEDDRA",
    "www.nlm.nih.gov/research/umls/rxnorm": "RXNORM",
    "www.omim.org": "OMIM",
    "www.orpha.net": "ORDO",
    "www.whocc.no/atc": "ATC",
}
_OBO = re.compile(r"purl\.obolibrary\.org/obo/([A-Za-z][A-Za-z0-9]*)(?:[./].*)?", re.ASCII)  # .owl, .obo, .json, .fhir
_SCHEME = re.compile(r"^[a-z]+://")
_CC0 = re.compile(
    r"^(?:licen[cs]e: ?|public domain[, (]+)?CC0(?:[- ]1\.0)?(?: universal| license|\)|\.| \(CC0 1\.0\)| public domain dedication)*$"
    r"|\b(?:available|dedicated|distributed|licensed|published|released)(?: (?:in)?to the public domain)? (?:under|as) "
    r"(?:(?:an?|the|terms|of|creative|commons|zero|universal|public|domain|dedication|license|\"no rights reserved\"|\() ?)*CC0\b",
    re.I,
)
_RESTRICTED = re.compile(
    r"\bnot (?:available|covered|for|included|licensed|released|under)\b|all rights reserved|\bcontent from\b"
    r"|\bcopyright (?:\u00a9|\(c\)|\d{4}).*\bcopyright (?:\u00a9|\(c\)|\d{4})",
    re.I,
)
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/\S+")
_LICENSE_SHOWN = 100  # characters of a copyright statement


class Published(NamedTuple):
    """The statements of a resource about itself; each may be empty."""

    url: str
    title: str
    version: str
    copyright: str


class Systems:
    """Prefixes by URL, and the sources that were found.

    Args:
        prefixes: Pairs ``URL=PREFIX``, which precede the known and the derived ones.

    Raises:
        InputError: A pair of another form.
    """

    def __init__(self, prefixes: str) -> None:
        self._prefixes: dict[str, SourceInfo] = {}
        self._sources: dict[str, SourceInfo] = {}
        self._given = {_bare(url): prefix for url, prefix in given_prefixes("fhir", prefixes).items()}
        self._derived: dict[str, str] = {}

    def prefix(self, where: str, url: str) -> str:
        """The prefix of a code system: a given or known one, that of an OBO ontology, or else the end of its URL in
        capitals.

        Raises:
            InputError: The ends of two URLs are equal.
        """
        bare = _bare(url)
        if known := self._given.get(bare) or _KNOWN.get(bare):
            return known
        if obo := _OBO.fullmatch(bare):
            return canonical_prefix(obo[1].upper())
        prefix = end_of_url(bare)
        other = self._derived.setdefault(prefix, bare)
        if other != bare or prefix in _KNOWN.values():
            refuse_shared_prefix(where, "code system", url, prefix, other if other != bare else "another terminology")
        return prefix

    def source(self, prefix: str, url: str, published: Published, importer: str = "") -> str:
        """Declare the source of the names in a resource.

        Names of a value set, a concept map or a supplement are never redistributed: its statement of copyright need not
        cover the names of the code system.

        Args:
            prefix: That of the codes.
            url: The code system.
            published: The resource.
            importer: Empty for the code system itself, otherwise :func:`importer` of the resource.

        Returns:
            Its name: the prefix, with the importer if there is one.
        """
        plain = describe(prefix)
        self._prefixes.setdefault(prefix, replace(plain, url=url))
        title = f"{plain.title} in {published.title or importer}" if importer else published.title
        source = describe(prefix, title=title, version=published.version, license=_license(published.copyright))
        name = base = f"{prefix}-{importer}" if importer else prefix
        source = replace(
            source,
            title=title or source.title,
            url=published.url or url,
            redistributable=source.redistributable and not importer,
        )
        n = 1
        while name in self._sources and self._sources[name].url != source.url:
            n += 1
            name = f"{base}-{n}"
        known = self._sources.setdefault(name, replace(source, name=name))
        if known.redistributable and not source.redistributable:
            self._sources[name] = replace(source, name=name)
        return name

    @property
    def sources(self) -> Iterator[SourceInfo]:
        """The sources that were declared, and those of other prefixes."""
        yield from {**self._prefixes, **self._sources}.values()


def importer(url: str) -> str:
    """The name of a value set, concept map or supplement within the names of sources."""
    return end_of_url(_bare(url))


def _bare(url: str) -> str:
    """A URL without scheme, version and final slash."""
    return _SCHEME.sub("", url.strip().partition("|")[0]).rstrip("/#")


def _license(copyright: str) -> str:
    """The license in a copyright statement: Creative Commons by its address or CC0, or else the statement's beginning.

    A statement of CC0 holds for all names unless it also restricts them or names content of others.
    """
    text = single_spaced(copyright)
    if match := _CREATIVE_COMMONS.search(text):
        return match[0]
    return "CC0-1.0" if _CC0.search(text) and not _RESTRICTED.search(text) else text[:_LICENSE_SHOWN]
