"""``st-biomed kge``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.kge import KGETable, KnowledgeGraph, TrainedKGE
from tests.kge.graphs import wheel

QUICK = ("--epochs", 2, "--evaluate-every", 1, "--dimension", 8, "--batch-size", 64, "--device", "cpu")


@pytest.fixture
def trained(run: Callable, tmp_path: Path) -> Path:
    folder = tmp_path / "kge"
    result = run("kge", "train", "toy", "-o", folder, "--least-triples", 5, *QUICK)
    assert result.exit_code == 0, result.output
    return folder


def test_a_terminology_becomes_vectors_and_figures(run: Callable, trained: Path, tmp_path: Path) -> None:
    table, figures = KGETable.load(trained), json.loads((trained / "figures.json").read_text())
    assert (table.model, table.dimension, len(table)) == ("complex", 8, 158)
    assert figures["n"] == 25 and 0 < figures["filtered_mrr"] <= 1 and figures["n_unseen"] == 0
    out = tmp_path / "figures.json"
    result = run("kge", "evaluate", trained, "--per-relation", "-o", out, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "25 triples" in result.stdout and "filtered_tail" in result.stdout
    again = json.loads(out.read_text())
    assert {key: again[key] for key in figures} == figures and "isa/filtered_mrr" in again
    assert run("kge", "evaluate", trained, "--split", "valid", "--device", "cpu").stdout.startswith("17 triples")


def test_a_saved_graph_is_taken_as_it_is(run: Callable, tmp_path: Path) -> None:
    graph = wheel()
    result = run("kge", "train", graph.save(tmp_path / "graph"), "-o", tmp_path / "kge", "--model", "rotate", *QUICK)
    assert result.exit_code == 0, result.output
    assert "rotate: epoch 2" in result.stderr and "wheel" not in result.stdout
    assert TrainedKGE.load(tmp_path / "kge", "cpu").graph.digest == graph.digest
    other = KnowledgeGraph.load(tmp_path / "graph")
    assert run("kge", "evaluate", tmp_path / "kge", "--graph", tmp_path / "graph", "--device", "cpu").exit_code == 0
    assert other.digest == graph.digest


def test_a_run_is_resumed(run: Callable, trained: Path) -> None:
    result = run("kge", "train", "toy", "-o", trained, "--least-triples", 5, *QUICK[2:], "--epochs", 3, "--resume")
    assert result.exit_code == 0, result.output
    assert "complex: goes on after epoch 2" in result.stderr
    assert "complex: epoch 3" in result.stderr and "complex: epoch 2" not in result.stderr


def test_bad_input_is_one_line(refused: Callable[..., str], trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    graph = wheel().save(tmp_path / "graph")
    for words, message in (
        (
            ("train", "toy", "-o", trained),
            "holds a graph embedding already; choose another folder, or replace it with --overwrite",
        ),
        (("train", "toy", "-o", trained / "table.json"), "is a file, a folder is needed there"),
        (("train", "toyy", "-o", out), "terminology 'toyy'"),
        (("train", "toy", "-o", out, "--model", "transd"), "unknown model 'transd'"),
        (("train", "toy", "-o", out, "--inverse", "isa"), "--inverse is written NAME=INVERSE, found 'isa'"),
        (("train", "toy", "-o", out, "--inverse", "isa=asi"), "unknown relation among the inverses 'asi'"),
        (("train", "toy", "-o", out, "--no-relations", "--no-parents"), "one of them is needed for a graph"),
        (("evaluate", tmp_path), "no table.json in it; expected a folder written by"),
        (("evaluate", trained, "--split", "dev"), "unknown split 'dev'"),
        (("evaluate", trained, "--device", "tpux"), "device 'tpux' is not there"),
        (("evaluate", trained, "--graph", graph), "entities: 'W:00' is unknown to the graph that was trained on"),
    ):
        assert message in refused("kge", *words), words
    assert not out.exists()
