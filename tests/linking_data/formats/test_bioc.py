"""BioC as XML and JSON: splits, types, ids under several keys, and every wrapping."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from st_biomed.linking_data import open_linking
from st_biomed.linking_data.bioc import read_bioc
from tests.contracts.linking_contract import LinkingContract
from tests.linking_data.formats.bioc_files import FOLDER, JSON, NAMES, annotation, collection, found, opened


class TestXml(LinkingContract):
    format = "bioc"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "Train.BioC.XML"
    separator = b">"


class TestJson(LinkingContract):
    format = "bioc"
    path = JSON
    dictionary = "names.txt"
    damaged = ""
    separator = b","


def test_a_corpus_is_read_with_its_splits_types_and_ids() -> None:
    """BioRED's XML; catches ids under another key, a composite id, a sentence without a passage's text."""
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [
        ("train", 11),
        ("dev", 1),
        ("test", 2),
    ]
    train = dataset.split("train")
    assert (train[1].text, train[1].type, train[1].gold) == (
        "mimpic flumpa",
        "DiseaseOrPhenotypicFeature",
        (frozenset({"X0001"}),),
    )
    assert train[6].gold == ()
    assert train[9].gold == (frozenset({"X0101"}), frozenset({"X0102"}))
    assert train[10].gold == (frozenset({"99001"}), frozenset({"99002"}))
    assert dataset.documents["9810001"][34:38] == "zorb"
    assert dataset.tallies["mentions"].to_dict() == {
        "read": 19,
        "kept": 14,
        "dropped": {"annotations without a location": 1, "relations between concepts": 4},
    }


def test_json_is_the_same_corpus() -> None:
    as_xml, as_json = (open_linking("bioc", path, dictionary=NAMES) for path in (FOLDER, JSON))
    assert as_json.split("all") == as_xml.split("train")
    assert as_json.documents == {name: as_xml.documents[name] for name in ("9810001", "9810002")}


def test_pieces_of_a_mention_are_found_where_they_stand() -> None:
    """Catches a discontinuous mention taken for what lies between its pieces."""
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES)
    assert ("mimpic kind", "mimpic and drodthic kind") in found(dataset)
    assert all(stands for _, stands in found(dataset))


def test_one_type_one_key_and_alternatives_are_chosen() -> None:
    dataset = open_linking("bioc", FOLDER, dictionary=NAMES, types="GeneOrGeneProduct", several="alternatives")
    assert [mention.gold for mention in dataset.split("train")] == [
        (frozenset({"99001"}),),
        (frozenset({"99001", "99002"}),),
    ]
    assert dataset.tallies["mentions"].dropped["annotations of type DiseaseOrPhenotypicFeature"] == 10
    by_key = open_linking("bioc", FOLDER, dictionary=NAMES, key="mesh")
    assert [bool(mention.gold) for mention in by_key.split("train")] == [False] * 7 + [True, True, True, False]


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda document, other: [document, other],
        lambda document, other: {"documents": [document, other]},
        lambda document, other: {"PubTator3": [{"_id": "1|None", **document}, other]},
        lambda document, other: [{"source": "PubMed", "documents": [document]}, {"documents": [other]}],
    ],
    ids=["list", "collection", "PubTator3", "list of collections"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_every_wrapping_of_json_is_taken_apart(tmp_path: Path, wrapped: Any, indent: int | None) -> None:
    document, other = json.loads(JSON.read_text("utf-8"))["documents"]
    (tmp_path / "a.json").write_text(json.dumps(wrapped(document, other), indent=indent), "utf-8")
    assert [document.id for document in read_bioc(tmp_path / "a.json")] == ["9810001", "9810002"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.BioC.JSON.gz"])
def test_json_lines_are_documents_or_collections(tmp_path: Path, name: str) -> None:
    document, other = json.loads(JSON.read_text("utf-8"))["documents"]
    text = f"{json.dumps(document)}\n\n{json.dumps({'documents': [other]})}\n"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    documents = list(read_bioc(tmp_path / name))
    assert [(document.id, Path(document.where.split(": ")[0]).name) for document in documents] == [
        ("9810001", f"{name}:1"),
        ("9810002", f"{name}:3"),
    ]


def test_ids_may_be_numbers_lists_or_nothing(tmp_path: Path) -> None:
    """Catches PubTator3's nulls, and a list that is written as Python writes it."""
    ids = [99001, ["X0001", "X0002"], None, "None", "MESH:D1, MESH:D2", True]
    text = "zorb " * len(ids)
    marked = [annotation(5 * i, "zorb", identifier=identifier) for i, identifier in enumerate(ids)]
    dataset = opened(tmp_path, collection(text, marked))
    assert [[sorted(group) for group in mention.gold] for mention in dataset.split("all")] == [
        [["99001"]],
        [["X0001"], ["X0002"]],
        [],
        [],
        [["MESH:D1"], ["MESH:D2"]],
        [["True"]],
    ]


def test_individual_mentions_are_the_parts_of_a_composite_one(tmp_path: Path) -> None:
    """BC5CDR's; catches a composite mention that counts three times, and parts in another order than the ids."""
    role = "CompositeRole"
    text = "mimpic and skark lesions, zorb lesions, and zorb"
    marked = [
        annotation(0, "mimpic and skark lesions", MESH="X0001|X0002", identifier="", **{role: "CompositeMention"}),
        annotation(11, "skark lesions", identifier="X0002", **{role: "IndividualMention"}),
        {
            "infons": {"type": "Disease", "MESH": "X0001", role: "IndividualMention"},
            "text": "mimpic lesions",
            "locations": [{"offset": 0, "length": 6}, {"offset": 17, "length": 7}],
        },
        annotation(26, "zorb lesions", identifier="X0003", **{role: "IndividualMention"}),
        annotation(44, "zorb", identifier="X0003|X0002", **{role: "CompositeMention"}),
    ]
    dataset = opened(tmp_path, collection(text, marked))
    assert [(mention.text, mention.parts) for mention in dataset.split("all")] == [
        ("mimpic and skark lesions", ("mimpic lesions", "skark lesions")),
        ("zorb lesions", ("zorb lesions",)),
        ("zorb", ("zorb",)),
    ]
    assert dataset.split("all")[0].gold == (frozenset({"X0001"}), frozenset({"X0002"}))
    assert dataset.tallies["mentions"].dropped == {"parts of a composite mention": 2}


def test_several_infons_of_a_key_are_several_ids(tmp_path: Path) -> None:
    """Catches an XML of which only the last of equal keys is kept."""
    infons = '<infon key="type">Disease</infon><infon key="MESH">X0001</infon><infon key="MESH">X0002</infon>'
    (tmp_path / "a.xml").write_text(
        "<collection><document><id>1</id><passage><offset>0</offset><text>zorb here</text>"
        f'<annotation id="0">{infons}<location offset="0" length="4"/><text>zorb</text></annotation>'
        "</passage></document></collection>"
    )
    (mention,) = open_linking("bioc", tmp_path / "a.xml", dictionary=NAMES).split("all")
    assert mention.gold == (frozenset({"X0001"}), frozenset({"X0002"}))
