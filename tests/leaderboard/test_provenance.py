"""What a figure can be traced back to, and the snippet of the README that repeats one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.leaderboard.comparison import compare
from st_biomed.leaderboard.models import ModelSpec
from st_biomed.leaderboard.provenance import benchmarks_of
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.leaderboard.run import measure

README = Path(__file__).parents[2] / "evaluation" / "README.md"
TERMS = [f"flumpa {i}" for i in range(10)]
WRITTEN = """
name: mayosrs
title: Zorbs
evaluator: relatedness
data: {version: "7", source: the attic}
settings: {path: pairs.csv, score: mean}
"""


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(
        "term1,term2,mean\n" + "".join(f"{TERMS[i]},{TERMS[9 - i]},{i}\n" for i in range(5))
    )
    (tmp_path / "zorb.yaml").write_text(WRITTEN)
    return Benchmark.read(tmp_path / "zorb.yaml")


def models(folder: Path) -> list[ModelSpec]:
    for seed, name in enumerate(("MiniLM", "SapBERT")):
        vectors = np.random.default_rng(seed).normal(size=(len(TERMS), 4))
        np.savez(folder / f"{name}.npz", texts=np.array(TERMS), vectors=vectors)
    return [ModelSpec(name, str(folder / f"{name}.npz")) for name in ("MiniLM", "SapBERT")]


def test_a_result_says_what_it_is_of(tmp_path: Path, benchmark: Benchmark, tiny_bert_folder: Path):
    """Would catch a figure of which nobody knows the data, the pooling or the version."""
    bert = ModelSpec("bert", str(tiny_bert_folder), pooling="cls", max_length=9)
    folder = ResultsFolder(tmp_path / "out")
    (found,) = measure([bert], [benchmark], folder, device="cpu", batch_size=3, bf16=True).results
    assert ResultsFolder(tmp_path / "out").results == [found]
    assert found.definition == {
        "evaluator": "relatedness",
        "title": "Zorbs",
        "settings": {"path": "pairs.csv", "score": "mean"},
        "file": str(tmp_path / "zorb.yaml"),
        "file_sha256": hashlib.sha256(WRITTEN.encode()).hexdigest(),
        "data_version": "7",
        "data_source": "the attic",
    }
    own = {"model": str(tiny_bert_folder), "pooling": "cls", "max_length": 32, "dimension": 16}
    assert found.encoder == own
    assert found.computation == {"batch_size": 3, "device": "cpu", "bf16": True}
    needed = {"python", "st-biomed", "numpy", "scipy", "torch", "transformers", "sentence-transformers"}
    assert needed <= set(found.versions)
    assert datetime.fromisoformat(found.measured_at).utcoffset() == timedelta(0)


def test_names_are_cut_as_the_papers_scripts_do_only_as_published(
    tmp_path: Path, benchmark: Benchmark, tiny_bert_folder: Path
):
    """Would catch a peer that is measured on the first pieces of long names, beside models that read them whole."""
    bert = ModelSpec("bert", str(tiny_bert_folder), pooling="cls", max_length=9)
    folder = ResultsFolder(tmp_path / "out")
    for as_published, limit in ((False, 32), (True, 9)):
        (found,) = measure([bert], [benchmark], folder, device="cpu", as_published=as_published).results
        assert found.encoder["max_length"] == limit


def test_what_changes_no_figure_measures_nothing_again(tmp_path: Path, benchmark: Benchmark):
    """Would catch a key that depends on the batch size, the title or the place of the benchmark's file."""
    folder, progress = ResultsFolder(tmp_path / "out"), []
    first = measure(models(tmp_path), [benchmark], folder, batch_size=2).results
    (tmp_path / "moved.yaml").write_text(WRITTEN.replace("Zorbs", "Zorbs of old"))
    again = measure(models(tmp_path), [Benchmark.read("moved.yaml")], folder, batch_size=5, progress=progress.append)
    assert all("kept from an earlier run" in line for line in progress)
    assert [result.measured_at for result in again.results] == [result.measured_at for result in first]
    moved = {"title": "Zorbs of old", "file": "moved.yaml"}
    for old, new in zip(first, again.results):
        sha = new.definition["file_sha256"]
        assert replace(old, definition={**old.definition, **moved, "file_sha256": sha}) == new


def test_a_kept_result_has_the_names_of_the_last_request(tmp_path: Path, benchmark: Benchmark):
    """Would catch a card against a folder that nobody named, because equal weights were measured in it before."""
    folder = ResultsFolder(tmp_path / "out")
    model = models(tmp_path)[0]
    copy = tmp_path / "copy.npz"
    copy.write_bytes(Path(model.model).read_bytes())
    measure([model], [benchmark], folder)
    (found,) = measure([ModelSpec("base", str(copy))], [benchmark], folder).results
    assert (found.model, found.encoder["model"]) == ("base", str(copy))


def test_lost_units_are_measured_again(tmp_path: Path, benchmark: Benchmark, caplog: pytest.LogCaptureFixture):
    """Would catch a result without interval and test for ever, because one of its files was lost."""
    folder, progress = ResultsFolder(tmp_path / "out"), []
    first = measure(models(tmp_path), [benchmark], folder).results
    path = tmp_path / "out" / "units" / first[0].units_file
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    again = measure(models(tmp_path), [benchmark], folder, progress=progress.append).results
    assert [line.split(": ")[1] == "kept from an earlier run" for line in progress] == [False, True]
    assert [result.metrics for result in again] == [result.metrics for result in first] and len(folder.results) == 2
    assert len(path.read_bytes()) == len(whole) and "MiniLM, mayosrs is measured again" in caplog.text


def test_tests_are_not_made_again(tmp_path: Path, benchmark: Benchmark):
    folder = ResultsFolder(tmp_path / "out")
    found = measure(models(tmp_path), [benchmark], folder).results
    first = compare(found, "MiniLM", folder, n_resamples=9)
    for file in (tmp_path / "out" / "units").iterdir():
        file.unlink()
    assert compare(found, "MiniLM", folder, n_resamples=9) == first
    assert compare(found, "MiniLM", folder, n_resamples=10) == compare(found, "MiniLM", folder, seed=1) == {}


def test_the_snippet_of_the_readme_repeats_the_printed_test(
    tmp_path: Path, benchmark: Benchmark, capsys: pytest.CaptureFixture[str]
):
    folder = ResultsFolder(tmp_path / "out" / "evaluation")
    found = measure(models(tmp_path), [benchmark], folder).results
    (snippet,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    exec(snippet, {})
    printed = compare(found, "MiniLM", folder, n_resamples=1000, seed=0)["mayosrs_spearman"]["SapBERT"]
    assert capsys.readouterr().out.startswith(f"{printed}\n")


def test_benchmarks_of_earlier_results_are_found(benchmark: Benchmark):
    """Their published figures stand in the tables of all that a folder holds."""

    def of(name: str, file: str = "") -> Result:
        return Result(name, name, "one", "d", {}, {}, "", {}, definition={"file": file})

    own = replace_name("other", benchmark)
    results = [of("mayosrs", str(benchmark.path)), of("ncbi-disease"), of("nowhere", "gone.yaml"), of("other")]
    found = benchmarks_of(results, {"other": own})
    assert set(found) == {"mayosrs", "ncbi-disease", "other"} and found["mayosrs"].title == "Zorbs"
    assert found["ncbi-disease"].path.stem == "ncbi_disease" and found["other"] is own
    assert benchmarks_of([], {}) == {}


def replace_name(name: str, benchmark: Benchmark) -> Benchmark:
    return Benchmark(name, benchmark.evaluator, benchmark.settings)
