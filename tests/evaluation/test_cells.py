"""The report on the cells of an experiment: differences of seeds that belong together, with their interval."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evaluation.cells import _drawn, figures, figures_of_graphs, figures_of_trials, main, report
from evaluation.trial_lines import write
from st_biomed.errors import InputError
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.metrics import Units, compare_means


def results(**cells: list[float]) -> list[Result]:
    return [
        Result("b", "b", f"{cell}-{seed}", "x", {}, {"b_acc@1": value, "b_acc@5": 1.0}, "b_acc@1", {})
        for cell, values in cells.items()
        for seed, value in enumerate(values)
    ]


def test_seeds_are_compared_in_pairs():
    """By hand: differences .1, .1, .1 have no spread though the seeds differ; catches intervals of unpaired seeds."""
    text = report(figures(results(text=[0.1, 0.5, 0.9], stated=[0.2, 0.6, 1.0], shuffled=[0.4, 0.5, 0.6])), "text")
    assert "| stated | 3 | 0.600 | +0.100 (+0.100 to +0.100) |" in text
    assert "| text | 3 | 0.500 |  |" in text
    assert re.search(r"\| shuffled \| 3 \| 0\.500 \| \+0\.000 \(-0\.745 to \+0\.745\) \|", text), text
    assert text.index("stated") < text.index("shuffled") and "acc@5" not in text


def test_a_seed_that_the_reference_lacks_does_not_count():
    found = figures([*results(text=[0.1, 0.2], stated=[0.2, 0.3, 0.9]), *results(base=[0.5])[:0]])
    assert "| stated | 2 | 0.250 | +0.100 (+0.100 to +0.100) |" in report(found, "text")


def test_a_cell_of_one_seed_or_none_does_not_hold_up_the_others():
    """Catches a report that waits for the last training, and an interval of one seed."""
    found = figures([*results(text=[0.1, 0.2], stated=[0.2]), *results(other=[0.3] * 5)[3:]])
    text = report(found, "text")
    assert "| stated | 1 | 0.200 | +0.100 (one seed) |" in text and "| other | 0 | - | no seed of text |" in text


def test_a_model_without_a_seed_stands_for_each():
    """Catches a base model that no cell can be compared with."""
    base = [replace(result, model="base") for result in results(base=[0.1])]
    other = [replace(result, model="released", primary="b_acc@5") for result in results(released=[0.4])]
    found = figures([*base, *other, *results(text=[0.2, 0.3])], reference="base")
    assert found == {"b_acc@1": {"text": {0: 0.2, 1: 0.3}, "base": {None: 0.1}}}
    text = report(found, "base")
    assert "| text | 2 | 0.250 | +0.150 (-0.485 to +0.785) |" in text and "| base | - | 0.100 |  |" in text
    two = report({"acc": {"base": {None: 0.1}, "control": {None: 0.3}, "text": {0: 0.2, 1: 0.3}}}, "base")
    assert "| control | - | 0.300 | +0.200 (one seed) |" in two


def test_results_of_other_settings_are_left_out_and_said(tmp_path, monkeypatch):
    """Catches differences between a cell that was measured on other mentions and the reference."""
    folder, output = ResultsFolder(tmp_path), tmp_path / "report.md"
    old, new = results(text=[0.9, 0.9], stated=[0.9]), results(text=[0.1, 0.2], stated=[0.2, 0.3])
    for result in [*old, *(replace(result, settings={"depth": 5}) for result in new)]:
        folder.add(result, {})
    for result in old[1:]:
        folder.add(result)  # asked for again, later than the new ones
    folder.add(replace(new[0], settings={"depth": 5}))
    monkeypatch.setattr("sys.argv", ["cells.py", str(tmp_path), "-o", str(output)])
    main()
    text = output.read_text("utf-8")
    assert "| stated | 2 | 0.250 | +0.100 (+0.100 to +0.100) |" in text
    assert "3 results with other settings left out" in text


def write_trials(file: Path, *rows: tuple[str, float, float]) -> str:
    lines = [{"trial": trial, "share": share, "acc": value, "time": "10:00:00"} for trial, share, value in rows]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def test_trials_are_cells_by_their_share(tmp_path, monkeypatch):
    """Catches two shares of a trial that are one cell, a time that is a figure, and a base or control without seeds."""
    parts = write_trials(
        tmp_path / "parts", ("base", 0.0, 0.1), ("all-0", 0.8, 0.2), ("all-0", 1.0, 0.4), ("all-1", 0.8, 0.3)
    )
    controls = write_trials(
        tmp_path / "controls",
        ("base", 0.0, 0.1),
        ("shuffled-1", 0.8, 0.2),
        ("cut-off", 0.0, 0.9),
        ("mild", 1.0, 0.9),
        ("mild", 0.5, 0.7),
    )
    found, notes = figures_of_trials([Path(parts), Path(controls)])
    assert notes == [] and found == {
        "acc": {
            "base": {None: 0.1},
            "all 0.8": {0: 0.2, 1: 0.3},
            "all 1": {0: 0.4},
            "shuffled 0.8": {1: 0.2},
            "cut-off": {None: 0.9},
            "mild 1": {None: 0.9},
            "mild 0.5": {None: 0.7},
        }
    }
    given = ["cells.py", parts, controls, "--reference", "all 0.8", "-o", str(tmp_path / "report.md")]
    monkeypatch.setattr("sys.argv", given)
    main()
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| base | - | 0.100 | -0.150" in text and "| shuffled 0.8 | 1 | 0.200 | -0.100 (one seed) |" in text


def test_a_file_without_trials_is_one_line(tmp_path, monkeypatch):
    """Catches a traceback for a file of results in place of their folder, and for an empty one."""
    file = tmp_path / "results.jsonl"
    monkeypatch.setattr("sys.argv", ["cells.py", str(file), "-o", str(tmp_path / "report.md")])
    for text, message in (
        ("", "has no line of a trial"),
        ('{"trial": "a", "sha\n{"trial": "a", "share": 1}\n', "results.jsonl:1: expected a line of a trial"),
        ("3\n", "results.jsonl:1: expected a line of a trial, found '3'"),
        ('{"trial": "a"}\n', "results.jsonl:1: expected a line of a trial"),
        ('{"model": "a"}\n', r"results.jsonl:1: expected a line of a trial, found '{\"model\": \"a\"}'"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            main()


def test_a_folder_and_a_file_are_not_one_experiment(tmp_path, monkeypatch):
    file = write_trials(tmp_path / "trials", ("all-0", 1.0, 0.4))
    monkeypatch.setattr("sys.argv", ["cells.py", file, str(tmp_path), "-o", str(tmp_path / "report.md")])
    with pytest.raises(InputError, match="expected one folder of results, or files of trials, found"):
        main()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({}, "no model of the folder is named CELL-SEED"),
        ({"stated": [0.1, 0.2]}, "reference 'text' was not measured; there are stated"),
    ],
)
def test_what_cannot_be_compared_is_one_line(cells: dict[str, list[float]], message: str):
    with pytest.raises(InputError, match=message):
        report(figures(results(**cells)), "text")


def test_a_metric_that_the_reference_lacks_is_named_and_holds_up_no_other():
    """Catches a report that one benchmark of other cells ends."""
    found = {"acc": {"text": {0: 0.1}, "stated": {0: 0.3}}, "auc": {"stated": {0: 0.5}}}
    text = report(found, "text")
    assert "| stated | 1 | 0.300 | +0.200 (one seed) |" in text and "## auc" not in text
    assert text.endswith("Without a table, since text was not measured by it: auc.\n")


def test_other_metrics_are_taken_where_an_evaluator_has_them():
    """Catches the PR-AUC of clustering, which no table of primary metrics has."""
    found = figures(results(text=[0.1, 0.2]), also=["acc@5", "pr_auc"])
    assert found == {"b_acc@1": {"text": {0: 0.1, 1: 0.2}}, "b_acc@5": {"text": {0: 1.0, 1: 1.0}}}


def test_models_without_a_seed_alone_are_no_cells():
    assert not figures([Result("b", "b", "base", "x", {}, {"b_acc@1": 0.5}, "b_acc@1", {})])


def test_trials_of_another_terminology_are_left_out_and_said(tmp_path, monkeypatch):
    """Catches cells of before that are compared with a reference that was measured anew; another file may have another."""
    parts, controls = tmp_path / "parts.jsonl", tmp_path / "controls.jsonl"
    lines = [("all-0", "a", 0.9), ("old-0", "a", 0.8), ("base", "b", 0.1), ("new-0", "b", 0.3), ("all-0", "b", 0.2)]
    for file, of in ((parts, lines), (controls, [("shuffled-0", "c", 0.1)])):
        for trial, common, value in of:
            write(file, trial, 0.8, {"acc": value}, common=common)
    output = tmp_path / "report.md"
    given = ["cells.py", str(parts), str(controls), "--reference", "all 0.8", "-o", str(output)]
    monkeypatch.setattr("sys.argv", given)
    main()
    text = output.read_text("utf-8")
    assert "| new 0.8 | 1 | 0.300 | +0.100 (one seed) |" in text and "| shuffled 0.8 | 1 | 0.100 |" in text
    assert "| old" not in text
    assert f"Left out, made with another configuration or terminology: old-0 of {parts}." in text


def test_differences_over_units_are_those_of_the_seeds_together(tmp_path, monkeypatch):
    """Catches a test of one seed alone, of another metric, and of a cell without the units of every seed."""
    rng = np.random.default_rng(0)
    folder, hits = ResultsFolder(tmp_path), {}
    for result in results(text=[0.0] * 2, better=[0.0] * 2, half=[0.0] * 2):
        hits[result.model] = Units("mention", rng.random(200) < (0.9 if "better" in result.model else 0.5))
        metrics = {"b_acc@1": hits[result.model].value, "b_acc@5": 1.0}
        if result.model == "text-1":
            folder.add(
                replace(result, model="other-1", metrics={"b_acc@1": 0.5}), {"acc@1": Units("mention", np.ones(3))}
            )
        without = result.model == "half-1"
        folder.add(replace(result, metrics=metrics), None if without else {"acc@1": hits[result.model]})
    output = tmp_path / "report.md"
    monkeypatch.setattr("sys.argv", ["cells.py", str(tmp_path), "-o", str(output), "--resamples", "200"])
    main()
    text = output.read_text("utf-8")
    test = compare_means(
        *([hits[f"{cell}-{seed}"] for seed in range(2)] for cell in ("better", "text")), n_resamples=200
    )
    row = next(line for line in text.splitlines() if line.startswith("| better"))
    assert row.endswith(f"| {test.low:+.3f} to {test.high:+.3f} | {test.p_value:.3f} |") and test.p_value < 0.01
    assert "| difference from text | over units (mention) | p over units |" in text
    assert re.search(r"\| half \| 2 \| .* \|  \|  \|", text), text
    assert re.search(r"\| other \| 1 \| .* \|  \|  \|", text), "a cell on other mentions"
    (tmp_path / "units" / folder.results[0].units_file).unlink()  # that of text-0
    main()
    assert "| better | 2 |" in output.read_text("utf-8") and "over units" not in output.read_text("utf-8")


@pytest.mark.parametrize(
    ("settings", "clusters", "named"),
    [
        ({"resampling": "sub-trees"}, None, "sub-trees"),
        ({}, ["a", "b"], "pair, drawn in clusters"),
        ({}, None, "pair"),
    ],
)
def test_what_is_drawn_has_its_name(settings: dict[str, str], clusters: list[str] | None, named: str):
    """Catches a test over whole sub-trees that a table calls one over pairs."""
    units = Units("pair", np.ones(2), clusters=None if clusters is None else np.array(clusters))
    assert _drawn(SimpleNamespace(settings=settings), units) == named


def test_graph_embeddings_are_cells_with_the_seed_of_their_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By hand: differences .2 and .4; catches seeds by the order of the files."""
    files = []
    for place, (seed, transe, complex_) in enumerate([(7, 0.1, 0.3), (3, 0.2, 0.6)]):
        models = {name: {"settings": {"seed": seed}} for name in ("transe", "complex")}
        results = {
            name: {"filtered_mrr": mrr, "filtered_head_mrr": 0.5, "x_mcsm": 2 * mrr}
            for name, mrr in (("transe", transe), ("complex", complex_))
        }
        files.append(tmp_path / f"{place}" / "results.json")
        files[-1].parent.mkdir()
        files[-1].write_text(json.dumps({"models": models, "results": results}))
    output = tmp_path / "report.md"
    given = ["--reference", "transe", "--also", "x_mcsm", "mscm", "-o", str(output)]
    monkeypatch.setattr("sys.argv", ["cells", *map(str, reversed(files)), *given])
    main()
    text = output.read_text()
    assert "| complex | 2 | 0.450 | +0.300 (-0.971 to +1.571) |" in text and "head" not in text
    assert "## x_mcsm" in text and "| transe | 2 | 0.300 |  |" in text
    assert text.endswith("\n\nNo result has the metric mscm.\n") and text.count("No result has") == 1
    assert set(figures_of_graphs(files)["filtered_mrr"]["complex"]) == {7, 3}


@pytest.mark.parametrize("content", ["{}", "not JSON", '{"models": {"transe": {"settings": {}}}, "results": {}}'])
def test_another_file_than_results_of_graphs_is_one_line(tmp_path: Path, content: str):
    file = tmp_path / "results.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"results\.json: expected the results of recipes/kge\.py"):
        figures_of_graphs([file])


def test_a_name_that_cannot_be_written_again_is_no_seed():
    """Catches units that are looked for under another name, and digits that are no number."""
    found = figures(
        [replace(one, model=name) for one, name in zip(results(a=[0.1, 0.2, 0.3]), ("a-00", "a-²", "a-3"))]
    )
    assert found == {"b_acc@1": {"a": {3: 0.3}}}
