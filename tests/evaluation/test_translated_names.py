"""Benchmarks of translated names: each counts in its language."""

from __future__ import annotations

from pathlib import Path

from evaluation.translated_names import write
from st_biomed.evaluators.benchmark import OTHER_LANGUAGES, Benchmark


def test_names_in_all_languages_do_not_count_as_english(tmp_path: Path):
    """Would catch linking of names in six languages among the English benchmarks of a scorecard."""
    write(tmp_path, "translations", "all languages", ["flumpa\tX1\n"])
    write(tmp_path, "translations-it", "'it'", ["flumpa\tX1\n"], "it")
    every, italian = (Benchmark.read(tmp_path / f"translations{end}.yaml") for end in ("", "-it"))
    assert (every.language, every.family, italian.language) == ("mul", OTHER_LANGUAGES, "it")
