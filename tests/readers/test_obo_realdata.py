"""OBO flat files as another library reads them, and real ontologies."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from st_biomed.readers._curies import curie
from st_biomed.records import Relation, Tally, Term
from st_biomed.terminology import Terminology
from tests.readers.obo_files import ZORB, read


def check_against_obonet(path: Path) -> None:
    """Terms, names, is_a, relationships and counts of synonyms; obonet keeps synonyms as they are written."""
    obonet = pytest.importorskip("obonet", reason="obonet is not installed")
    graph = obonet.read_obo(str(path))
    records, _ = read(path, scopes="EXACT,BROAD,NARROW,RELATED")
    preferred = {r.code: r.text for r in records if isinstance(r, Term) and r.kind == "preferred"}
    nodes = {curie(code): node for code, node in graph.nodes(data=True) if curie(code) and "name" in node}
    assert set(preferred) == nodes.keys()
    for code, node in nodes.items():
        name = re.sub(r"\\(.)", r"\1", node["name"])
        assert preferred[code] == re.split(r" \{\w+=| ! ", name)[0], code
    typedefs = {t["id"]: t.get("name", t["id"]).replace(" ", "_") for t in graph.graph["typedefs"]}
    theirs = {
        (curie(child), typedefs.get(relation, relation), curie(parent))
        for child, parent, relation in graph.edges(keys=True)
        if child != parent and {curie(child), curie(parent)} <= nodes.keys()
    }
    ours = {
        (r[0], r.relation if isinstance(r, Relation) else "is_a", r[-2])
        for r in records
        if type(r).__name__ in ("Parent", "Relation")
    }
    assert ours == theirs


def test_obonet_reads_the_same_from_the_fixture(tmp_path: Path) -> None:
    """All but what it does not know: statements under a condition and of cardinality 0."""
    path = tmp_path / "x.obo"
    path.write_text(re.sub(r".*(gci_relation|cardinality).*\n", "", ZORB.read_text()))
    check_against_obonet(path)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["doid.2024-01-31", "uberon.2015-04-23", "cl.2017-04-14", "bio-chebi.2023-03-10"])
def test_obonet_reads_the_same_from_real_ontologies(realdata: Path, name: str) -> None:
    check_against_obonet(realdata / "ontologies" / f"{name}.obo.gz")


@pytest.fixture
def everything(realdata: Path, request: pytest.FixtureRequest) -> tuple[Terminology, Tally]:
    terminology = Terminology.read("obo", realdata / "ontologies" / f"{request.param}.obo.gz", scopes="")
    return terminology, terminology.tallies["obo rows"]


def n_synonyms(tally: Tally) -> int:
    return sum(n for reason, n in tally.dropped.items() if reason.endswith(" synonyms"))


@pytest.mark.realdata
@pytest.mark.parametrize("everything", ["doid.2024-01-31"], indirect=True)
def test_doid_has_13982_terms_of_which_2481_are_obsolete(everything: tuple[Terminology, Tally]) -> None:
    doid, tally = everything
    assert doid.n_concepts == 13_982 - 2_481
    assert tally.dropped["obsolete terms"] == 2_481
    assert doid.parents.num_rows == 15_995
    assert n_synonyms(tally) == 21_802 - 3_036  # those of obsolete terms go with them
    assert doid.sources["DOID"].license == "CC0-1.0"


@pytest.mark.realdata
@pytest.mark.parametrize("everything", ["uberon.2015-04-23"], indirect=True)
def test_uberon_has_14074_terms_of_which_994_are_obsolete(everything: tuple[Terminology, Tally]) -> None:
    """The file has 20,374 is_a, of which 2 belong to typedefs and 2 to obsolete terms, as do 2 of 12,153 relationships."""
    uberon, tally = everything
    assert uberon.n_concepts == 14_074 - 994
    assert tally.dropped["obsolete terms"] == 994
    assert uberon.parents.num_rows == 20_374 - 2 - 2
    assert uberon.relations.num_rows == 12_153 - 2


@pytest.mark.realdata
@pytest.mark.parametrize("everything", ["cl.2017-04-14"], indirect=True)
def test_cell_ontology_has_6543_terms_of_which_2319_are_its_own(everything: tuple[Terminology, Tally]) -> None:
    """107 are obsolete (106 of CL), one has an IRI that is no CURIE; 53 of 9,697 is_a are typedefs', one is that term's."""
    cl, _ = everything
    assert cl.n_concepts == 6_543 - 107 - 1
    assert cl.parents.num_rows == 9_697 - 53 - 1
    assert sum(code.startswith("CL:") for code in cl.codes) == 2_319 - 106
    assert set(cl.sources) >= {"CL", "UBERON-CL", "GO-CL", "NCBITaxon-CL", "PR-CL", "PATO-CL", "CHEBI-CL"}


@pytest.mark.realdata
@pytest.mark.parametrize("everything", ["bio-chebi.2023-03-10"], indirect=True)
def test_chebi_of_go_has_24634_terms_and_no_synonyms(everything: tuple[Terminology, Tally]) -> None:
    """7 of them are obsolete and have no name; 620 relationships are has_part beside the 10,889 has_role."""
    chebi, tally = everything
    assert chebi.n_concepts == chebi.terms.num_rows == 24_634 - 7
    assert n_synonyms(tally) == 0
    assert chebi.parents.num_rows == 39_044
    assert Counter(chebi.relations["relation"].to_pylist()) == {"has_role": 10_889, "has_part": 620}
    assert chebi.sources["CHEBI-GO"].license == "CC-BY-4.0"
