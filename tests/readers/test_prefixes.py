"""One prefix for each terminology: codes of one reader are the targets of another one's cross-references."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.readers import reader, reader_names
from st_biomed.readers._curies import Header, canonical_prefix, curie
from st_biomed.readers.fhir import systems
from st_biomed.readers.hgnc import _XREFS
from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk
from tests.contracts.reader_contract import FIXTURES


@pytest.mark.parametrize("name", reader_names())
def test_a_reader_has_the_prefix_that_cross_references_are_converted_to(name: str) -> None:
    """Catches codes ``DRUGBANK:`` beside cross-references ``DrugBank:``, which never meet."""
    prefix = reader(name).SOURCE.name
    assert canonical_prefix(prefix) == prefix
    assert canonical_prefix(prefix.lower()) in (prefix, prefix.lower())


@pytest.mark.parametrize("prefix", [*systems._KNOWN.values(), *_XREFS.values()])
def test_prefixes_that_readers_state_are_canonical(prefix: str) -> None:
    """Catches a code system of FHIR, or a column of HGNC, with a prefix of its own."""
    assert canonical_prefix(prefix) == prefix


def test_a_drug_of_an_ontology_is_linked_to_the_vocabulary(tmp_path: Path) -> None:
    """Catches a union in which no concept of an ontology meets its drug, since the prefix is spelled in two ways."""
    (tmp_path / "zorb.obo").write_text(
        "format-version: 1.2\nontology: zorb\n\n[Term]\nid: ZORB:0000001\nname: terkin\nxref: DrugBank:DB90002\n"
    )
    ontology, drugs = (
        Terminology.read("obo", tmp_path / "zorb.obo"),
        Terminology.read("drugbank", FIXTURES / "drugbank_vocabulary.csv"),
    )
    crosswalk = Crosswalk.between(ontology, drugs, predicates=["xref"])
    assert crosswalk.codes == {"DRUGBANK:DB90002": "ZORB:0000001"}


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("MIM:900001", "OMIM:900001"),  # DOID since 2024
        ("https://omim.org/entry/900001", "OMIM:900001"),
        ("https://identifiers.org/mim:900001", "OMIM:900001"),
        ("ICD10WHO:Z99", "ICD10:Z99"),  # Mondo
        ("ICD-10-CM:Z99.1", "ICD10CM:Z99.1"),
        ("ICD-9-CM:999", "ICD9CM:999"),
        ("http://purl.bioontology.org/ontology/ICD10CM/Z99.1", "ICD10CM:Z99.1"),
        ("https://identifiers.org/orphanet.ordo:Orphanet_900001", "ORDO:900001"),
        ("https://identifiers.org/orphanet:900001", "ORDO:900001"),
        ("http://www.orpha.net/ORDO/Orphanet_900001", "ORDO:900001"),
    ],
)
def test_current_ontologies_write_codes_of_others_in_these_ways(written: str, code: str) -> None:
    """Catches cross-references that meet no concept, of which no tally tells."""
    assert curie(written) == code


@pytest.mark.parametrize(
    ("ontology", "name"),
    [
        ("http://www.orpha.net/ontology/ORDO_en_4.5.owl", "ORDO"),
        ("orphanet", "ORDO"),
        ("http://purl.obolibrary.org/obo/hp.json", "HP"),
        ("http://purl.obolibrary.org/obo/doid/releases/2031-01-31/doid.owl", "DOID"),
    ],
)
def test_an_ontology_is_known_by_the_prefix_of_its_codes(ontology: str, name: str) -> None:
    """Catches an ontology that counts as imported by itself, with a name of its own in each edition."""
    assert Header(ontology).name == name
