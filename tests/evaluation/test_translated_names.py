"""Benchmarks of translated names: each counts in its language."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evaluation.translated_names import main, write
from st_biomed.evaluators.benchmark import OTHER_LANGUAGES, Benchmark
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology


def test_the_benchmarks_are_written_into_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch a stack trace on a clean machine, after the terminology is united."""
    words = {"en": "flumpa", "it": "flumpi"}
    records = [Term(f"S:{c:03}", f"{word} {c}", "preferred", lang) for c in range(110) for lang, word in words.items()]
    Terminology.from_records(records, SourceInfo("S", "S")).save(tmp_path / "all")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "all"), "S:", "5", str(tmp_path / "new" / "out"), "it"])
    main()
    settings = Benchmark.read(tmp_path / "new" / "out" / "translations-it.yaml").evaluator_settings()
    assert len(settings.open().split("all")) == 5
    assert Terminology.open(tmp_path / "new" / "out" / "train").n_texts == 2 * 110 - 105


def test_names_in_all_languages_do_not_count_as_english(tmp_path: Path):
    """Would catch linking of names in six languages among the English benchmarks of a scorecard."""
    write(tmp_path, "translations", "all languages", ["flumpa\tX1\n"])
    write(tmp_path, "translations-it", "'it'", ["flumpa\tX1\n"], "it")
    every, italian = (Benchmark.read(tmp_path / f"translations{end}.yaml") for end in ("", "-it"))
    assert (every.language, every.family, italian.language) == ("mul", OTHER_LANGUAGES, "it")
