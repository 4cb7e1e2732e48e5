"""OBO graphs in JSON: nodes and edges of every graph, labels of relations, and files that are no OBO graph."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import obograph
from st_biomed.records import Record, Relation, Tally, Term, Type
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

ZORB = FIXTURES / "zorb.json"
OBO = "http://purl.obolibrary.org/obo/"


class TestObograph(ReaderContract):
    reader = "obograph"
    path = ZORB


class TestEverything(ReaderContract):
    reader = "obograph"
    path = ZORB
    options = {"scopes": "EXACT,BROAD,NARROW,RELATED", "obsolete": True, "prefixes": "ZORB"}


def read(path: Path = ZORB, **options: object) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(obograph.records(path, tally=tally, **options)), tally


def written(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The fixture after a change of its first graph."""
    document = json.loads(ZORB.read_text())
    change(document["graphs"][0])
    (folder / "x.json").write_text(json.dumps(document, indent=1))
    return folder / "x.json"


def test_nothing_is_lost_without_a_reason() -> None:
    """Catches statements skipped in silence; the tables themselves are compared with those of the OBO file."""
    assert read()[1].to_dict() == {
        "read": 49,
        "kept": 22,
        "dropped": {
            "BROAD synonyms": 1,
            "NARROW synonyms": 1,
            "RELATED synonyms": 2,
            "cross-references that are no CURIE": 1,
            "empty definitions": 1,
            "individuals": 1,
            "nodes without a type": 1,
            "obsolete terms": 2,
            "parents and relations of a concept that was not read": 5,
            "parents and relations of a concept to itself": 1,
            "parts of logical definitions": 1,
            "properties": 1,
            "repeated cross-references, or to the concept itself": 2,
            "repeated names of a concept": 1,
            "repeated or empty types": 1,
            "repeated parents and relations": 1,
            "statements of other kinds (comments, creators, ...)": 2,
            "terms whose id is no CURIE": 1,
            "terms without a name": 1,
        },
    }


def test_synonyms_of_a_type_are_left_out_and_counted() -> None:
    """Catches the type of a synonym thrown away, or compared with its whole IRI."""
    records, tally = read(without_types="ABBREVIATION")
    names = [record.text for record in records if isinstance(record, Term) and record.code == "ZORB:0000002"]
    assert names == ["mimpic flumpa disorder, type {1}", "mimpa"]
    assert tally.dropped["synonyms of type ABBREVIATION"] == 1 and not tally.notes


def test_relations_are_called_what_their_property_is() -> None:
    """Catches an IRI as name where the property has a label, typed as a property or not."""
    assert [r.relation for r in read()[0] if isinstance(r, Relation)] == ["has_site", "spreads_to"]


def test_subsets_and_namespaces_are_types() -> None:
    assert [r.type for r in read()[0] if isinstance(r, Type)] == ["zorb_slim", "zorb_disease"]


def test_what_is_below_an_obsolete_class_is_obsolete() -> None:
    """Catches withdrawn terms of ORDO, none of them marked as deprecated, as siblings of each other."""
    assert "ZORB:0000005" not in Terminology.read("obograph", ZORB).codes
    assert "ZORB:0000005" in Terminology.read("obograph", ZORB, obsolete=True).codes


def test_a_term_of_two_graphs_is_read_once(tmp_path: Path) -> None:
    """Catches two preferred names of a concept that two graphs describe, and a graph that is not read."""
    document = json.loads(ZORB.read_text())
    second = {
        "id": OBO + "glnd.json",
        "nodes": [
            {"id": OBO + "GLND_0000001", "lbl": "flumpa gland", "type": "CLASS"},
            {"id": OBO + "GLND_0000003", "lbl": "mimpic flumpa", "type": "CLASS"},
        ],
        "edges": [{"sub": OBO + "GLND_0000003", "pred": "is_a", "obj": OBO + "GLND_0000001"}],
    }
    document["graphs"].append(second)
    (tmp_path / "two.json").write_text(json.dumps(document))
    two = Terminology.read("obograph", tmp_path / "two.json")
    assert two.concept_names("GLND:0000001") == ["flumpa"]
    assert two.concept_names("GLND:0000003") == ["mimpic flumpa"]
    assert two.tallies["obograph rows"].dropped["terms of an earlier graph"] == 1
    assert set(two.sources) == {"ZORB", "GLND-ZORB", "GLND"}
    assert two.sources["ZORB"].version == "2031-02-03"


def test_a_gzipped_file_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "zorb.json.gz").write_bytes(gzip.compress(ZORB.read_bytes()))
    assert Terminology.read("obograph", tmp_path / "zorb.json.gz").digest == Terminology.read("obograph", ZORB).digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"graphs": [\n{"nodes": [}]}', r"x.json:2: is not JSON \(Expecting value\)"),
        ("", r"x.json:1: is not JSON"),
        ("[]", r"x.json: expected a JSON object with 'graphs'"),
        ("{}", r"x.json: has no 'graphs'"),
        ('{"graphs": {}}', r"x.json: 'graphs' must be a list, found '{}'"),
        ('{"graphs": [7]}', r"x.json: graphs\[0\] must be an object, found '7'"),
        ('{"graphs": [{"nodes": [{"id": 7}]}]}', r"graphs\[0\].nodes\[0\]: 'id' must be a text, found '7'"),
        ("[" * 200_000, r"x.json: is not readable JSON \(RecursionError\)"),
        ('{"graphs": [' + "7" * 5_000 + "]}", r"x.json: is not readable JSON \(ValueError\)"),
    ],
)
def test_files_that_are_no_obo_graph_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        Terminology.read("obograph", tmp_path / "x.json")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g["nodes"].append(g["nodes"][0]), r"x.json: graphs\[0\].nodes\[11\]: term ZORB:0000001 is defined"),
        (lambda g: g["nodes"][0].update(lbl=7), r"graphs\[0\].nodes\[0\]: 'lbl' must be a text, found '7'"),
        (
            lambda g: g["nodes"][0].update(type="CLASSES"),
            r"nodes\[0\]: 'type' must be CLASS, PROPERTY or INDIVIDUAL, found",
        ),
        (lambda g: g["nodes"][0].update(meta=[]), r"nodes\[0\]: 'meta' must be an object, found '\[\]'"),
        (
            lambda g: g["nodes"][0]["meta"].update(subsets=[7]),
            r"nodes\[0\].meta.subsets: must contain texts, found '7'",
        ),
        (lambda g: g["nodes"][0]["meta"].update(deprecated="no"), r"'deprecated' must be true or false, found 'no'"),
        (
            lambda g: g["nodes"][0]["meta"]["synonyms"][0].update(pred="has"),
            r"'pred' of a synonym must be hasExactSynonym",
        ),
        (lambda g: g["nodes"][0]["meta"]["xrefs"].append("UMLS:C990"), r"xrefs\[4\] must be an object, found 'UMLS"),
        (lambda g: g["edges"][1].pop("pred"), r"graphs\[0\].edges\[1\]: an edge needs 'sub', 'pred' and 'obj'"),
        (lambda g: g["nodes"][0].update(lbl="flumpa \ud800"), r"x.json: is not readable JSON \(UnicodeEncode"),
    ],
)
def test_fields_of_the_wrong_kind_are_named(tmp_path: Path, change: Callable[..., object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("obograph", written(tmp_path, change))


def test_characters_beyond_the_basic_plane_may_be_escaped(tmp_path: Path) -> None:
    """Catches an escaped pair of surrogates refused as half a character."""
    path = written(tmp_path, lambda g: g["nodes"][0].update(lbl="flumpa 𝛼"))
    assert r"\ud835" in path.read_text()
    assert "flumpa 𝛼" in Terminology.read("obograph", path).strings


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="reader 'obograph' needs the path"):
        Terminology.read("obograph")


# ---------------------------------------------------------------- real ontologies


def n_names(tally: Tally) -> int:
    """Synonyms that were dropped for their scope, or as repeated."""
    return sum(
        n for reason, n in tally.dropped.items() if reason.endswith((" synonyms", "repeated names of a concept"))
    )


@pytest.mark.realdata
def test_hpo_has_18989_labeled_nodes_of_which_425_are_obsolete(realdata: Path) -> None:
    """24 nodes are properties, 4 more have no type; 6 of the 23,069 synonyms are those of obsolete terms."""
    hpo = Terminology.read("obograph", realdata / "ontologies" / "hp.v2024-04-26.json.gz")
    tally = hpo.tallies["obograph rows"]
    assert hpo.n_concepts == 18_989 - 425 - 24 - 4
    assert tally.dropped["obsolete terms"] == 425
    assert hpo.parents.num_rows == 22_932
    assert hpo.terms.num_rows - hpo.n_concepts + n_names(tally) == 23_069 - 6
    assert Counter(hpo.xrefs["predicate"].to_pylist())["alt_id"] == 3_805
    assert hpo.sources["HP"].version == "2024-04-26"
    assert not hpo.sources["HP"].redistributable


@pytest.mark.realdata
def test_ncit_diseases_have_20385_nodes_and_21144_typed_edges(realdata: Path) -> None:
    """61 nodes are properties, with 60 of the 61,801 synonyms."""
    ncit = Terminology.read("obograph", realdata / "ontologies" / "ncit-disease-2018-06-08.json.gz")
    assert ncit.n_concepts == 20_385 - 61
    assert ncit.parents.num_rows == 29_060
    assert ncit.relations.num_rows == 21_144
    assert len(ncit.relations["relation"].unique()) == 61
    assert Counter(ncit.relations["relation"].to_pylist())["Disease_Has_Primary_Anatomic_Site"] == 1_407
    n_synonyms = ncit.terms.num_rows - ncit.n_concepts
    assert n_synonyms + ncit.tallies["obograph rows"].dropped["repeated names of a concept"] == 61_801 - 60


@pytest.mark.realdata
def test_ordo_has_13894_nodes_of_which_744_are_withdrawn(realdata: Path) -> None:
    """23 nodes are properties, one is the class of withdrawn terms; 39 of the 33,559 typed edges are repeated."""
    ordo = Terminology.read("obograph", realdata / "ontologies" / "ordo-2_6-2018-07-12.json.gz")
    assert ordo.n_concepts == 13_894 - 23 - 744 - 1
    assert ordo.terms.num_rows - ordo.n_concepts == 22_121
    assert ordo.parents.num_rows == 30_526 - 744
    assert ordo.relations.num_rows == 33_559 - 39
    assert ordo.sources["ORDO"].version == "2.6"
    assert "Disease-causing_germline_mutation(s)_in" in ordo.relations["relation"].to_pylist()


@pytest.mark.realdata
def test_maxo_has_14429_nodes_with_its_imports(realdata: Path) -> None:
    """205 nodes are properties, 18 individuals, 60 obsolete; of 10,962 other edges 214 are between properties, one a loop."""
    maxo = Terminology.read("obograph", realdata / "ontologies" / "maxo.2024-05-24.json.gz", scopes="")
    tally = maxo.tallies["obograph rows"]
    assert maxo.n_concepts == 14_429 - 205 - 18 - 60
    assert maxo.parents.num_rows == 21_667
    assert maxo.relations.num_rows == 10_962 - 214 - 1
    assert n_names(tally) == 38_776 - 13  # of properties and obsolete terms
    prefixes = Counter(code.partition(":")[0] for code in maxo.codes)
    assert prefixes["UBERON"] == 3_987
    assert prefixes["HP"] == 2_552
    assert maxo.sources["MAXO"].redistributable
    assert not maxo.sources["HP-MAXO"].redistributable


@pytest.mark.realdata
def test_hpo_can_be_merged_with_an_ontology_that_imports_it(realdata: Path) -> None:
    """Catches HP in two versions, which merge refuses."""
    hpo, maxo = (
        Terminology.read("obograph", realdata / "ontologies" / name)
        for name in ("hp.v2024-04-26.json.gz", "maxo.2024-05-24.json.gz")
    )
    merged = Terminology.merge(hpo, maxo)
    assert merged.n_concepts == len({*hpo.codes, *maxo.codes})
