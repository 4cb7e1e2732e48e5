"""Pictures of trees: drawn from the units alone, equal files from equal numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.metrics import Units
from st_biomed.plots.measurements import distance_histograms, tree_curves


def tree(seed: int) -> Units:
    rng = np.random.default_rng(seed)
    distances = np.repeat([0, 1, 3], 20)
    return Units("pair", np.stack([rng.normal(size=60) / 3 - distances / 9, distances], axis=1), "mean_auc")


TREES = {"one": tree(0), "two": tree(1)}
DRAWN = {
    "roc": lambda path: tree_curves(path, TREES),
    "pr": lambda path: tree_curves(path, TREES, curve="pr"),
    "distances": lambda path: distance_histograms(path, TREES),
}


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, name: str, suffix: str):
    """Would catch a date or a random id in the file."""
    first, again = (DRAWN[name](tmp_path / f"{i}{suffix}").read_bytes() for i in range(2))
    assert first == again and len(first) > 5000


def texts(path: Path) -> str:
    return path.read_text("utf-8")


def test_every_model_and_duel_is_named(tmp_path: Path):
    curves = texts(tree_curves(tmp_path / "c.svg", TREES))
    assert all(f"distance {i} against {j}" in curves for i, j in ((0, 1), (0, 3), (1, 3)))
    near, far = (TREES["one"].rows[TREES["one"].rows[:, 1] == d, 0] for d in (0, 3))
    auc = np.mean(near[:, None] > far[None])
    assert f"one ({auc:.3f})" in curves
    assert "distance 3 (20)" in texts(distance_histograms(tmp_path / "d.svg", TREES))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda path: tree_curves(path, TREES, curve="lift"), "unknown curve 'lift': allowed are 'pr', 'roc'"),
        (
            lambda path: tree_curves(path, {"x": Units("pair", np.ones((3, 2)), "spearman")}),
            "found those of a spearman",
        ),
        (
            lambda path: tree_curves(path, {"x": Units("pair", np.array([[0.5, 1], [0.2, 1]]), "mean_auc")}),
            "expected pairs at two distances or more, found 1",
        ),
        (lambda path: distance_histograms(path, {}), "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, draw, message: str):
    with pytest.raises(InputError, match=message):
        draw(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
