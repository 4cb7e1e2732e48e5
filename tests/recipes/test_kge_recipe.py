"""The recipe of graph embeddings, shrunk."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recipes import kge
from st_biomed.errors import InputError
from st_biomed.kge import KGESettings, KGETable, KnowledgeGraph, TrainedKGE
from st_biomed.settings.recipe import read_settings, run_recipe
from tests.kge.graphs import wheel

CONFIGS = Path(kge.__file__).parent / "configs"
MCSM = """
name: toy_types
evaluator: mcsm
settings: {sources: [toy], k: 5}
"""
PAIRS = """term1,term2,mean
Flumpa Gland,gradtha gland,3
flumpa disease,gradtha disease,2
flumpa gland,flumpa disease,1
flumpa gland,nothing known,4
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def call(*arguments: object, main=kge.main) -> Path:
        given = [CONFIGS / "kge_smoke.yaml", "--output_dir", tmp_path / "out", "--device", "cpu", *arguments]
        monkeypatch.setattr(sys, "argv", ["kge.py", *map(str, given)])
        main()
        return tmp_path / "out"

    return call


@pytest.fixture
def benchmarks(tmp_path: Path) -> list[Path]:
    (tmp_path / "toy_types.yaml").write_text(MCSM)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    related = f"name: toy_pairs\nevaluator: relatedness\nsettings: {{path: {tmp_path / 'pairs.csv'}}}\n"
    (tmp_path / "toy_pairs.yaml").write_text(related)
    return [tmp_path / "toy_types.yaml", tmp_path / "toy_pairs.yaml"]


def test_four_models_are_measured_side_by_side(run, benchmarks: list[Path], capsys: pytest.CaptureFixture[str]):
    """Catches vectors that stand for another concept's, and pairs without a vector that count."""
    folder = run("--benchmarks", *benchmarks)
    results = json.loads((folder / "results.json").read_text())["results"]
    assert list(results) == ["transe", "complex", "rotate", "simple"]
    for name, figures in results.items():
        assert KGETable.load(folder / name).model == name
        assert {"filtered_mrr", "raw_mr", "toy_types_mcsm", "toy_pairs_spearman"} <= set(figures)
        assert (figures["toy_pairs_n"], figures["toy_pairs_n_missing"]) == (3, 1)
        assert figures["toy_types_n"] == 158
    shown = capsys.readouterr().out
    assert re.search(r"toy_types_mcsm +\d", shown) and "n of toy_pairs" in shown


def test_a_model_that_is_asked_for_replaces_those_of_a_configuration(run):
    """Catches --model complex that trains the four models of the file."""
    folder = run("--model", "complex")
    assert list(json.loads((folder / "results.json").read_text())["results"]) == ["complex"]


def test_finished_models_are_kept(run, capsys: pytest.CaptureFixture[str]):
    folder = run("--models", "transe")
    before = (folder / "transe" / "vectors.safetensors").read_bytes()
    run("--models", "transe", "rotate", "--resume", "true")
    output = capsys.readouterr().out
    assert "transe: finished in an earlier run" in output and "rotate: epoch 2" in output
    assert (folder / "transe" / "vectors.safetensors").read_bytes() == before


def test_a_terminology_becomes_vectors_and_figures(run):
    folder = run("--models", "complex") / "complex"
    table, figures = KGETable.load(folder), json.loads((folder / "figures.json").read_text())
    assert (table.model, table.dimension, len(table)) == ("complex", 8, 158)
    assert figures["n"] == 25 and 0 < figures["filtered_mrr"] <= 1 and figures["n_unseen"] == 0


def test_a_saved_graph_is_taken_as_it_is(run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    graph = wheel()
    folder = run("--terminology", graph.save(tmp_path / "graph"), "--models", "rotate", "--benchmarks", "none")
    assert "rotate: epoch 2" in capsys.readouterr().out
    assert TrainedKGE.load(folder / "rotate", "cpu").graph.digest == graph.digest
    assert KnowledgeGraph.load(folder / "graph").digest == graph.digest


def test_a_graph_without_test_triples_is_trained_on(run, tmp_path: Path):
    graph = wheel()
    graph = replace(graph, train=graph.triples, test=graph.test[:0])
    folder = run("--terminology", graph.save(tmp_path / "graph"), "--models", "rotate")
    assert json.loads((folder / "rotate" / "figures.json").read_text()) == {}
    assert len(KGETable.load(folder / "rotate")) == len(graph.entities)


def test_a_smoke_run_has_two_epochs(run, capsys: pytest.CaptureFixture[str]):
    run("--models", "complex", "--patience", 0, "--epochs", 9, "--smoke", "true")
    output = capsys.readouterr().out
    assert "complex: epoch 2" in output and "complex: epoch 3" not in output


def test_a_run_goes_on_for_longer(run, capsys: pytest.CaptureFixture[str]):
    run("--models", "complex", "--patience", 0)
    capsys.readouterr()
    run("--models", "complex", "--patience", 0, "--epochs", 3, "--resume", "true", "--overwrite", "false")
    output = capsys.readouterr().out
    assert "complex: goes on after epoch 2" in output
    assert "complex: epoch 3" in output and "complex: epoch 2" not in output


def test_an_earlier_run_stands_until_the_next_one_is_whole(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches figures of one run beside the vectors of another, and a model lost that was not trained anew."""
    folder = run("--models", "transe", "rotate")

    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    before = state()
    with monkeypatch.context() as patch:
        patch.setattr(kge, "metrics_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run("--models", "rotate", "--seed", 1, "--overwrite", "true")
    assert state() == before
    folder.rename(tmp_path / "away")
    with pytest.raises(InputError, match="contains an interrupted run; --resume true continues it"):
        run("--models", "rotate", "--seed", 1, "--overwrite", "false")
    (tmp_path / "away").rename(folder)
    run("--models", "rotate", "--seed", 1, "--resume", "true")
    results = json.loads((folder / "results.json").read_text())["results"]
    assert list(results) == ["rotate"] and not (tmp_path / ".out.begun").exists()
    assert KGETable.load(folder / "transe").model == "transe"
    assert (
        state()[str(folder / "transe" / "model.safetensors")] == before[str(folder / "transe" / "model.safetensors")]
    )
    assert (
        state()[str(folder / "rotate" / "model.safetensors")] != before[str(folder / "rotate" / "model.safetensors")]
    )


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("kge_*.yaml")), ids=lambda path: path.stem)
def test_every_setting_of_every_configuration_is_an_argument(path: Path):
    recipe, _ = read_settings((kge.KGEArguments, KGESettings), [str(path)])
    assert recipe.models == ["transe", "complex", "rotate", "simple"]


def test_the_regularizer_is_left_out_of_distances():
    settings = KGESettings(n3=0.1)
    objectives = {name: kge.settings_of(settings, name).objective(10) for name in ("rotate", "simple")}
    assert objectives["rotate"].n3 == 0 and objectives["simple"].n3 == 0.1


def test_the_settings_of_each_model_are_told_and_recorded(run, capsys):
    """Catches figures that stand beside no settings, and a default that is taken for a given value."""
    folder = run("--models", "transe", "simple", "--n3", 0.5)
    output = capsys.readouterr().out
    assert (
        "simple: loss one_vs_all, negatives 4, reciprocal False, learning_rate 0.01, n3 0.5, margin 0.0 (def" in output
    )
    assert "(defaults of the model: reciprocal, loss, margin, n3, learning_rate)" in output  # of TransE
    models = json.loads((folder / "results.json").read_text())["models"]
    assert models["simple"]["settings"]["loss"] == "one_vs_all" and "n3" not in models["simple"]["model_defaults"]
    assert models["transe"]["settings"]["n3"] == 0 and "n3" in models["transe"]["model_defaults"]


def test_a_saved_graph_stands_alone(run, benchmarks: list[Path], tmp_path: Path):
    graph = wheel().save(tmp_path / "graph")
    for words, message in (
        (("--terminology", graph, "toy"), "is a saved graph, with which nothing is merged"),
        (("--terminology", graph, "--benchmarks", *benchmarks), "a saved graph has no names to measure"),
    ):
        with pytest.raises(InputError, match=message):
            run(*words)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "transd"], "unknown model 'transd'"),
        (["--dimension", "0"], "dimension must be at least 1"),
        (["--inverses", "isa"], "inverses are written NAME=INVERSE, found 'isa'"),
        (["--benchmarks", "icd10cm_tree"], "has evaluator 'tree'|needs"),
        (["--terminology", "nowhere/at/all"], "terminology 'nowhere/at/all': no such folder"),
        (["--overwrite", "false"], "already contains a run of this recipe"),
        (["--inverses", "isa=asi"], "unknown relation among the inverses 'asi'"),
        (["--relations", "false", "--parents", "false"], "one of them is needed for a graph"),
        (["--resume", "true"], "out has no run to continue; omit it to start one"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str, run, tmp_path: Path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.json").write_text("{}")
    with pytest.raises(SystemExit) as end:
        run("--models", "transe", *arguments, main=lambda: run_recipe(kge.main))
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["results.json"]
    assert line.startswith("error: ") and re.search(message, line), line
