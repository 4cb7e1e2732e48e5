"""Models by benchmarks: resumed where they stopped, compared on the same units, nothing dropped in silence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.published_figures import PublishedFigure
from st_biomed.leaderboard.comparison import compare
from st_biomed.leaderboard.markdown_and_html import html_page, markdown
from st_biomed.leaderboard.models import ModelSpec
from st_biomed.leaderboard.result_tables import comparison_table, tables_of
from st_biomed.leaderboard.results import ResultsFolder
from st_biomed.leaderboard.run import MeasuringReport, measure

TERMS = [f"flumpa {i}" for i in range(12)]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    rows = "".join(f"{TERMS[2 * i]},{TERMS[2 * i + 1]},{i}\n" for i in range(6))
    (tmp_path / "pairs.csv").write_text(f"term1,term2,score\n{rows}")
    published = [PublishedFigure("Terk", "zorb_spearman", 0.25, "Terk 1999, Table 1", "all six pairs")]
    return Benchmark("zorb", "relatedness", {"path": str(tmp_path / "pairs.csv")}, "Zorbs", published=published)


def table_of_vectors(path: Path, seed: int, texts: list[str] = TERMS) -> ModelSpec:
    np.savez(path, texts=np.array(texts), vectors=np.random.default_rng(seed).normal(size=(len(texts), 4)))
    return ModelSpec(path.stem, str(path))


@pytest.fixture
def models(tmp_path: Path) -> list[ModelSpec]:
    return [table_of_vectors(tmp_path / f"{name}.npz", i) for i, name in enumerate(("one", "two"))]


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_every_model_is_measured_on_every_benchmark_and_kept(tmp_path, benchmark, models):
    found = measure(models, [benchmark], ResultsFolder(tmp_path / "out"))
    assert [(result.model, result.evaluator) for result in found.results] == [("one", "zorb"), ("two", "zorb")]
    kept = lines(tmp_path / "out")
    assert [row["metrics"] for row in kept] == [result.metrics for result in found.results]
    assert kept[0]["units"] == {"zorb_spearman": [6, "pair"]}
    assert kept[0]["settings"]["bootstrap_seed"] == 0
    assert not (found.missing or found.failed)


def test_a_run_goes_on_where_it_stopped(tmp_path, benchmark, models):
    """Would catch figures that are measured again, and those of another model, data or setting that are not."""
    progress: list[str] = []
    out = tmp_path / "out"
    first = measure(models[:1], [benchmark], ResultsFolder(out)).results[0]
    path = out / "results.jsonl"
    path.write_text(path.read_text() + '{"benchmark": "cut')
    again = measure(models, [benchmark], ResultsFolder(out), progress=progress.append)
    assert again.results[0] == first and len(lines(out)) == 2
    assert progress[0] == "one, zorb: kept from an earlier run" and progress[1].startswith("two, zorb: zorb_spearman ")
    table_of_vectors(tmp_path / "one.npz", 5)
    other_model = measure(models[:1], [benchmark], ResultsFolder(out)).results[0]
    other_setting = measure(models[:1], [benchmark], ResultsFolder(out), n_bootstrap=0).results[0]
    (tmp_path / "pairs.csv").write_text((tmp_path / "pairs.csv").read_text().replace(",5\n", ",-1\n"))
    other_data = measure(models[:1], [benchmark], ResultsFolder(out)).results[0]
    assert (
        len({result.key for result in (first, other_model, other_setting, other_data)}) == 4 and len(lines(out)) == 5
    )


def test_a_model_keeps_its_figures_under_a_new_name(tmp_path, benchmark, models):
    folder = ResultsFolder(tmp_path / "out")
    measure(models[:1], [benchmark], folder)
    renamed = measure([ModelSpec("uno", models[0].model)], [benchmark], folder).results
    row, renamed_row = lines(tmp_path / "out")
    assert [result.model for result in renamed] == [renamed_row.pop("model")] == ["uno"] and row.pop("model") == "one"
    assert row.pop("checksum") != renamed_row.pop("checksum")  # each line is sealed with the name it has
    assert row == renamed_row and len(list((tmp_path / "out" / "units").iterdir())) == 1


def test_what_cannot_be_measured_stops_nothing_and_is_said(tmp_path, benchmark, models):
    """Would catch a table in which a model or a benchmark is missing without a word."""
    small = table_of_vectors(tmp_path / "small.npz", 3, TERMS[:4])
    nowhere = ModelSpec("nowhere", str(tmp_path / "nowhere.npz"))
    without = Benchmark.read("ncbi_disease")
    progress: list[str] = []
    folder = ResultsFolder(tmp_path / "out")
    found = measure([nowhere, small, models[1]], [without, benchmark], folder, progress=progress.append)
    assert [result.model for result in found.results] == ["two"]
    assert found.missing == {"ncbi-disease": ["benchmarks_dev/ncbi_disease"]}
    assert set(found.failed) == {("nowhere", ""), ("small", "zorb")}
    assert "8 of 12 texts have no row" in found.failed["small", "zorb"]
    assert len(progress) == 1 and progress[0].startswith("two, zorb: ")  # who asks says what failed, once


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ST_BIOMED_DATA", raising=False)


def test_an_encoder_and_its_table_give_the_same_figures(tmp_path, benchmark, tiny_bert, tiny_bert_folder):
    np.savez(tmp_path / "table.npz", texts=np.array(TERMS), vectors=tiny_bert.encode(TERMS))
    models = [ModelSpec("bert", str(tiny_bert_folder)), ModelSpec("table", str(tmp_path / "table.npz"))]
    found = measure(models, [benchmark], ResultsFolder(tmp_path / "out"), cache_dir=tmp_path / "vectors")
    bert, table = (result.metrics for result in found.results)
    assert bert == pytest.approx(table, abs=1e-6) and any((tmp_path / "vectors").rglob("vectors.bin"))


# ---------------------------------------------------------------------- reports


def measured(tmp_path, benchmark, models) -> tuple[MeasuringReport, ResultsFolder]:
    folder = ResultsFolder(tmp_path / "out")
    return measure(models, [benchmark], folder), folder


def test_tables_have_the_best_in_bold_intervals_and_published_figures(tmp_path, benchmark, models):
    found, _ = measured(tmp_path, benchmark, models)
    text = markdown("Results", tables_of(found.results, {"zorb": benchmark}))
    values = {result.model: result.metrics for result in found.results}
    best = max(values, key=lambda name: values[name]["zorb_spearman"])
    figures = {
        name: "{zorb_spearman:.3f} ({zorb_spearman_low:.3f} to {zorb_spearman_high:.3f})".format(**of)
        for name, of in values.items()
    }
    figures[best] = f"**{figures[best]}**"
    assert f"| zorb_spearman | {figures['one']} | {figures['two']} |" in text
    assert "In brackets: 95% bootstrap interval, 1,000 draws from seed 0." in text
    assert (
        "| | one | two | Terk (published) |" in text
        and f"| spearman | {figures['one']} | {figures['two']} | 0.250 |" in text
    )
    assert (
        "Zorbs.\n" in text
        and "Intervals over 6 pairs.\n" in text
        and "Published, Terk: Terk 1999, Table 1. Protocol: all six pairs.\n" in text
    )


def test_a_published_accuracy_stands_beside_a_published_scoring_alone(tmp_path, benchmark, models):
    """Would catch a cosine beside a figure of inner products."""
    found, _ = measured(tmp_path, benchmark, models[:1])
    linked = replace(
        benchmark, published=[PublishedFigure("Terk", "zorb_acc@1", 0.25, "Terk 1999, Table 1", "all mentions")]
    )
    tables = {}
    for as_published in (False, True):
        result = replace(
            found.results[0],
            primary="zorb_acc@1",
            metrics={"zorb_acc@1": 0.5},
            headline={"acc@1": "zorb_acc@1"},
            settings=found.results[0].settings | {"as_published": as_published},
        )
        tables[as_published] = markdown("Results", tables_of([result], {"zorb": linked}))
    assert "| acc@1 | 0.500 | 0.250 |" in tables[True] and "otherwise" not in tables[True]
    assert "0.250" not in tables[False]
    assert (
        "Published figures (Terk 1999, Table 1) are scored in another way: --as-published shows them" in tables[False]
    )


def test_equal_figures_have_no_best_and_a_missing_one_a_dash(tmp_path, benchmark, models):
    twin = table_of_vectors(tmp_path / "twin.npz", 0)
    found, _ = measured(tmp_path, benchmark, [models[0], twin])
    text = markdown("Results", tables_of(found.results, {}))
    assert "**" not in text
    lacking = [found.results[0], type(found.results[1])(**{**vars(found.results[1]), "evaluator": "other"})]
    assert re.search(r"\| zorb_spearman \| [^|]+ \| - \|", markdown("Results", tables_of(lacking, {})))


def test_the_page_holds_what_the_markdown_holds_and_no_markup_of_others(tmp_path, benchmark, models):
    """Would catch a model's name that is read as markup."""
    models[0] = ModelSpec("<b>|one", models[0].model)
    found, _ = measured(tmp_path, benchmark, models)
    tables = tables_of(found.results, {"zorb": benchmark})
    page, text = html_page("Results", tables), markdown("Results", tables)
    assert "&lt;b&gt;|one" in page and "<b>|one" not in page and "<b>\\|one" in text
    numbers = re.findall(r"-?\d\.\d{3}", text)
    assert re.findall(r"-?\d\.\d{3}", page) == numbers and len(numbers) > 6
    assert page.count("class=best") == text.count("**") // 2 > 0


def test_models_are_compared_on_the_same_units(tmp_path, benchmark, models):
    found, folder = measured(tmp_path, benchmark, models)
    (test,) = compare(found.results, "one", folder, n_resamples=50)["zorb_spearman"].values()
    first, second = (result.metrics["zorb_spearman"] for result in found.results)
    assert test.difference == pytest.approx(second - first) and test.n == 6
    table = markdown("Results", [comparison_table("one", {"zorb_spearman": {"two": test}}, n_resamples=99, seed=7)])
    assert "over the same units, 99 draws from seed 7 each." in table
    assert f"| zorb_spearman | {second - first:+.3f} (" in table and "## Difference from one" in table
    with pytest.raises(InputError, match="reference 'three' was not measured; measured were one, two"):
        compare(found.results, "three", folder)


def test_units_that_are_gone_are_logged_and_left_out(tmp_path, benchmark, models, caplog):
    found, folder = measured(tmp_path, benchmark, models)
    next((tmp_path / "out" / "units").glob("*.npz")).unlink()
    assert compare(found.results, "one", folder) == {}
    assert "cannot be read as the units" in caplog.text


# ---------------------------------------------------------------------- files


def test_a_damaged_line_of_results_is_named(tmp_path, benchmark, models):
    """Would catch results that vanish because a line before them is broken."""
    measured(tmp_path, benchmark, models)
    path = tmp_path / "out" / "results.jsonl"
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(InputError, match=r"results\.jsonl:1: is not a result"):
        ResultsFolder(tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, expected a folder for the results"):
        ResultsFolder(tmp_path / "file")
