"""Every published figure of evaluation/benchmarks is of a metric that its evaluator has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from st_biomed.evaluators.benchmark import Benchmark, benchmark_names

LINKING = Path(__file__).parents[1] / "fixtures" / "linking" / "ncbi_disease"
WITH_FIGURES = [one for name in benchmark_names() if (one := Benchmark.read(name)).published]


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.array([[len(text), text.count("a"), text.count("e") - 2.5] for text in texts])


@cache
def metrics_of(evaluator: str, ks: tuple[int, ...], folder: Path) -> set[str]:
    """The metrics that an evaluator has on invented data, without its name."""
    if evaluator == "relatedness":
        (folder / "pairs.csv").write_text("term1,term2,score\na,bb,1\nc,eee,3\nea,f,2\n")
        settings = {"path": str(folder / "pairs.csv")}
    else:
        fixed = {"format": "ncbi_disease", "path": str(LINKING), "dictionary": str(LINKING / "medic.txt")}
        settings = {**fixed, "ks": list(ks), "seen": ["train"]}
    (one,) = Benchmark("x", evaluator, settings).protocol().evaluators(n_bootstrap=2)
    return {metric.removeprefix("x_") for metric in one.measure(embed)}


def unknown(benchmark: Benchmark, folder: Path) -> list[str]:
    """Metrics of published figures that the benchmark does not have."""
    known = metrics_of(benchmark.evaluator, tuple(benchmark.settings.get("ks", (1, 5))), folder)
    names = [benchmark.name, f"{benchmark.name}_raw"] if benchmark.settings.get("steps") else [benchmark.name]
    return [
        one.metric for one in benchmark.published if one.metric not in {f"{n}_{key}" for n in names for key in known}
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("invented")


@pytest.mark.parametrize("benchmark", WITH_FIGURES, ids=lambda one: one.name)
def test_a_published_figure_is_of_a_metric_that_is_measured(benchmark: Benchmark, folder: Path):
    assert benchmark.evaluator in ("relatedness", "entity_linking"), "a stand-in with invented data is needed above"
    assert unknown(benchmark, folder) == []


def test_a_misspelt_metric_is_seen(folder: Path):
    """Guards the guard."""
    one = WITH_FIGURES[0]
    figures = [replace(one.published[0], metric=metric) for metric in (f"{one.name}_spaerman", "zorb_acc@1")]
    assert unknown(replace(one, published=figures), folder) == [figure.metric for figure in figures]
    assert len(WITH_FIGURES) > 10
