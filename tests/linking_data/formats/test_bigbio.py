from __future__ import annotations

import json
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "bigbio"
NAMES = FOLDER / "names.txt"


class TestBigBio(LinkingContract):
    format = "bigbio"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "train.jsonl"
    separator = b", "


def test_entities_of_some_types_with_ids_of_some_databases() -> None:
    dataset = open_linking("bigbio", FOLDER, dictionary=NAMES, types="Disease", databases=["MESH", "OMIM"])
    flumpa, composite = dataset.split("train")
    assert flumpa.gold == (frozenset({"X0001"}),)
    assert composite.gold == (frozenset({"X0002"}), frozenset({"X0003"}))
    assert dataset.split("test")[0].gold == (frozenset({"X0004"}),)
    assert dataset.tallies["mentions"].dropped == {"entities of type Species": 1}
    assert dataset.documents["doc1"] == "Flumpa vörb. Skark and zorb disease in voles."


def test_several_ids_may_be_alternatives() -> None:
    dataset = open_linking("bigbio", FOLDER / "train.jsonl", dictionary=NAMES, several="alternatives")
    assert dataset.split("all")[1].gold == (frozenset({"X0002", "X0003"}),)
    with pytest.raises(InputError, match=r"unknown several 'parts': allowed are 'alternatives', 'groups'"):
        open_linking("bigbio", FOLDER, dictionary=NAMES, several="parts")


def test_passages_in_any_order_and_offsets_that_do_not_fit(tmp_path: Path) -> None:
    """Catches a text cut where a passage begins, and the context of another word."""
    document = json.loads((FOLDER / "train.jsonl").read_text("utf-8"))
    document["passages"].reverse()
    document["entities"][0]["offsets"] = [[1, 7]]
    (tmp_path / "t.jsonl").write_text(json.dumps(document))
    dataset = open_linking("bigbio", tmp_path / "t.jsonl", dictionary=NAMES)
    assert dataset.documents["doc1"] == "Flumpa vörb. Skark and zorb disease in voles."
    assert [mention.start for mention in dataset.split("all")] == [-1, 13, 39]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"passages": [{"text": ["f"], "offsets": [[99999, 100000]]}]},
            r"a passage begins at 99999, but .* ends at 0",
        ),
        ({"entities": None}, r"t.jsonl:2: 'entities' must be a list, found NoneType"),
        ({"document_id": 7}, r"t.jsonl:2: 'document_id' must be a str, found int"),
        ({"document_id": "doc1"}, r"t.jsonl:2: document 'doc1' occurs twice"),
        ({"passages": ["Flumpa"]}, r"t.jsonl:2: 'offsets' must be a list of pairs of numbers, found None"),
        ({"entities": [{"offsets": [[0, 1]], "text": "f", "type": "D", "normalized": ["X1"]}]}, r"db_name and db_id"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    line = (FOLDER / "train.jsonl").read_text("utf-8").strip()
    other = json.dumps({**json.loads(line), "document_id": "doc9", **change})
    (tmp_path / "t.jsonl").write_text(f"{line}\n{other}\n", "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("bigbio", tmp_path / "t.jsonl", dictionary=NAMES)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", r"t.jsonl:1: expected a JSON object on one line, found '\[\]'"),
        ("{", r"t.jsonl:1: is not JSON"),
        (r'{"document_id": "a \ud83d", "passages": [], "entities": []}', r"t.jsonl:1: is not readable JSON \(Unicode"),
    ],
)
def test_what_is_no_readable_object_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """Catches half a character, which no file can be written with later."""
    (tmp_path / "t.jsonl").write_text(line)
    with pytest.raises(InputError, match=message):
        open_linking("bigbio", tmp_path / "t.jsonl", dictionary=NAMES)


def test_a_variant_beside_another_id_is_one_id(tmp_path: Path) -> None:
    """Catches a variant of tmVar that takes the next id of its entity as a part."""
    document = json.loads((FOLDER / "train.jsonl").read_text("utf-8").strip())
    ids = ("c|SUB|A|1555|G", "X1")
    document["entities"] = [{**document["entities"][0], "normalized": [{"db_name": "D", "db_id": id_} for id_ in ids]}]
    (tmp_path / "t.jsonl").write_text(json.dumps(document))
    (mention,) = open_linking("bigbio", tmp_path / "t.jsonl", dictionary=NAMES).split("all")
    assert mention.gold == (frozenset({"c|SUB|A|1555|G"}), frozenset({"X1"}))
