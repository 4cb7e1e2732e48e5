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
    assert "a picture is written as .png" in refused("picture", "pairs", "nowhere", "m", "-o", tmp_path / "a.pdf")
    words = ("picture", "concepts", "nowhere", "m", "m", "-o", tmp_path / "a.png")
    assert "each is drawn once, found m m" in refused(*words)
