"""Signs of life: a line now and then of what takes long, none of what does not."""

from __future__ import annotations

import threading
import time
from itertools import takewhile
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.leaderboard import run
from st_biomed.leaderboard.models import ModelSpec
from st_biomed.leaderboard.progress import ProgressLines, moments
from st_biomed.leaderboard.results import ResultsFolder


class Lines(list):
    """What was said, and a way to wait until there is so much."""

    def wait_for(self, number: int) -> None:
        until = time.monotonic() + 30
        while len(self) < number and time.monotonic() < until:
            time.sleep(0.005)


def test_what_takes_long_is_told_now_and_then(tiny_bert: SentenceTransformer):
    """Would catch texts that are counted by calls, and a hook that stays behind."""
    lines = Lines()
    before = len(tiny_bert[-1]._forward_hooks)
    with ProgressLines(lines.append, every=0.02).of("one, zorb", tiny_bert, most=9):
        tiny_bert.encode([f"flumpa {i}" for i in range(7)], batch_size=2, show_progress_bar=False)
        lines.wait_for(len(lines) + 2)
    assert lines[-1].startswith("one, zorb: ") and lines[-1].endswith(" s, 7 of at most 9 texts embedded")
    assert len(tiny_bert[-1]._forward_hooks) == before
    n_lines = len(lines)
    tiny_bert.encode(["terkia"], show_progress_bar=False)
    time.sleep(0.05)
    assert len(lines) == n_lines and threading.active_count() < 20


def test_what_is_short_says_nothing():
    lines = Lines()
    with ProgressLines(lines.append).of("zorb: reading its data"):
        pass
    with ProgressLines(None, every=0.001).of("zorb: reading its data"):
        time.sleep(0.02)
    assert lines == []


def test_lines_become_rarer():
    """Would catch a log of a thousand lines of a benchmark that takes a night."""
    due = list(takewhile(lambda after: after < 8 * 3600, moments(30.0)))
    assert due[:11] == [30.0 * i for i in range(1, 12)] and len(due) < 70
    assert due[-1] - due[-2] > 1800


def test_an_error_ends_the_lines():
    """Would catch a thread that talks on."""
    lines = Lines()
    with pytest.raises(KeyError), ProgressLines(lines.append, every=0.01).of("zorb"):
        lines.wait_for(3)
        raise KeyError
    n_lines = len(lines)
    time.sleep(0.05)
    assert len(lines) == n_lines >= 3 and all(line.startswith("zorb: ") for line in lines)


def test_a_long_benchmark_is_seen_in_a_log(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch a run that is silent until its first result, off a terminal."""
    (tmp_path / "x.csv").write_text("term1,term2,score\na,b,1\nc,d,2\ne,f,3\n")
    benchmark = Benchmark("zorb", "relatedness", {"path": str(tmp_path / "x.csv")})
    lines = Lines()
    monkeypatch.setattr(run, "ProgressLines", lambda say: ProgressLines(say, every=0.01))
    measured = run.LoadedModel.measure

    def slow(self, evaluator):
        found = measured(self, evaluator)
        lines.wait_for(len(lines) + 2)
        return found

    monkeypatch.setattr(run.LoadedModel, "measure", slow)
    models = [ModelSpec("one", str(tiny_bert_folder))]
    run.measure(models, [benchmark], ResultsFolder(tmp_path / "out"), progress=lines.append, signs_of_life=True)
    assert any(line.startswith("one, zorb: ") and "6 of at most 6 texts embedded" in line for line in lines)
    assert "spearman" in lines[-1]
