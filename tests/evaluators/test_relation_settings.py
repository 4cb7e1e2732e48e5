"""Relations and triples as benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.link_prediction.settings import LinkPredictionSettings
from st_biomed.evaluators.relation.settings import RelationSettings
from st_biomed.terminology import Terminology

TOY = Terminology.read("toy")


def test_the_relations_of_a_terminology_or_a_file_are_measured(tmp_path: Path):
    (from_toy,) = RelationSettings("zorb", ["toy"], relations=["isa"], min_pairs=1, n_negatives=20).evaluators()
    assert list(from_toy.positives) == ["isa"] and len(from_toy.negatives) == 20 and from_toy.name == "zorb"
    from_toy.to_file(tmp_path / "pairs.txt")
    (from_file,) = RelationSettings("zorb", pairs=str(tmp_path / "pairs.txt")).evaluators()
    assert from_file.pairs_digest == from_toy.pairs_digest
    (named,) = RelationSettings("zorb", ["toy"], relation_list="hiprbert_28").evaluators()
    assert "isa" in named.positives and named.missing["classifies"] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "expected either a terminology"),
        ({"sources": ["toy"], "pairs": "x"}, "expected either a terminology"),
        (
            {"sources": ["toy"], "relations": ["isa"], "relation_list": "hiprbert_28"},
            "only one of them may be set",
        ),
        ({"pairs": "x", "seed": 3, "min_pairs": 9}, "zorb: pairs of a file are not drawn; remove min_pairs, seed$"),
        (
            {"sources": ["toy"], "relation_list": "hiprbert"},
            "unknown relation_list 'hiprbert'; did you mean|allowed are",
        ),
    ],
)
def test_relations_that_are_unclear_are_refused(settings: dict, message: str):
    with pytest.raises(InputError, match=message):
        RelationSettings("zorb", **settings).evaluators()


def triples(path: Path, rows: list[tuple[str, str, str]]) -> str:
    path.write_text("head\trelation\ttail\n" + "".join("\t".join(row) + "\n" for row in rows))
    return str(path)


def test_triples_are_read_by_code_and_embedded_by_name(tmp_path: Path):
    codes = TOY.codes[:4]
    train = triples(tmp_path / "train.tsv", [(codes[0], "r", codes[1]), (codes[1], "s", codes[2])])
    test = triples(tmp_path / "test.tsv", [(codes[3], "s", codes[0])])
    (by_name,) = LinkPredictionSettings("zorb", train, test, sources=["toy"], ks=[1, 2]).evaluators()
    assert by_name.entities == [TOY.strings[TOY.preferred_texts[i]] for i in range(4)]
    assert by_name.triples.tolist() == [[3, 1, 0]] and by_name.relations == ["r", "s"] and by_name.ks == (1, 2)
    (by_code,) = LinkPredictionSettings("zorb", train, test, keys="codes").evaluators()
    for given, part in ((("", test), "train"), ((train, ""), "test")):
        with pytest.raises(InputError, match=f"zorb: {part} is empty, expected a table of triples"):
            LinkPredictionSettings("zorb", *given, keys="codes").evaluators()
    assert by_code.entities == codes and by_code.digest != by_name.digest


def test_triples_that_are_none_are_refused(tmp_path: Path):
    train = triples(tmp_path / "train.tsv", [("a", "r", "b")])
    test = triples(tmp_path / "test.tsv", [("b", "", "a")])
    with pytest.raises(InputError, match=r"test\.tsv:2: expected a head, a relation and a tail"):
        LinkPredictionSettings("zorb", train, test, keys="codes").evaluators()
    with pytest.raises(InputError, match="sources is empty; expected the terminology with the entities' names"):
        LinkPredictionSettings("zorb", train, test).evaluators()
    with pytest.raises(InputError, match="unknown keys 'cui'"):
        LinkPredictionSettings("zorb", train, test, keys="cui").evaluators()
    triples(tmp_path / "test.tsv", [("b", "r", "a")])
    with pytest.raises(InputError, match="2 of 2 entities are in none of the sources, e.g. 'a'"):
        LinkPredictionSettings("zorb", train, test, sources=["toy"]).evaluators()
