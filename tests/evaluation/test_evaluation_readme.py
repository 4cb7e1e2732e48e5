"""evaluation/README.md: its tables are those of the files, its names those of the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import st_biomed.evaluators
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.linking_data.preparation import STEPS

FOLDER = Path(__file__).parents[2] / "evaluation"
TEXT = (FOLDER / "README.md").read_text("utf-8")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.delitem(sys.modules, "tables", raising=False)
    import tables

    return tables


def test_the_tables_are_those_of_the_files(tables):
    assert tables.renewed(TEXT) == TEXT, "python evaluation/tables.py renews them"
    assert TEXT.count("(benchmarks/") == len(list((FOLDER / "benchmarks").glob("*.yaml"))) > 15


def test_the_benchmark_it_shows_is_one(tmp_path: Path):
    mine, wards = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "mine.yaml").write_text(mine)
    assert Benchmark.read(tmp_path / "mine.yaml").published[0].metric == "mine_spearman"
    (tmp_path / "wards.yaml").write_text(wards)
    assert Benchmark.read(tmp_path / "wards.yaml").evaluator_settings().dev == ""


def test_the_steps_it_names_are_those_there_are():
    assert set(re.findall(r"`(\w+)`", TEXT[TEXT.index("steps `") : TEXT.index("applied in their order")])) == set(
        STEPS
    )


def test_the_primary_metrics_are_those_of_the_classes():
    """Would catch a name that training is told to choose the best checkpoint by, and that is not there."""
    rows = re.findall(r"^\| `(\w+Evaluator)` \| `<name>_(.+?)` \|", TEXT, re.MULTILINE)
    classes = {name for name in st_biomed.evaluators.__all__ if name.endswith("Evaluator")} - {
        "EmbeddingEvaluator",
        "SharedEvaluator",
    }
    assert {name for name, _ in rows} == classes
    for name, metric in rows:
        module = sys.modules[getattr(st_biomed.evaluators, name).__module__]
        assert f'primary="{metric}"' in Path(module.__file__).read_text("utf-8")


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("http") or (FOLDER / target).exists(), target
