"""The map of concepts: which names are drawn, and that equal input gives an equal file."""

from __future__ import annotations

import builtins
import zlib
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.plots.canvas import check_picture
from st_biomed.plots.concept_map import concept_map, draw_names, lay_out
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

RECORDS = [Term(f"S:{c}", f"name {c} {n}", "synonym" if n else "preferred") for c in range(6) for n in range(c + 2)]
RECORDS += [Term(f"S:{c}", "shared", "synonym") for c in range(6)]
TERMINOLOGY = Terminology.from_records(RECORDS, SourceInfo("S", "S"))


def embed(texts):
    """A direction for each concept and some noise that depends on the text alone."""
    rng = [np.random.default_rng(zlib.crc32(text.encode())) for text in texts]
    return np.stack([np.eye(8)[int(text.split()[1])] + r.normal(0, 0.05, 8) for text, r in zip(texts, rng)])


def test_concepts_have_enough_names_of_their_own():
    """Catches an ambiguous name, which would be drawn in the color of one of its concepts."""
    drawn = draw_names(TERMINOLOGY, n_concepts=3, names_per_concept=4, seed=1)
    assert len(drawn.texts) == len(set(drawn.texts)) == 12
    for i, concept in enumerate(drawn.concepts):
        own = {TERMINOLOGY.strings[text] for text in drawn.texts[drawn.of == i]}
        assert len(own) == 4 and "shared" not in own
        assert own <= set(TERMINOLOGY.concept_names(TERMINOLOGY.codes[concept]))
    with pytest.raises(InputError, match="only 4 concepts have 4 names of their own, 5 are needed"):
        draw_names(TERMINOLOGY, n_concepts=5, names_per_concept=4)
    with pytest.raises(InputError, match="2 concepts and 2 names or more, found 1 and 4"):
        draw_names(TERMINOLOGY, n_concepts=1, names_per_concept=4)


def test_names_of_a_concept_lie_together():
    """Catches rows of the layout that no longer stand for their names."""
    drawn = draw_names(TERMINOLOGY, n_concepts=4, names_per_concept=4)
    place = lay_out(embed([TERMINOLOGY.strings[text] for text in drawn.texts]))
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)
    same = drawn.of[:, None] == drawn.of[None]
    np.fill_diagonal(apart, np.inf)
    assert (same[np.arange(16), apart.argmin(1)]).all()


@pytest.mark.long
def test_the_file_is_the_same_every_time(tmp_path: Path):
    drawn = draw_names(TERMINOLOGY, n_concepts=4, names_per_concept=4)
    files = [concept_map(tmp_path / name / "a.png", TERMINOLOGY, {"x": embed, "y": embed}, drawn) for name in "ab"]
    picture, other = (file.read_bytes() for file in files)
    assert picture == other and picture.startswith(b"\x89PNG")


def test_a_picture_is_a_png_and_needs_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match=r"a picture is written as .png or .svg, found suffix '\.pdf'"):
        check_picture(tmp_path / "a.pdf")
    real = builtins.__import__

    def without(name, *rest):
        if name == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'st-biomed\[viz\]'"):
        check_picture(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((4, 4)), "all 4 have one direction, expected two or more"),
        (np.arange(1.0, 5)[:, None] * np.ones(4), "all 4 have one direction"),
        (np.full((4, 4), np.nan), "expected finite numbers"),
        (np.ones((4, 1)), r"with D from 2, found shape \[4, 1\]"),
    ],
)
def test_vectors_that_cannot_be_laid_out_are_refused(vectors: np.ndarray, message: str):
    """Catches the end of the process: the library divides by 0, and crashes."""
    with pytest.raises(InputError, match=message):
        lay_out(vectors)


def test_a_map_needs_a_model(tmp_path: Path):
    with pytest.raises(InputError, match="models: expected one or more, found none"):
        concept_map(tmp_path / "c.png", TERMINOLOGY, {}, draw_names(TERMINOLOGY, n_concepts=2, names_per_concept=2))
