"""Pairs in another language: they are those of the terminology's names, and count in that language."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evaluation.translate_pairs import main
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import OTHER_LANGUAGES, Benchmark
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology


def test_translated_pairs_do_not_count_as_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Would catch Italian pairs among the English benchmarks of a scorecard."""
    names = {"en": ("flumpa", "gradtha", "zorb"), "it": ("flompa", "gratta", "zorba")}
    terms = [
        Term(f"Z:{i}", name, language=language) for language, both in names.items() for i, name in enumerate(both)
    ]
    Terminology.from_records(terms, SourceInfo("ZORB", "Zorb")).save(tmp_path / "zorb")
    (tmp_path / "pairs.csv").write_text(
        "term1,term2,score\nFlumpa,gradtha,2.5\nflumpa,terk,1\nzorb,flumpa,0\ngradtha,zorb,3\n"
    )
    words = [str(tmp_path / "pairs.csv"), str(tmp_path / "zorb"), "it", str(tmp_path / "zorb_it")]
    monkeypatch.setattr(sys, "argv", ["translate_pairs.py", *words])
    main()
    assert "3 of 4 pairs have both terms in 'it'" in capsys.readouterr().out
    benchmark = Benchmark.read(tmp_path / "zorb_it.yaml")
    (evaluator,) = benchmark.evaluator_settings().evaluators()
    assert evaluator.scores.tolist() == [2.5, 0, 3] and set(evaluator.texts) == set(names["it"])
    assert (benchmark.language, benchmark.family) == ("it", OTHER_LANGUAGES)


def test_prefixes_with_dots_are_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches a second benchmark that overwrites the first, and a folder whose name is not plain YAML."""
    Terminology.from_records(
        [Term(f"Z:{i}", name, language="it") for i, name in enumerate(("flumpa", "zorb", "terk"))],
        SourceInfo("ZORB", "Zorb"),
    ).save(tmp_path / "zorb")
    (tmp_path / "pairs.csv").write_text("term1,term2,score\nflumpa,zorb,2\nzorb,terk,1\nflumpa,terk,3\n")
    for name in ("mayo.en", "mayo.it"):
        words = [str(tmp_path / "pairs.csv"), str(tmp_path / "zorb"), "it", str(tmp_path / "a, b: {c} #d" / name)]
        monkeypatch.setattr(sys, "argv", ["translate_pairs.py", *words])
        main()
    for name in ("mayo.en", "mayo.it"):
        benchmark = Benchmark.read(tmp_path / "a, b: {c} #d" / f"{name}.yaml")
        assert benchmark.name == name and len(benchmark.evaluator_settings().evaluators()[0].scores) == 3


def test_a_benchmark_of_no_pair_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches a file that a script takes for done, and whose correlation cannot be measured."""
    Terminology.from_records([Term("Z:1", "flumpa", language="it")], SourceInfo("ZORB", "Zorb")).save(
        tmp_path / "zorb"
    )
    (tmp_path / "pairs.csv").write_text("term1,term2,score\nflumpa,zorb,2\nzorb,terk,1\nflumpa,terk,3\n")
    words = [str(tmp_path / "pairs.csv"), str(tmp_path / "zorb"), "it", str(tmp_path / "zorb_it")]
    monkeypatch.setattr(sys, "argv", ["translate_pairs.py", *words])
    with pytest.raises(InputError, match=r"pairs.csv: 0 of 3 pairs have both terms in 'it', expected 3 or more"):
        main()
    assert not (tmp_path / "zorb_it.yaml").exists()
