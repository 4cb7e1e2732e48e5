"""``st-biomed evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def words(toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path) -> list[object]:
    trees = ["--terminology", toy_folder, "--pairs-per-class", 20, "--n-bootstrap", 20]
    return ["evaluate", f"bert={tiny_bert_folder}", *trees, "--output", tmp_path / "out"]


def test_the_six_aucs_of_a_saved_terminology_are_printed_and_written(
    run: Callable, words: list[object], tmp_path: Path
) -> None:
    result = run(*words)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "results.md").read_text()
    assert result.stdout == text + "\n"
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row] == [
        "tree_mean_auc",
        "0v1",
        "0v2",
        "0v3",
        "1v2",
        "1v3",
        "2v3",
        "mean",
        "spearman",
    ]
    assert "class=best" not in (tmp_path / "out" / "results.html").read_text()
    (line,) = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert 0 < json.loads(line)["metrics"]["tree_mean_auc"] < 1


@pytest.mark.parametrize("in_hardware", [True, False])
def test_bf16_is_used_where_the_machine_has_it(
    run: Callable, words: list[object], tmp_path: Path, in_hardware: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches autocast on a processor that multiplies bfloat16 in software, fifty times slower."""
    monkeypatch.setattr("st_biomed.encoder.computes_bf16", lambda device: in_hardware)
    result = run(*words, "--bf16")
    assert result.exit_code == 0, result.output
    assert ("float32 is used" in result.stderr) is not in_hardware
    (line,) = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert json.loads(line)["computation"]["bf16"] is in_hardware


def test_the_same_seed_prints_the_same_table(run: Callable, words: list[object], tmp_path: Path) -> None:
    """Catches pairs drawn from a set or a global random state."""
    first = run(*words, "--seed", 3).stdout
    assert run(*words, "--seed", 3, "-o", tmp_path / "again").stdout == first
    assert run(*words, "--seed", 4).stdout != first


def test_tables_hold_what_other_commands_measured(
    run: Callable, words: list[object], tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Would catch a second command that wipes the first one's rows out of the tables."""
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0||flumpa disease||disease of the flumpa\n1||flumpa disease||gradtha disease\n")
    assert run(*words).exit_code == 0
    ask = ["evaluate", f"other={tiny_bert_folder}", "--pairs", pairs, "-o", tmp_path / "out", "--n-bootstrap", 20]
    second = run(*ask)
    assert second.exit_code == 0 and "tree_mean_auc" not in second.stdout
    text, page = ((tmp_path / "out" / f"results.{kind}").read_text() for kind in ("md", "html"))
    assert "| | other | bert |" in text and "| tree_mean_auc | - | " in text and "tree_mean_auc" in page
    assert "bert and other are the same model." in text
    alone = run(*ask, "--selection")
    assert (tmp_path / "out" / "results.md").read_text() + "\n" == alone.stdout == second.stdout


def test_what_was_measured_otherwise_is_left_out_with_a_note(
    run: Callable, words: list[object], tmp_path: Path
) -> None:
    for seed in (3, 4):
        printed = run(*words, "--seed", seed).stdout
    text = (tmp_path / "out" / "results.md").read_text()
    assert "tree: 1 result with other settings left out (bert); shown: pairs_sha256" in text
    assert printed.splitlines()[4] in text


def test_scores_as_published_have_tables_of_their_own(run: Callable, words: list[object], tmp_path: Path) -> None:
    run(*words)
    before = (tmp_path / "out" / "results.md").read_text()
    assert run(*words, "--as-published").exit_code == 0
    assert (tmp_path / "out" / "results.md").read_text() == before
    assert (tmp_path / "out" / "results_as_published.md").read_text().startswith("# Results, scored as published")


def test_two_models_are_compared(run: Callable, words: list[object], tiny_bert_folder: Path) -> None:
    result = run(*words, f"twin={tiny_bert_folder}")
    assert "## Difference from bert" in result.stdout
    assert "| tree_mean_auc | +0.000 (+0.000 to +0.000), p 1 |" in result.stdout
    assert "twin, tree: kept from an earlier run" in result.stderr


def test_benchmarks_are_named_and_their_data_found_where_one_says(
    run: Callable, refused: Callable[..., str], tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ST_BIOMED_DATA", "")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("term1,term2,score\na,b,1\nc,d,2\ne,f,3\n")
    (tmp_path / "zorb.yaml").write_text(
        "name: zorb\nevaluator: relatedness\ndata: {files: [x.csv], source: the attic}\nsettings: {path: x.csv}\n"
    )
    ask = ["evaluate", tiny_bert_folder, "-b", tmp_path / "zorb.yaml", "-o", tmp_path / "out"]
    lacking = run(*ask)
    assert lacking.exit_code == 2
    assert "not measured: zorb needs x.csv in the folder of data (the attic)" in lacking.stderr
    result = run(*ask, "--data", tmp_path / "data")
    assert result.exit_code == 0 and "| zorb_spearman |" in result.stdout
    assert "--data nowhere: no such folder" in refused(*ask, "--data", "nowhere")
    assert "two benchmarks are called 'tree'" in refused(*ask, "-t", "toy", "-b", own_tree(tmp_path))


def test_a_folder_stands_for_all_its_benchmarks(
    run: Callable, refused: Callable[..., str], tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a folder that is read as one file, and a benchmark that is measured twice since it is named besides."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "x.csv").write_text("term1,term2,score\na,b,1\nc,d,2\ne,f,3\n")
    for name in ("zorb", "terk"):
        settings = f"settings: {{path: {tmp_path / 'x.csv'}}}"
        (mine / f"{name}.yaml").write_text(f"name: {name}\nevaluator: relatedness\n{settings}\n")
    (mine / "notes.txt").write_text("no benchmark")
    ask = ["evaluate", tiny_bert_folder, "-o", tmp_path / "out", "--n-bootstrap", 0]
    result = run(*ask, "-b", mine, "-b", mine / "zorb.yaml")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("| terk_spearman |") < result.stdout.index("| zorb_spearman |")
    assert result.stdout.count("| zorb_spearman |") == 1
    (mine / "broken.yaml").write_text("name: [\n")
    assert f"{mine / 'broken.yaml'}:2: not YAML" in refused(*ask, "-b", mine)
    (tmp_path / "empty").mkdir()
    assert "empty: holds no benchmark (no file ending in .yaml)" in refused(*ask, "-b", tmp_path / "empty")


def own_tree(folder: Path) -> Path:
    (folder / "tree.yaml").write_text("name: tree\nevaluator: tree\nsettings: {sources: [toy]}\n")
    return folder / "tree.yaml"


def test_what_there_is_can_be_listed(run: Callable) -> None:
    listed = run("evaluate", "--list").stdout
    assert "ncbi_disease " in listed and "NCBI disease" in listed and "SapBERT " in listed


def test_a_file_of_pairs_takes_the_place_of_a_terminology(
    run: Callable, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0||flumpa disease||disease of the flumpa\n1||flumpa disease||gradtha disease\n")
    ask = ["evaluate", tiny_bert_folder, "--pairs", pairs, "-o", tmp_path / "out"]
    result = run(*ask)
    assert result.exit_code == 0, result.output
    assert "| 0v1 |" in result.stdout
    pairs.write_text("0||a||b\n1|a|b\n")
    result = run(*ask)
    assert result.exit_code == 2 and f"{pairs}:2: expected distance||term||term" in result.stderr


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ("A,B\nB,C\nC,A\n", "cycle in the hierarchy, child to parent: map:A -> "),
        ("A,B\nA,C\n", "no concept has a synonym, so no pair is at distance 0"),
        (None, "no concept has a parent, the hierarchy is empty"),
    ],
)
def test_a_terminology_without_usable_hierarchy_ends_in_one_line(
    run: Callable, tiny_bert_folder: Path, tmp_path: Path, parents: str | None, message: str
) -> None:
    """Catches a cycle that is not named, and a division by the pairs there are not."""
    (tmp_path / "names.txt").write_text("A||a\nB||b\nC||c\n")
    (tmp_path / "map.csv").write_text(f"parent,child\n{parents}")
    path = ("map.csv", "--option", f"strings={tmp_path / 'names.txt'}") if parents else ("names.txt",)
    read = run("read", "parent_child", tmp_path / path[0], *path[1:], "-o", tmp_path / "t")
    assert read.exit_code == 0, read.output
    result = run("evaluate", tiny_bert_folder, "-t", tmp_path / "t", "-o", tmp_path / "out")
    assert result.exit_code == 2 and message in result.stderr


def test_a_model_that_is_not_there_says_what_to_do(run: Callable, toy_folder: Path, tmp_path: Path) -> None:
    """Offline: the error names the ways out. A folder without a model is told from a model on the Hub."""

    def refusal(model: object, *words: object) -> str:
        result = run("evaluate", model, "-t", toy_folder, "-o", tmp_path / "out", *words)
        assert result.exit_code == 2
        return str(result.stderr)

    assert "give a local folder, unset HF_HUB_OFFLINE" in refusal("no-such-organization/no-such-model")
    assert "the folder has neither modules.json nor config.json" in refusal(toy_folder)
    assert "no model: expected a folder, an id on the Hub, or one of MiniLM" in run("evaluate", "-t", "toy").stderr
    missing = refusal(tmp_path / "nothere")
    assert missing == f"not measured: nothere: {tmp_path / 'nothere'}: no such folder\n"  # once
    assert "did you mean 'SapBERT'" in refusal("Sapbert")


def test_bad_words_end_in_one_line_before_any_model_is_loaded(refused: Callable[..., str]) -> None:
    assert "unknown benchmark 'mayosr': did you mean 'mayosrs'? (" in refused("evaluate", "MiniLM", "-b", "mayosr")
    assert "device 'gpu' is not available; available are cpu" in refused("evaluate", "MiniLM", "--device", "gpu")
