"""Benchmarks as MTEB tasks: the same figures, where MTEB is installed."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.leaderboard.mteb_tasks import LANGUAGES, mteb_tasks, right_names

HAS_MTEB = importlib.util.find_spec("mteb") is not None
needs_mteb = pytest.mark.skipif(not HAS_MTEB, reason="mteb is not installed: pip install 'st-biomed[mteb]'")
LINKING = Path(__file__).parents[1] / "fixtures" / "linking" / "ncbi_disease"


@pytest.fixture
def linking() -> Benchmark:
    steps = {"split_composites": {}, "lower_case": {}, "merge_names": {}}
    settings = {
        "format": "ncbi_disease",
        "path": str(LINKING),
        "dictionary": str(LINKING / "medic.txt"),
        "steps": steps,
    }
    return Benchmark("zorb", "entity_linking", settings, "Zorbs")


@pytest.fixture
def relatedness(tmp_path: Path) -> Benchmark:
    (tmp_path / "pairs.csv").write_text("term1,term2,score\nflumpa,terk,1\nzorb,flumpa,2.5\nterk,gradtha,2\na,b,4\n")
    return Benchmark("pairs", "relatedness", {"path": str(tmp_path / "pairs.csv")})


def test_without_mteb_the_error_says_what_to_install(linking, monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(InputError, match=r"MTEB tasks need mteb: pip install 'st-biomed\[mteb\]'"):
        mteb_tasks(linking)


def test_right_names_are_those_of_any_gold_id(linking):
    """Against a loop over names and ids; would catch a composite mention's parts that lose their gold."""
    evaluator = linking.evaluator_settings().evaluators()[-1]
    queries, names, dictionary = evaluator.queries, evaluator.names, evaluator.dataset.dictionary
    found = right_names(evaluator)
    assert len(found) == len(queries.text_of_part) > 3 and sum(map(len, found)) > 3
    for part, rows in enumerate(found):
        mention = queries.mentions[queries.gold.owner[part]]
        aligned = len(mention.gold) == len(mention.parts)
        gold = mention.gold[queries.gold.part[part]] if aligned else mention.ids
        expected = {names.texts.index(name.lower()) for name, ids in dictionary.entries() if gold & set(ids)}
        assert set(rows.tolist()) == expected


def test_the_language_is_that_of_the_benchmark(relatedness, monkeypatch):
    """Would catch tasks of Italian or Russian texts that count as English."""
    monkeypatch.setitem(sys.modules, "mteb", ModuleType("mteb"))
    monkeypatch.setattr(
        "st_biomed.leaderboard.mteb_tasks._relatedness", lambda evaluator, benchmark, language: language
    )
    assert mteb_tasks(relatedness) == ["eng-Latn"]
    assert mteb_tasks(replace(relatedness, language="it")) == ["ita-Latn"]
    assert mteb_tasks(relatedness, language="ru") == ["rus-Cyrl"]
    assert {Benchmark.read(path).language for path in benchmark_names().values()} <= LANGUAGES.keys()


def hits_of_names(evaluator: EntityLinkingEvaluator, k: int) -> float:
    """What MTEB counts: the share of queries of which a correct text is among the k texts nearest by the last call."""
    of_parts = [candidates for prediction in evaluator.predictions for candidates in prediction.candidates]
    hits = []
    for candidates, right in zip(of_parts, right_names(evaluator), strict=True):
        nearest = list(dict.fromkeys(candidate.name.lower() for candidate in candidates))[:k]
        hits.append(bool({evaluator.names.texts[row] for row in right} & set(nearest)))
    return sum(hits) / len(hits)


@pytest.mark.parametrize(
    ("steps", "accuracy", "warned"),
    [
        ({}, [0.5, 1], True),
        ({"merge_names": {}}, [0.5, 1], True),
        ({"lower_case": {}, "merge_names": {}}, [0.75, 1], False),
    ],
)
def test_hits_are_the_accuracy_unless_a_name_has_several_entries(
    tmp_path: Path, monkeypatch, caplog, steps: dict[str, Any], accuracy: list[float], warned: bool
):
    """Catches a figure of MTEB that is said to be ours and is above it."""
    (tmp_path / "names.txt").write_text("X1||zorb\nX2||Zorb\nX3||terk\nX4||terkia\n")
    (tmp_path / "test.tsv").write_text("zorb\tX1\nzorb\tX2\nterk\tX3\nterk\tX4\n")
    settings = {"format": "tsv", "path": str(tmp_path), "dictionary": str(tmp_path / "names.txt"), "dev": ""}
    benchmark = Benchmark("zorb", "entity_linking", {**settings, "steps": steps, "raw": False, "ks": [1, 2]}, "Zorbs")
    monkeypatch.setitem(sys.modules, "mteb", ModuleType("mteb"))
    found: list[EntityLinkingEvaluator] = []
    monkeypatch.setattr("st_biomed.leaderboard.mteb_tasks._linking", lambda evaluator, *_: found.append(evaluator))
    mteb_tasks(benchmark)
    (evaluator,) = found
    vectors = {"zorb": [1.0, 0, 0], "terk": [0, 1.0, 0], "terkia": [0, 0.9, 0.1]}
    metrics = evaluator.measure(lambda texts: np.array([vectors[text] for text in texts]))
    assert [metrics["zorb_acc@1"], metrics["zorb_acc@2"]] == accuracy
    assert [hits_of_names(evaluator, k) for k in (1, 2)] == [0.75, 1]
    warning = "zorb: hit_rate_at_k may be above acc@k, since 1 of 3 names have several entries in the dictionary"
    assert (warning in caplog.text) == warned


def measured_by_mteb(model, task, score: str) -> float:
    import mteb

    (result,) = mteb.evaluate(model, [task], cache=None, show_progress_bar=False).task_results
    return result.scores["test"][0][score]


@needs_mteb
def test_mteb_finds_our_correlation(relatedness, tiny_bert):
    (evaluator,) = relatedness.evaluator_settings().evaluators()
    found = measured_by_mteb(tiny_bert, *mteb_tasks(relatedness), "cosine_spearman")
    assert found == pytest.approx(evaluator(tiny_bert)["pairs_spearman"], abs=1e-4)


@needs_mteb
def test_mteb_finds_our_hits(linking, tiny_bert):
    """Would catch queries that MTEB leaves out, documents that are not the dictionary, and another similarity."""
    evaluator = linking.evaluator_settings().evaluators()[-1]
    evaluator(tiny_bert)
    expected = hits_of_names(evaluator, 1)
    found = measured_by_mteb(tiny_bert, mteb_tasks(linking)[-1], "hit_rate_at_1")
    assert found == pytest.approx(expected, abs=1e-4) and 0 < expected < 1


@needs_mteb
def test_what_mteb_has_no_task_for_is_refused(relatedness):
    with pytest.raises(InputError, match="found 'tree'"):
        mteb_tasks(Benchmark("zorb", "tree", {"sources": ["toy"]}))
    with pytest.raises(InputError, match="language must be one of en, it"):
        mteb_tasks(relatedness, language="eng")


def test_a_benchmark_in_folds_is_refused(tmp_path, monkeypatch):
    """Catches a benchmark whose tasks are silently none."""
    monkeypatch.setitem(sys.modules, "mteb", ModuleType("mteb"))
    for fold in (0, 1):
        (tmp_path / f"Z_{fold}").mkdir()
        (tmp_path / f"Z_{fold}" / "test.txt").write_text("X1\tlike aa\n")
        (tmp_path / f"Z_{fold}" / "standard.txt").write_text("X1\taa\nX2\tbb\n")
    options = {"columns": ["id", "mention"], "pattern": "Z_{fold}/{split}.txt", "names": "Z_{fold}/standard.txt"}
    settings = {"format": "folds", "path": str(tmp_path), "options": options, "dev": "", "folds": [0, 1]}
    with pytest.raises(InputError, match="zorb: is a mean over folds, which no MTEB task is; name one fold"):
        mteb_tasks(Benchmark("zorb", "entity_linking", settings, "Zorbs"))
