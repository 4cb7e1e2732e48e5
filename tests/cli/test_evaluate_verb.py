"""``st-biomed evaluate``."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest


def words(toy_folder: Path, model: Path) -> tuple[object, ...]:
    return ("evaluate", model, toy_folder, "--pairs-per-class", 20)


def test_the_six_aucs_of_a_saved_terminology_are_printed(
    run: Callable, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    result = run(*words(toy_folder, tiny_bert_folder), "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    rows = [line.split()[0] for line in result.stdout.splitlines()]
    assert rows == ["model", "0v1", "0v2", "0v3", "1v2", "1v3", "2v3", "mean", "spearman", "pairs:"]
    (table,) = (tmp_path / "out").glob("*.csv")
    with table.open(newline="") as lines:
        assert 0 < float(next(csv.DictReader(lines))["mean_auc"]) < 1


def test_the_same_seed_prints_the_same_table(run: Callable, toy_folder: Path, tiny_bert_folder: Path) -> None:
    """Catches pairs drawn from a set or a global random state."""
    first = run(*words(toy_folder, tiny_bert_folder), "--seed", 3).stdout
    assert run(*words(toy_folder, tiny_bert_folder), "--seed", 3).stdout == first
    assert run(*words(toy_folder, tiny_bert_folder), "--seed", 4).stdout != first


def test_a_file_of_pairs_takes_the_place_of_a_terminology(
    run: Callable, refused: Callable[..., str], tiny_bert_folder: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0||flumpa disease||disease of the flumpa\n1||flumpa disease||gradtha disease\n")
    result = run("evaluate", tiny_bert_folder, "--pairs", pairs)
    assert result.exit_code == 0, result.output
    assert "0v1" in result.stdout
    pairs.write_text("0||a||b\n1|a|b\n")
    assert f"{pairs}:2: expected distance||term||term" in refused("evaluate", tiny_bert_folder, "--pairs", pairs)
    assert "needs a terminology or --pairs FILE, and not both" in refused("evaluate", tiny_bert_folder)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ("A,B\nB,C\nC,A\n", "cycle in the hierarchy, child to parent: map:A -> "),
        ("A,B\nA,C\n", "no concept has a synonym, so no pair is at distance 0"),
        (None, "no concept has a parent, the hierarchy is empty"),
    ],
)
def test_a_terminology_without_usable_hierarchy_ends_in_one_line(
    run: Callable, refused: Callable[..., str], tmp_path: Path, parents: str | None, message: str
) -> None:
    """Catches a cycle that is not named, and a division by the pairs there are not."""
    (tmp_path / "names.txt").write_text("A||a\nB||b\nC||c\n")
    (tmp_path / "map.csv").write_text(f"parent,child\n{parents}")
    path = ("map.csv", "--option", f"strings={tmp_path / 'names.txt'}") if parents else ("names.txt",)
    read = run("read", "parent_child", tmp_path / path[0], *path[1:], "-o", tmp_path / "t")
    assert read.exit_code == 0, read.output
    assert message in refused("evaluate", "unread-model", tmp_path / "t")


def test_a_model_that_is_not_there_says_what_to_do(
    refused: Callable[..., str], toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline: the error names the ways out. A folder without a model is told from a model on the Hub."""
    line = refused("evaluate", "no-such-organisation/no-such-model", toy_folder)
    assert "give a local folder, unset HF_HUB_OFFLINE" in line
    assert "the folder has neither modules.json nor config.json" in refused("evaluate", toy_folder, toy_folder)
    assert "no such folder, and no reader" in refused("evaluate", "any-model", tmp_path / "nowhere")
