"""Graphs: what their splits promise, their files, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.kge import KnowledgeGraph
from st_biomed.kge.splits import split_triples
from st_biomed.kge.triples import TripleOptions
from st_biomed.terminology import Terminology
from tests.kge.graphs import terminology, wheel


@given(st.integers(2, 30), st.integers(1, 4), st.integers(1, 120), st.integers(0, 5))
def test_what_is_held_out_holds_nothing_new(n_entities: int, n_relations: int, n: int, seed: int):
    """Would catch counts that are not updated as triples are held out."""
    rng = np.random.default_rng(seed)
    triples = rng.integers([n_entities, n_relations, n_entities], size=(n, 3))
    triples = np.unique(triples[triples[:, 0] != triples[:, 2]], axis=0)
    train, valid, test = split_triples(triples, (0.5, 0.2, 0.3), seed)
    assert (
        len(np.unique(np.concatenate([train, valid, test]), axis=0))
        == len(triples)
        == len(train) + len(valid) + len(test)
    )
    assert set(triples[:, [0, 2]].ravel()) == set(train[:, [0, 2]].ravel())
    assert set(triples[:, 1]) == set(train[:, 1])
    assert len(valid) <= round(0.2 * len(triples)) + 1 and len(test) <= round(0.3 * len(triples)) + 1


def test_the_shares_are_reached_where_entities_have_triples_enough():
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers([40, 5, 40], size=(3000, 3)), axis=0)
    triples = triples[triples[:, 0] != triples[:, 2]]
    train, valid, test = split_triples(triples)
    assert len(train) / len(triples) == pytest.approx(0.9, abs=1e-3)
    assert len(valid) / len(triples) == pytest.approx(0.04, abs=1e-3)
    assert len(test) / len(triples) == pytest.approx(0.06, abs=1e-3)


def test_a_seed_below_zero_is_refused():
    for split in (
        KnowledgeGraph.from_terminology,
        lambda whole, seed: split_triples(np.array([[0, 0, 1]]), seed=seed),
    ):
        with pytest.raises(InputError, match="seed must be an integer of at least 0, found -1"):
            split(Terminology.read("toy"), seed=-1)


def test_nothing_can_be_held_out_of_a_star():
    """A leaf has one triple; would catch a split that takes its share whatever it costs."""
    star = np.array([[i, 0, 0] for i in range(1, 50)])
    train, valid, test = split_triples(star)
    assert (len(train), len(valid), len(test)) == (49, 0, 0)


def test_a_split_depends_on_its_seed_alone():
    triples = np.array([[h, 0, t] for h in range(12) for t in range(12) if h != t])
    parts, same, other = (split_triples(triples, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(parts, same))
    assert not np.array_equal(parts[2], other[2])


@pytest.mark.parametrize("shares", [(0.9, 0.1), (0.9, 0.2, 0.1), (0.0, 0.5, 0.5), (1.1, -0.1, 0.0)])
def test_shares_that_do_not_add_up_are_refused(shares: tuple[float, ...]):
    with pytest.raises(InputError, match="shares: expected those of train, valid and test, which add up to 1"):
        split_triples(np.array([[0, 0, 1]]), shares)


@pytest.mark.parametrize("shares", [("a", 1, 2), 0.5, "abc"])
def test_shares_are_numbers(shares: object):
    with pytest.raises(InputError, match="shares: expected three numbers, found"):
        split_triples(np.array([[0, 0, 1]]), shares)


# ---------------------------------------------------------------------- graphs


def test_a_terminology_becomes_a_graph():
    whole = Terminology.read("toy")
    graph = KnowledgeGraph.from_terminology(whole, TripleOptions(least_triples=5))
    assert graph.terminology == whole.digest and "isa" in graph.relations
    assert sum(graph.shares.values()) == pytest.approx(1) and graph.shares["test"] == pytest.approx(0.06, abs=0.01)
    assert len(graph.triples) == graph.tally.n_kept and list(graph.entities) == sorted(graph.entities)
    assert "375 train (89.9%)" in repr(graph)
    codes = set(graph.entities)
    assert all(set(np.array(graph.entities)[part[:, [0, 2]]].ravel()) <= codes for part in graph.parts.values())


def test_sizes_and_shares_take_no_copy_of_the_triples(monkeypatch: pytest.MonkeyPatch):
    """Would catch a printed graph that copies all triples for each number."""
    graph = wheel()

    def copied(graph: KnowledgeGraph) -> np.ndarray:
        raise AssertionError("all triples are copied")

    monkeypatch.setattr(KnowledgeGraph, "triples", property(copied))
    total = len(graph.train) + len(graph.valid) + len(graph.test)
    assert graph.shares == {part: len(getattr(graph, part)) / total for part in ("train", "valid", "test")}
    assert f"{len(graph.train)} train ({len(graph.train) / total:.1%})" in repr(graph)


def test_a_graph_is_saved_and_loaded(tmp_path: Path):
    graph = KnowledgeGraph.from_terminology(Terminology.read("toy"), TripleOptions(least_triples=150))
    again = KnowledgeGraph.open(graph.save(tmp_path / "graph"))
    assert (again.entities, again.relations, again.terminology) == (graph.entities, graph.relations, graph.terminology)
    assert all(np.array_equal(again.parts[part], graph.parts[part]) for part in graph.parts)
    assert again.digest == graph.digest and again.report == graph.report
    for options in ({"options": TripleOptions(least_triples=150)}, {"seed": 7}, {"shares": (1, 2, 3)}):
        with pytest.raises(InputError, match=f"is a saved graph, which {next(iter(options))} cannot change"):
            KnowledgeGraph.open(tmp_path / "graph", **options)
    assert "relation adjacent_to: rare (6 of at least 150 triples)" in graph.report
    assert dataclasses.replace(graph, train=graph.train[::-1]).digest != graph.digest


def test_damaged_files_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no graph.json in it; expected a folder written by KnowledgeGraph.save"):
        KnowledgeGraph.load(tmp_path)
    folder = wheel().save(tmp_path / "graph")
    about = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**about, "digest": "0"}))
    with pytest.raises(InputError, match="graph.json: damaged or edited"):
        KnowledgeGraph.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": np.empty((0, 3), np.int64)}, "train: the graph has no training triple"),
        ({"train": np.array([[0, 1]])}, r"train: expected whole numbers \[T, 3\], found int64 \[1, 2\]"),
        ({"valid": np.array([[0.5, 0, 1]])}, r"valid: expected whole numbers \[T, 3\], found float64"),
        ({"test": np.array([[0, 0, 1], [0, 0, 12]])}, "test: tail of triple 2 must be from 0 to 11, found 12"),
        ({"test": np.array([[0, -1, 1]])}, "test: relation of triple 1 must be from 0 to 2, found -1"),
        ({"relations": ["next", "next", "opposite"]}, "relations: 'next' occurs twice"),
    ],
)
def test_what_is_no_graph_is_refused(changes: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(wheel(), **changes)  # type: ignore[arg-type]


def test_triples_of_another_graph_are_renumbered_by_name():
    graph, other = wheel(12), wheel(8)
    moved = graph.renumbered(other.train, other)
    named = [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in moved.tolist()]
    assert named == [(other.entities[h], other.relations[r], other.entities[t]) for h, r, t in other.train.tolist()]
    with pytest.raises(InputError, match="entities: 'W:0[89]' is unknown to the graph that was trained on"):
        other.renumbered(graph.train, graph)
    assert graph.renumbered(np.empty((0, 3), np.int64), other).shape == (0, 3)


def test_a_relation_with_one_triple_stays_in_training():
    whole = terminology([("a", "once", "b"), *((f"a{i}", "often", f"b{j}") for i in range(6) for j in range(6))])
    graph = KnowledgeGraph.from_terminology(whole, TripleOptions(least_triples=1), shares=(0.5, 0.25, 0.25))
    once = graph.relations.index("once")
    assert (graph.train[:, 1] == once).sum() == 1
    assert not (np.concatenate([graph.valid, graph.test])[:, 1] == once).any()
