"""Word vectors of open text: what fastText is asked for, and what the factorized PPMI knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

from evaluation import word_vectors_of_text
from st_biomed.errors import InputError
from st_biomed.modules.word_vectors import word_vectors_encoder


class Recorded:
    """A stand-in for gensim's class that keeps what it is given."""

    settings: dict[str, Any]
    rows: list[list[str]]
    epochs: int

    def __init__(self, **settings: Any) -> None:
        Recorded.settings = settings
        self.wv: set[str] = set()

    def build_vocab(self, rows: list[list[str]]) -> None:
        self.wv = {word for row in rows for word in row}

    def train(self, rows: list[list[str]], *, total_examples: int, epochs: int) -> None:
        Recorded.rows, Recorded.epochs = rows, epochs
        assert total_examples == len(rows)


@pytest.fixture
def gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {name: ModuleType(name) for name in ("gensim", "gensim.models", "gensim.models.fasttext")}
    modules["gensim.models"].FastText = Recorded  # type: ignore[attr-defined]
    modules["gensim.models.fasttext"].save_facebook_model = lambda model, path: Path(path).write_text("made")  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)


def graph(path: Path, definitions: list[str]) -> Path:
    nodes = [{"id": f"X_{i}", "meta": {"definition": {"val": text}}} for i, text in enumerate(definitions)]
    path.write_text(json.dumps({"graphs": [{"nodes": nodes}]}), "utf-8")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["word_vectors_of_text.py", *map(str, arguments)])
    word_vectors_of_text.main()


def test_fasttext_has_the_settings_of_the_papers(gensim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    """Fivez et al. 2021 (3.1): 300 dimensions. Bojanowski et al. 2017 (3.2, 4.2): the others. Catches words beyond a line
    that are dropped."""
    long = " ".join(f"w{i}" for i in range(2100))
    run(monkeypatch, tmp_path / "text.bin", graph(tmp_path / "x.json", ["A Heart attack.", long]))
    settings = Recorded.settings
    assert settings["vector_size"] == 300 and settings["sg"] == 1 and settings["window"] == 5
    assert (settings["min_n"], settings["max_n"], settings["negative"], settings["min_count"]) == (3, 6, 5, 5)
    assert (settings["sample"], settings["alpha"], Recorded.epochs) == (1e-4, 0.05, 5)
    assert Recorded.rows[0] == ["a", "heart", "attack", "."]
    assert [len(row) for row in Recorded.rows[1:]] == [1024, 1024, 52]
    assert "2,104 words of 2,104 running ones" in capsys.readouterr().out


def test_words_of_the_same_contexts_have_similar_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    fillers = [f"filler{i} other{i} third{i}" for i in range(120)] * 3
    same = [f"{organ} of the chest hurts with {organ} pain" for organ in ("heart", "lung")] * 5
    monkeypatch.setattr(word_vectors_of_text, "WIDTH", 30)
    run(monkeypatch, tmp_path / "text.vec", graph(tmp_path / "x.json", [*same, *fillers]))
    model: SentenceTransformer = word_vectors_encoder(tmp_path / "text.vec")
    heart, lung, filler = model.encode(["heart", "lung", "filler7"])
    assert model.similarity(heart, lung) > 0.5 > model.similarity(heart, filler)


@pytest.mark.parametrize("name", ["text.txt", "text"])
def test_another_form_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with pytest.raises(InputError, match=r"usage: word_vectors_of_text.py OUT.bin\|OUT.vec TEXT"):
        run(monkeypatch, tmp_path / name, tmp_path / "x.json")


def test_without_gensim_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(InputError, match=r"needs gensim: pip install gensim==4.4.0; or write a .vec"):
        run(monkeypatch, tmp_path / "text.bin", graph(tmp_path / "x.json", ["a heart"]))
