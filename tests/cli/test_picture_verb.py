"""``st-biomed picture``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


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
    assert "each is drawn once, found m m" in refused(*words)


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
    wrong = ("picture", "curves", out, "-o", tmp_path / "a.png", "--evaluator", "zorb")
    assert "--evaluator: one of tree is needed, found 'zorb'" in refused(*wrong)
    assert "results of one MCSM evaluator are needed, found none" in refused("picture", "types", out, "-o", "a.png")
