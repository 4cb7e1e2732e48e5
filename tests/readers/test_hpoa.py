"""HPO annotations: relations by aspect, what is denied, and phenotypes that get their names from the ontology."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import hpoa
from st_biomed.records import Relation, Tally, Term
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ZORB = FIXTURES / "zorb.hpoa"
ONTOLOGY = FIXTURES / "zorb.obo"
ROW = "VRX:900100\tVornic syndrome\t\tZORB:0000001\tPMID:990\tPCS\t\t\t\t\tP\tZORB:curator\n"


class TestHpoa(ReaderContract):
    reader = "hpoa"
    separator = b"\t"
    path = ZORB
    options = {"ontology": ONTOLOGY}


def test_annotations_are_relations_by_aspect() -> None:
    """Catches an alternative id that names nothing, and Orphanet's diseases under two prefixes."""
    tally = Tally()
    records = list(hpoa.records(ZORB, tally=tally, ontology=ONTOLOGY))
    assert [tuple(r[:3]) for r in records if isinstance(r, Relation)] == [
        ("VRX:900100", "has_phenotype", "ZORB:0000001"),
        ("VRX:900100", "has_phenotype", "ZORB:0000002"),
        ("VRX:900100", "has_inheritance", "GLND:0000001"),
        ("ORDO:990004", "has_phenotype", "ZORB:0000004"),
        ("ORDO:990004", "has_clinical_course", "ZORB:0000001"),
    ]
    assert [tuple(r[:3]) for r in records if isinstance(r, Term) and not r.source] == [
        ("VRX:900100", "Vornic syndrome", "preferred"),
        ("VRX:900100", "VORNIC SYNDROME", "synonym"),
        ("ORDO:990004", "Flumpa-gruddle syndrome", "preferred"),
    ]
    assert tally.dropped == {
        "annotations of a phenotype that the ontology does not name": 1,
        "annotations that deny (NOT, or frequency 0)": 2,
        "repeated annotations": 1,
    }


@pytest.mark.parametrize(
    ("frequency", "kept"),
    [
        ("0/5", False),
        ("0%", False),
        ("0.0 %", False),
        ("HP:0040285", False),
        ("1/5", True),
        ("0.5%", True),
        ("", True),
    ],
)
def test_a_frequency_of_zero_denies(tmp_path: Path, frequency: str, kept: bool) -> None:
    """Catches "seen in none of five patients" as a phenotype of the disease."""
    cells = ROW.split("\t")
    cells[7] = frequency
    (tmp_path / "x.hpoa").write_text("\t".join(cells))
    assert Terminology.read("hpoa", tmp_path / "x.hpoa", ontology=ONTOLOGY).relations.num_rows == kept


def test_either_form_of_the_ontology_names_the_phenotypes() -> None:
    terminology = Terminology.read("hpoa", ZORB, ontology=str(ONTOLOGY))
    other = Terminology.read("hpoa", ZORB, ontology=FIXTURES / "zorb.json")
    assert terminology.digest == other.digest
    assert terminology.sources["HPOA"].version == "2031-02-03"


def test_annotations_merge_with_the_ontology() -> None:
    """Catches phenotypes under a source that merge takes for another version of the ontology."""
    zorb = Terminology.read("obo", ONTOLOGY)
    merged = Terminology.merge(zorb, Terminology.read("hpoa", ZORB, ontology=ONTOLOGY))
    assert merged.n_concepts == zorb.n_concepts + 2
    assert merged.parents.num_rows == zorb.parents.num_rows
    assert merged.relations.num_rows == zorb.relations.num_rows + 5


def test_a_header_in_the_newer_form_is_no_annotation(tmp_path: Path) -> None:
    text = ZORB.read_text().replace("#DatabaseID\tDiseaseName", "database_id\tdisease_name")
    (tmp_path / "x.hpoa").write_text(text.replace("#date:", "#version:"))
    newer = Terminology.read("hpoa", tmp_path / "x.hpoa", ontology=ONTOLOGY)
    assert newer.digest == Terminology.read("hpoa", ZORB, ontology=ONTOLOGY).digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x.hpoa: contains no annotations"),
        (ROW.replace("\tPCS", ""), r"x.hpoa:1: found 11 cells separated by tabs, expected 12"),
        ("#date: x\n" + ROW.replace("VRX:900100", "900100"), r"x.hpoa:2: '900100' is not a code such as OMIM:100100"),
        (ROW.replace("ZORB:0000001", "flumpa"), r"x.hpoa:1: 'flumpa' is not a code"),
        (ROW.replace("Vornic syndrome", " "), r"x.hpoa:1: disease VRX:900100 has no name"),
        (ROW.replace("\tP\t", "\tX\t"), r"x.hpoa:1: aspect 'X' must be one of P, I, C, M, H"),
        (ROW.replace("syndrome\t\t", "syndrome\tNO\t"), r"x.hpoa:1: qualifier 'NO' must be NOT or empty"),
        (ROW.replace("VRX:900100", "ZORB:0000002"), r"x.hpoa:1: disease ZORB:0000002 is a term of .*zorb.obo"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.hpoa").write_text(text)
    with pytest.raises(InputError, match=message):
        Terminology.read("hpoa", tmp_path / "x.hpoa", ontology=ONTOLOGY)


@pytest.mark.parametrize("path", [None, ZORB])
def test_the_ontology_is_needed(path: Path | None) -> None:
    """Catches a knowledge graph without edges, since no phenotype has a name."""
    with pytest.raises(InputError, match=r"reader 'hpoa' needs the path to phenotype.hpoa, and ontology=FILE"):
        Terminology.read("hpoa", path)


@pytest.mark.realdata
def test_hpo_annotations_have_253363_rows(realdata: Path) -> None:
    """12,201 names of 12,606 diseases; 1,430 rows say NOT and 684 have frequency 0, 39 of them both."""
    ontology = realdata / "ontologies" / "hp.v2024-04-26.json.gz"
    annotated = Terminology.read("hpoa", realdata / "kg" / "phenotype.hpoa.2023-01-27.gz", ontology=ontology)
    tally = annotated.tallies["hpoa rows"]
    assert tally.n_read == 253_363
    assert tally.dropped == {"annotations that deny (NOT, or frequency 0)": 2_075, "repeated annotations": 507}
    diseases = {code for code in annotated.codes if not code.startswith("HP:")}
    assert len(diseases) == 12_606
    names = {annotated.strings[row["text"]] for row in annotated.terms.to_pylist() if row["source"] == "HPOA"}
    assert len(names) == 12_201
    assert annotated.n_concepts - len(diseases) == 10_516  # 36 of 10,580 ids are only denied, 28 alternative
    assert Counter(annotated.relations["relation"].to_pylist()) == {
        "has_phenotype": 235_892,
        "has_inheritance": 8_793,
        "has_clinical_course": 5_929,
        "has_clinical_modifier": 167,
    }
    assert annotated.sources["HPOA"].version == "2023-01-27"
    hpo = Terminology.read("obograph", ontology)
    assert Terminology.merge(hpo, annotated).n_concepts == hpo.n_concepts + len(diseases)
