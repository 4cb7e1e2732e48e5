"""OBO flat files: stanzas, escapes, qualifiers, what is left out, and the sources of imported codes."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from st_biomed.readers._curies import curie, relation_name
from st_biomed.records import Definition, Record, Relation, SourceInfo, Term, Xref
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.obo_files import ZORB, read


class TestObo(ReaderContract):
    reader = "obo"
    separator = b":"
    path = ZORB


class TestEverything(ReaderContract):
    reader = "obo"
    separator = b":"
    path = ZORB
    options = {"scopes": "EXACT,BROAD,NARROW,RELATED", "obsolete": True, "language": "it"}


def names(records: list[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        if isinstance(record, Term):
            found.setdefault(record.code, []).append(record.text)
    return found


def test_names_are_unescaped_and_lose_qualifiers_and_comments() -> None:
    r"""Catches a name cut at "\{", one that keeps "! the usual one", and quotes that end a synonym too early."""
    assert names(read()[0]) == {
        "ZORB:0000001": ["flumpa disorder", "disorder of the flumpa"],
        "ZORB:0000002": ["mimpic flumpa disorder, type {1}", '"mimpic" flumpa, \\upper', "mimpa"],
        "ZORB:0000004": ["drodthic flumpa disorder"],
        "GLND:0000001": ["flumpa"],
    }


def test_synonyms_of_a_type_are_left_out_and_counted(tmp_path: Path) -> None:
    """Catches the word after the scope thrown away, and a type taken from the cross-references behind it."""
    records, tally = read(without_types="ABBREVIATION,LATIN")
    assert names(records)["ZORB:0000002"] == ["mimpic flumpa disorder, type {1}", "mimpa"]
    assert tally.dropped["synonyms of type ABBREVIATION"] == 1
    assert tally.notes == ["without_types: no synonym has type 'LATIN'; found ABBREVIATION"]
    assert "synonyms of type ABBREVIATION" not in read()[1].dropped and not read()[1].notes
    forms = [
        "OMO:0003012 []",
        "http://purl.obolibrary.org/obo/OMO_0003012 [Z:1]",
        "[OMO:0003012]",
        "! OMO:0003012",
        "",
    ]
    synonyms = "\n".join(f'synonym: "form {i}" EXACT {form}' for i, form in enumerate(forms))
    (tmp_path / "x.obo").write_text(f"[Term]\nid: ZORB:1\nname: zorb\n{synonyms}\n")
    records, _ = read(tmp_path / "x.obo", without_types="OMO:0003012")
    assert names(records) == {"ZORB:1": ["zorb", "form 2", "form 3", "form 4"]}


def test_nothing_is_lost_without_a_reason() -> None:
    """Catches statements that hold under a condition, or not at all, taken for plain ones."""
    assert read()[1].to_dict() == {
        "read": 48,
        "kept": 22,
        "dropped": {
            "BROAD synonyms": 1,
            "NARROW synonyms": 1,
            "RELATED synonyms": 2,
            "cross-references that are no CURIE": 1,
            "empty definitions": 1,
            "obsolete terms": 1,
            "parents and relations of a concept that was not read": 2,
            "parents and relations of a concept to itself": 1,
            "parents and relations under a condition (gci_relation)": 1,
            "parts of logical definitions": 2,
            "relations of cardinality 0": 1,
            "repeated cross-references, or to the concept itself": 2,
            "repeated names of a concept": 1,
            "repeated or empty types": 1,
            "repeated parents and relations": 1,
            "stanzas that are neither term nor typedef": 1,
            "statements of other kinds (comments, creators, ...)": 2,
            "terms whose id is no CURIE": 1,
            "terms without a name": 1,
            "typedefs": 2,
        },
    }


def test_definitions_are_unescaped_and_stand_on_one_line() -> None:
    r"""Catches a definition that ends at its first quote, keeps "\n", or takes its references along."""
    records, _ = read()
    assert [record for record in records if isinstance(record, Definition)] == [
        Definition("ZORB:0000001", 'A disorder of the flumpa: "any" of them.', "en", "ZORB"),
        Definition(
            "ZORB:0000002", "A flumpa disorder with mimps of type {1}, see http://zorb.example/mimp.", "en", "ZORB"
        ),
    ]
    records, tally = read(definitions=False)
    assert not [record for record in records if isinstance(record, Definition)]
    assert tally.dropped["definitions"] == 3
    assert tally.adds_up()


def test_relations_are_called_what_their_typedef_is() -> None:
    """Catches names looked up before the typedefs, which stand at the end, were read."""
    assert [r for r in read()[0] if isinstance(r, Relation)] == [
        Relation("ZORB:0000002", "has_site", "GLND:0000001", "ZORB"),
        Relation("ZORB:0000004", "spreads_to", "GLND:0000001", "ZORB"),
    ]


def test_cross_references_have_one_prefix_per_terminology() -> None:
    """Catches UMLS_CUI and UMLS as two terminologies, and SNOMED CT in every edition as another one."""
    assert [(r.predicate, r.target) for r in read()[0] if isinstance(r, Xref)] == [
        ("xref", "UMLS:C9900001"),
        ("xref", "MESH:D990001"),
        ("alt_id", "ZORB:0000009"),
        ("xref", "SNOMEDCT:990002"),
        ("exactMatch", "NCIT:C990002"),
        ("xref", "ORDO:990004"),
        ("xref", "FMA:990001"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://purl.obolibrary.org/obo/HP_0000001", "HP:0000001"),
        ("http://purl.obolibrary.org/obo/NCIT_C990", "NCIT:C990"),
        ("http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl#C990", "NCIT:C990"),
        ("http://www.orpha.net/ORDO/Orphanet_990", "ORDO:990"),
        ("https://identifiers.org/mesh/D990", "MESH:D990"),
        ("http://purl.obolibrary.org/obo/PR_P990-1", "PR:P990-1"),
        ("Orphanet:990", "ORDO:990"),
        ("SCTID:990", "SNOMEDCT:990"),
        ("ICD-10:Q99.0", "ICD10:Q99.0"),
        ("MedDRA:990", "MEDDRA:990"),
        ("NCBITaxon:990", "NCBITaxon:990"),
        ("NCIt:C990", "NCIT:C990"),
        ("DrugBank:DB990", "DRUGBANK:DB990"),
        ("Ensembl:ENSG990", "ENSEMBL:ENSG990"),
        ("SwissProt:P990", "UNIPROT:P990"),
        ("UniProtKB:P990", "UNIPROT:P990"),
        ("SNOMEDCT_US_2031_03_01:990", "SNOMEDCT:990"),
        ("https://identifiers.org/ncbigene/990", "NCBIGene:990"),
        ("https://identifiers.org/hgnc.genegroup:990", "HGNC_GROUP:990"),
        ("http://identifiers.org/hp/HP:0000990", "HP:0000990"),
        ("https://identifiers.org/CHEBI:990", "CHEBI:990"),
        ("https://identifiers.org/chebi/CHEBI:990", "CHEBI:990"),
        ("https://identifiers.org/ncbitaxon/NCBITaxon:990", "NCBITaxon:990"),
        ("https://identifiers.org/fma/FMA:990", "FMA:990"),
        ("https://identifiers.org/zorb/mimpa:990", "ZORB:mimpa:990"),
        ("chebi:990", "CHEBI:990"),
        ("ncbitaxon:990", "NCBITaxon:990"),
        ("https://identifiers.org/ncbitaxon/990", "NCBITaxon:990"),
        ("ncit:C990", "NCIT:C990"),
        ("snomedct:990", "SNOMEDCT:990"),
        ("umls:C990", "UMLS:C990"),
        ("icd10cm:Q99", "ICD10CM:Q99"),
        ("loinc:99-0", "LOINC:99-0"),
        ("icd11.foundation:990", "icd11.foundation:990"),
        ("zorb:990", "zorb:990"),
        ("http://en.wikipedia.org/wiki/Goblet_cell", None),
        ("http://purl.obolibrary.org/obo/zorb#slim", None),
        ("EC:No 990/2031", None),
        ("CCPR:", None),
        (":Fins", None),
        ("flumpa", None),
    ],
)
def test_curies(text: str, found: str | None) -> None:
    """Catches a code that two readers write in two ways, and a web page taken for one."""
    assert curie(text) == found


def test_a_relation_without_a_label_is_called_by_its_id() -> None:
    assert relation_name("http://purl.obolibrary.org/obo/RZ_0000001", "spreads  to") == "spreads_to"
    assert relation_name("http://purl.obolibrary.org/obo/RZ_0000001") == "RZ:0000001"
    assert relation_name("http://purl.obolibrary.org/obo/zorb#drains") == "drains"
    assert relation_name("part_of") == "part_of"


def test_imported_codes_have_a_source_and_a_license_of_their_own() -> None:
    """Catches the license of the ontology granted to what it imports."""
    sources = Terminology.read("obo", ZORB).sources
    assert sources == {
        "ZORB": SourceInfo("ZORB", "Zorb Ontology", "2031-02-03", "CC-BY-4.0", "not stated", True),
        "GLND-ZORB": SourceInfo("GLND-ZORB", "GLND as imported by ZORB", "2031-02-03", "not stated", "not stated"),
    }


def test_an_ontology_can_be_merged_with_one_that_imports_it(tmp_path: Path) -> None:
    """Catches an import declared under the name of the imported ontology, which merge refuses as another version."""
    (tmp_path / "glnd.obo").write_text(
        "ontology: http://purl.obolibrary.org/obo/glnd.owl\ndata-version: 7\n\n"
        '[Term]\nid: GLND:0000001\nname: flumpa\nsynonym: "flumpa gland" EXACT []\n'
    )
    merged = Terminology.merge(Terminology.read("obo", ZORB), Terminology.read("obo", tmp_path / "glnd.obo"))
    assert merged.concept_names("GLND:0000001") == ["flumpa", "flumpa gland"]
    assert merged.sources["GLND"].version == "7"


@pytest.mark.parametrize(
    ("header", "prefix", "source"),
    [
        ("ontology: zorb", "ZORB", "ZORB"),
        ("ontology: zorb/basic", "ZORB", "ZORB"),
        ("ontology: http://purl.obolibrary.org/obo/zorb/zorb-base.owl", "ZORB", "ZORB"),
        ("ontology: http://zorb.example/ontology/orphanet.owl", "ORDO", "ORDO"),
        ("ontology: blig/imports/zorb_import", "ZORB", "ZORB-BLIG"),
        ("format-version: 1.2", "ZORB", "ZORB"),
    ],
)
def test_the_header_tells_own_codes_from_imported_ones(tmp_path: Path, header: str, prefix: str, source: str) -> None:
    (tmp_path / "x.obo").write_text(f"{header}\n\n[Term]\nid: {prefix}:1\nname: flumpa\n")
    assert list(Terminology.read("obo", tmp_path / "x.obo").sources) == [source]


def test_the_license_of_a_file_without_an_id_opens_no_names(tmp_path: Path) -> None:
    """Catches names of a closed terminology left out of the search before a release, since a collection is open."""
    license = "property_value: http://purl.org/dc/terms/license https://creativecommons.org/publicdomain/zero/1.0/"
    terms = "".join(f"\n[Term]\nid: {prefix}:990\nname: flumpa\n" for prefix in ("MONDO", "OMIM", "ZORB"))
    for header, found in (("format-version: 1.2", {"MONDO"}), ("ontology: zorb", {"MONDO-ZORB", "ZORB"})):
        (tmp_path / "x.obo").write_text(f"{header}\n{license}\n{terms}")
        sources = Terminology.read("obo", tmp_path / "x.obo").sources.values()
        assert {source.name for source in sources if source.redistributable} == found


@pytest.mark.parametrize(
    ("scopes", "found"),
    [
        ("EXACT", {"preferred": 4, "synonym": 3}),
        (["RELATED"], {"preferred": 4, "synonym": 2}),
        ("EXACT, BROAD,NARROW", {"preferred": 4, "synonym": 5}),
        ("", {"preferred": 4}),
    ],
)
def test_scopes_choose_the_synonyms(scopes: str | list[str], found: dict[str, int]) -> None:
    assert Counter(r.kind for r in read(scopes=scopes)[0] if isinstance(r, Term)) == found


def test_obsolete_terms_are_read_on_demand_with_their_edges() -> None:
    terminology = Terminology.read("obo", ZORB, obsolete=True)
    assert terminology.concept_names("ZORB:0000003") == ["gruddle", "obsolete gruddle"]
    assert terminology.parents.num_rows == 4


def test_prefixes_choose_the_terms() -> None:
    records, tally = read(prefixes="ZORB")
    assert {code.partition(":")[0] for code in names(records)} == {"ZORB"}
    assert tally.dropped["terms of other prefixes"] == 1
    assert not [r for r in records if isinstance(r, Relation)]


def test_two_forms_of_one_ontology_give_the_same_tables() -> None:
    """Catches an obo and an obograph reader that drift apart."""
    terminology, other = Terminology.read("obo", ZORB), Terminology.read("obograph", FIXTURES / "zorb.json")
    assert terminology.digest == other.digest


def test_a_gzipped_file_with_windows_line_ends_is_the_same(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "zorb.obo.gz", "wb") as out:
        out.write(b"\xef\xbb\xbf" + ZORB.read_bytes().replace(b"\n", b"\r\n"))
    assert Terminology.read("obo", tmp_path / "zorb.obo.gz").digest == Terminology.read("obo", ZORB).digest
