"""``st-biomed kge``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.kge import KnowledgeGraph
from tests.kge.graphs import wheel

SMOKE = "recipes/configs/kge_smoke.yaml"


@pytest.fixture
def trained(run: Callable, tmp_path: Path) -> Path:
    result = run("train", "kge", SMOKE, "--models", "complex", "--device", "cpu", "--output_dir", tmp_path / "kge")
    assert result.exit_code == 0, result.output
    return tmp_path / "kge" / "complex"


def test_a_trained_model_is_measured(run: Callable, trained: Path, tmp_path: Path) -> None:
    figures, out = json.loads((trained / "figures.json").read_text()), tmp_path / "figures.json"
    result = run("kge", "evaluate", trained, "--per-relation", "-o", out, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "25 triples" in result.stdout and "filtered_tail" in result.stdout
    again = json.loads(out.read_text())
    assert {key: again[key] for key in figures} == figures and "isa/filtered_mrr" in again
    assert run("kge", "evaluate", trained, "--split", "valid", "--device", "cpu").stdout.startswith("17 triples")
    graph = trained.parent / "graph"
    own = KnowledgeGraph.load(graph)
    train = np.concatenate([own.train[9:], own.test])
    split_anew = replace(own, train=train, test=own.train[:9]).save(tmp_path / "anew")
    result = run("kge", "evaluate", trained, "--graph", split_anew, "--device", "cpu")
    assert result.stdout.startswith("9 triples")
    assert "warning: 9 of 9 triples to measure were trained on" in result.stderr
    assert run("kge", "evaluate", trained, "--graph", graph, "--device", "cpu").stdout.startswith("25 triples")


def test_bad_input_is_one_line(refused: Callable[..., str], trained: Path, tmp_path: Path) -> None:
    graph = wheel().save(tmp_path / "graph")
    for words, message in (
        (("evaluate", tmp_path), "no table.json in it; expected a folder written by"),
        (("evaluate", trained, "--split", "dev"), "unknown split 'dev'"),
        (("evaluate", trained, "--device", "tpux"), "device 'tpux' is not available"),
        (("evaluate", trained, "--graph", graph), "entities: 'W:00' is unknown to the graph that was trained on"),
    ):
        assert message in refused("kge", *words), words
