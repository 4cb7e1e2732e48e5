"""``st-biomed mentions``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets import load_from_disk

from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import terminology_digest


@pytest.fixture
def text(tmp_path: Path, toy_folder: Path) -> Path:
    names = Terminology.load(toy_folder).strings[:6]
    path = tmp_path / "text.txt"
    path.write_text("".join(f"uno due {name} lus\n" for name in names * 3), encoding="utf-8")
    return path


def test_contexts_are_saved_with_the_coverage(run: Callable, toy_folder: Path, text: Path, tmp_path: Path) -> None:
    result = run("mentions", toy_folder, text, "-o", tmp_path / "out", "--language", "en", "--per-term", 2)
    assert result.exit_code == 0, result.output
    dataset = load_from_disk(str(tmp_path / "out"))
    assert len(dataset) == 12 and dataset["text"][0].startswith("uno due [Ms] ")
    assert terminology_digest(dataset) == Terminology.load(toy_folder).digest
    coverage = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert (coverage["mentions"], coverage["rows"], coverage["terms_found"]) == (18, 12, 6)
    assert "documents: 18 read, 18 kept, 0 dropped" in result.stdout and "\n6 of 7" in result.stdout
    assert "\ncommonest: " in result.stdout and len(coverage["commonest"]) == 6


def test_sequences_and_stop_words(
    run: Callable, toy_folder: Path, text: Path, tmp_path: Path, tiny_bert_folder: Path
) -> None:
    """Catches a tokenizer that is not passed on, and a list of stop words that nobody reads."""
    stop = tmp_path / "stop.txt"
    stop.write_text(Terminology.load(toy_folder).strings[0] + "\n", encoding="utf-8")
    words = ["mentions", toy_folder, text, "-o", tmp_path / "out", "--sequences", 64, "--stop-words", stop]
    assert run(*words).exit_code == 0
    dataset = load_from_disk(str(tmp_path / "out"))
    assert len(dataset) == 18 and not any(0 in texts for texts in dataset["texts"])
    words = ["mentions", toy_folder, text, "-o", tmp_path / "pieces", "--window", 9, "--tokenizer", tiny_bert_folder]
    assert run(*words).exit_code == 0
    assert any(row.startswith(("due [Ms]", "[Ms]")) for row in load_from_disk(str(words[4]))["text"])


def test_what_is_refused(refused: Callable[..., str], run: Callable, toy_folder: Path, text: Path, tmp_path: Path):
    output = tmp_path / "out"
    assert "no such file or folder" in refused("mentions", toy_folder, tmp_path / "nowhere.txt", "-o", output)
    assert "unknown language of the terms 'xx'" in refused(
        "mentions", toy_folder, text, "-o", output, "--language", "xx"
    )
    assert "cannot be combined with --per-term" in refused(
        "mentions", toy_folder, text, "-o", output, "--sequences", 9, "--per-term", 1
    )
    (tmp_path / "empty.txt").write_text(" \n")
    assert "no document with text in" in refused("mentions", toy_folder, tmp_path / "empty.txt", "-o", output)
    assert "has no coverage.json" in refused("mentions", toy_folder, text, "-o", toy_folder)
    assert not output.exists() and not list(tmp_path.glob(".out.*"))
    assert run("mentions", toy_folder, text, "-o", output).exit_code == 0
    assert "or replace it with --overwrite" in refused("mentions", toy_folder, text, "-o", output)
