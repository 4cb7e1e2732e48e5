"""Pictures of what was measured: drawn from results alone, equal files from equal numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.measuring.results import Result
from st_biomed.metrics import Units
from st_biomed.pictures.measurements import distance_histograms, dot_chart, tree_curves, type_chart


def result(model: str, **metrics: float) -> Result:
    return Result(
        "zorb", "zorb", model, model, {}, {f"zorb_{key}": value for key, value in metrics.items()}, "zorb_mcsm", {}
    )


RESULTS = [
    result(
        model, mcsm=2 + i, mcsm_low=1.5 + i, mcsm_high=2.2 + i, **{"Flumpa/mcsm": 1.0 + i, "Terk & Co/mcsm": 3.0 + i}
    )
    for i, model in enumerate(["one", "<two>"])
]


def tree(seed: int) -> Units:
    rng = np.random.default_rng(seed)
    distances = np.repeat([0, 1, 3], 20)
    return Units("pair", np.stack([rng.normal(size=60) / 3 - distances / 9, distances], axis=1), "mean_auc")


TREES = {"one": tree(0), "two": tree(1)}
DRAWN = {
    "dots": lambda path: dot_chart(path, RESULTS),
    "types": lambda path: type_chart(path, RESULTS),
    "roc": lambda path: tree_curves(path, TREES),
    "pr": lambda path: tree_curves(path, TREES, curve="pr"),
    "distances": lambda path: distance_histograms(path, TREES),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, name: str, suffix: str):
    """Would catch a date or a random id in the file."""
    first, again = (DRAWN[name](tmp_path / f"{i}{suffix}").read_bytes() for i in range(2))
    assert first == again and len(first) > 5000


def texts(path: Path) -> str:
    """What an SVG file says: matplotlib leaves every string in a comment beside its outlines."""
    return path.read_text("utf-8")


def test_every_model_type_and_duel_is_named(tmp_path: Path):
    assert {"one", "&lt;two&gt;", "zorb_mcsm"} <= {
        word for word in ("one", "&lt;two&gt;", "zorb_mcsm") if word in texts(dot_chart(tmp_path / "a.svg", RESULTS))
    }
    types = texts(type_chart(tmp_path / "b.svg", RESULTS))
    assert "Flumpa" in types and "Terk &amp; Co" in types
    curves = texts(tree_curves(tmp_path / "c.svg", TREES))
    assert all(f"distance {i} against {j}" in curves for i, j in ((0, 1), (0, 3), (1, 3)))
    near, far = (TREES["one"].rows[TREES["one"].rows[:, 1] == d, 0] for d in (0, 3))
    auc = np.mean(near[:, None] > far[None])
    assert f"one ({auc:.3f})" in curves
    assert "distance 3 (20)" in texts(distance_histograms(tmp_path / "d.svg", TREES))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda path: dot_chart(path, []), "nothing to draw"),
        (lambda path: type_chart(path, []), "one MCSM evaluator are needed, found none"),
        (lambda path: tree_curves(path, TREES, curve="lift"), "curve must be one of roc, pr, found 'lift'"),
        (
            lambda path: tree_curves(path, {"x": Units("pair", np.ones((3, 2)), "spearman")}),
            "found those of a spearman",
        ),
        (lambda path: distance_histograms(path, {}), "nothing to draw"),
        (lambda path: dot_chart(path.with_suffix(".pdf"), RESULTS), "written as .png or .svg, found suffix '.pdf'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, draw, message: str):
    with pytest.raises(InputError, match=message):
        draw(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
