"""Inputs of the few-shot recipe: tables of names, word vectors, and where its configurations are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recipes import fewshot_names
from tests.modules.fasttext_files import BUCKETS, fasttext_bytes, random_matrix

CONFIGS = Path(fewshot_names.__file__).parent / "configs"
SMOKE = str(CONFIGS / "fewshot_names_smoke.yaml")
WORDS = ["heart", "bone", "skin", "attack", "rash", "break", "old", "new", "pain", "burn", "left", "right"]
NAMES = {
    "Heart": ["heart attack", "heart pain", "old heart", "new heart", "left heart", "right heart"],
    "Bone": ["bone break", "bone pain", "old bone", "new bone", "left bone", "right bone"],
    "Skin": ["skin rash", "skin burn", "old skin", "new skin", "left skin", "right skin"],
}


def table_of(path: Path, names: dict[str, list[str]]) -> Path:
    rows = "".join(f"{concept},{name}\n" for concept, of_one in names.items() for name in of_one)
    path.write_text(f"concept,name\n{rows}", "utf-8")
    return path


def vectors(tmp_path: Path, form: str) -> list[object]:
    """The arguments of a made-up table of word vectors in one of its forms."""
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
    if form == "vec":
        lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, matrix.tolist())]
        (tmp_path / "words.vec").write_text("\n".join([f"{len(WORDS)} 5", *lines]) + "\n", "utf-8")
        return [tmp_path / "words.vec"]
    if form == "bin":
        words = [*WORDS[:4], "spleen"]
        (tmp_path / "words.bin").write_bytes(fasttext_bytes(random_matrix(len(words) + BUCKETS, 5), words))
        return [tmp_path / "words.bin"]
    np.save(tmp_path / "words.npy", matrix)
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    return [tmp_path / "words.npy", "--vocabulary", tmp_path / "words.txt"]
