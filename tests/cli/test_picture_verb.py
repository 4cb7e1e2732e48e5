"""``st-biomed picture``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.leaderboard.results import Result, ResultsFolder


@pytest.mark.long
def test_both_pictures_are_drawn(run: Callable, tiny_bert_folder: Path, toy_folder: Path, tmp_path: Path):
    options = ("--concepts", 3, "--names", 2)
    result = run("picture", "concepts", toy_folder, tiny_bert_folder, "-o", tmp_path / "map.png", *options)
    assert result.exit_code == 0, result.output
    assert "6 names of 3 concepts" in result.stdout
    options = ("--batches", 1, "--batch-size", 8)
    result = run("picture", "pairs", toy_folder, tiny_bert_folder, "-o", tmp_path / "pairs.png", *options)
    assert result.exit_code == 0, result.output
    assert "overlap of positives and negatives: sampled" in result.stdout
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in ("map", "pairs"))


def test_bad_words_end_in_one_line_before_anything_is_read(refused: Callable[..., str], tmp_path: Path):
    assert "a picture is written as .png or .svg" in refused(
        "picture", "pairs", "nowhere", "m", "-o", tmp_path / "a.pdf"
    )
    words = ("picture", "concepts", "nowhere", "m", "m", "-o", tmp_path / "a.png")
    assert "each model may be given once, found m m" in refused(*words)


def test_a_device_that_is_not_there_is_one_line(refused: Callable[..., str], toy_folder: Path, tmp_path: Path):
    words = ("picture", "concepts", toy_folder, "m", "-o", tmp_path / "a.png", "--device", "gpu")
    assert "device 'gpu' is not available" in refused(*words, "--concepts", 3, "--names", 2)


def linked(model: str, digest: str, *, as_published: bool) -> Result:
    settings = {"as_published": as_published, "n_bootstrap": 0, "bootstrap_seed": 0}
    return Result("zorb", "zorb", model, digest, settings, {"zorb_acc@1": 0.5}, "zorb_acc@1", {})


def test_what_may_not_stand_side_by_side_is_left_out_and_said(
    run: Callable, refused: Callable[..., str], tmp_path: Path
):
    """Would catch one marker for two models, and scores as published among sound ones."""
    folder = ResultsFolder(tmp_path / "out")
    words = ("picture", "results", tmp_path / "out", "-o", tmp_path / "a.svg")
    folder.add(linked("one", "old", as_published=True), {})
    assert "none of 1 results was scored soundly; --as-published draws those" in refused(*words)
    folder.add(linked("one", "old", as_published=False), {})
    folder.add(linked("one", "new", as_published=False), {})
    result = run(*words)
    assert result.exit_code == 0 and "1 results drawn" in result.stdout
    assert result.stderr == "one: 1 result of another model of this name (digest old) left out, shown is new.\n"
    assert "1 results drawn" in run(*words, "--as-published").stdout
    sound = ResultsFolder(tmp_path / "sound")
    sound.add(linked("one", "old", as_published=False), {})
    words = ("picture", "results", tmp_path / "sound", "-o", tmp_path / "a.svg", "--as-published")
    assert "none of 1 results was scored as published; `st-biomed evaluate --as-published` does" in refused(*words)


@pytest.mark.long
def test_measurements_are_drawn_from_their_folder(
    run: Callable, refused: Callable[..., str], tiny_bert_folder: Path, toy_folder: Path, tmp_path: Path
):
    out = tmp_path / "out"
    assert "holds no results" in refused("picture", "results", out, "-o", tmp_path / "a.png")
    words = ("-t", toy_folder, "--pairs-per-class", 10, "--n-bootstrap", 5, "-o", out)
    assert run("evaluate", f"bert={tiny_bert_folder}", *words).exit_code == 0
    for command in ("results", "curves", "distances"):
        result = run("picture", command, out, "-o", tmp_path / f"{command}.svg")
        assert result.exit_code == 0 and f"{command}.svg" in result.stdout, result.output
        assert (tmp_path / f"{command}.svg").read_text("utf-8").startswith("<?xml")
    drawn = ("picture", "results", out, "-o", tmp_path / "a.png", "--model", "bert", "-b", "tree", "--height", 4)
    assert run(*drawn, "--width", 5).exit_code == 0
    assert run(*drawn, "--as-published").exit_code == 0  # a tree is scored in one way
    assert "no result of a benchmark 'tree_': did you mean 'tree'" in refused(
        "picture", "results", out, "-o", tmp_path / "a.png", "-b", "tree_"
    )
    wrong = ("picture", "curves", out, "-o", tmp_path / "a.png", "--evaluator", "zorb")
    assert "--evaluator: one of tree is needed, found 'zorb'" in refused(*wrong)
    assert "results of one MCSM evaluator are needed, found none" in refused("picture", "types", out, "-o", "a.png")
