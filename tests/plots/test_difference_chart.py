"""The picture of a scorecard: drawn from its file alone, grouped by family, readable without colors."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.seed_scorecard import RecipeData
from st_biomed.plots.difference_chart import LOOKS, difference_chart
from st_biomed.release.scorecard_data import OUTCOMES, DifferenceData, ScorecardData


def row(
    benchmark: str, outcome: str, family: str = "relatedness", metric: str = "spearman", **more: Any
) -> DifferenceData:
    difference = {"gained": 0.1, "kept": 0.0, "lost": -0.1}[outcome]
    data = {"benchmark": benchmark, "family": family, "language": "en", "metric": metric, "outcome": outcome}
    data |= {"in_domain": [], "value": 0.5, "base": 0.5, "difference": difference, "n": 9, "unit": "pair"}
    return {**data, "low": difference - 0.05, "high": difference + 0.07, "p": 0.5, "p_holm": 1.0, **more}  # type: ignore[typeddict-item]


def card(model: str = "mine", *rows: DifferenceData, base: str = "org/base") -> ScorecardData:
    data = {"model": model, "base": base, "benchmarks": list(rows or ROWS)}
    return data  # type: ignore[return-value]


ROWS = [
    row("gradtha", "lost"),
    row("flumpa", "gained", in_domain=["ZORB"]),
    row("trees", "kept", "hierarchy", "mean_auc"),
    row("zorb_it", "gained", "other languages", "acc@1", language="it"),
]
LARGE = row("mcsm_zorb", "gained", "types", "mcsm", difference=2.0, low=1.0, high=3.0)
SEEDS: RecipeData = {
    "recipe": "sapbert",
    "models": ["a", "b"],
    "seeds": [0, 1],
    "base": "org/base",
    "benchmarks": [{**row, "gained": 1, "kept": 1, "lost": 0} for row in ROWS[:2]],  # type: ignore[typeddict-item]
}


def words(path: Path) -> list[str]:
    """The texts of an SVG file, which are text and not outlines."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text("utf-8"))


def n_panels(path: Path) -> int:
    return path.read_text("utf-8").count('<g id="axes_')


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, suffix: str):
    first, again = (difference_chart(tmp_path / f"{i}{suffix}", [card()]).read_bytes() for i in range(2))
    assert first == again and len(first) > 5000


def test_rows_stand_below_their_family_and_the_title_counts(tmp_path: Path):
    """Would catch rows in the order of the alphabet, and a picture that does not say what it compares with."""
    found = words(difference_chart(tmp_path / "a.svg", [card()]))
    rows = ["relatedness", "gradtha, Spearman", "flumpa, Spearman", "hierarchy", "trees, mean AUC"]
    rows += ["other languages (it)", "zorb_it, accuracy at 1"]
    assert [word for word in found if word in rows] == rows
    assert {"mine", "2 gained, 1 kept, 1 lost", "difference from base", "95% intervals", *OUTCOMES} <= set(found)
    assert "made of what it was trained on" in found and found.count("*") == 1


def test_nothing_is_marked_where_nothing_was_trained_on(tmp_path: Path):
    found = words(difference_chart(tmp_path / "a.svg", [card("mine", ROWS[0])]))
    assert "made of what it was trained on" not in found and "*" not in found


def test_outcomes_differ_without_their_color():
    """Would catch gained and lost that a gray print cannot tell apart."""
    assert set(LOOKS) == set(OUTCOMES)
    assert len({look["marker"] for look in LOOKS.values()}) == 3
    assert [look["markerfacecolor"] == "white" for look in LOOKS.values()] == [False, True, False]


def test_dots_and_intervals_are_where_the_figures_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch an interval that is drawn as lengths from zero, and a dot in another benchmark's row."""
    from matplotlib.axes import Axes

    drawn = []
    errorbar = Axes.errorbar
    monkeypatch.setattr(
        Axes,
        "errorbar",
        lambda self, x, y, **look: (drawn.append((x, y, look["xerr"], look["marker"])), errorbar(self, x, y, **look))[
            1
        ],
    )
    difference_chart(tmp_path / "a.svg", [card()])
    assert [(x, y, marker) for x, y, _, marker in drawn] == [
        (-0.1, 1, "v"),
        (0.1, 2, "^"),
        (0.0, 4, "o"),
        (0.1, 6, "^"),
    ]
    assert drawn[0][2] == [[pytest.approx(0.05)], [pytest.approx(0.07)]]


def test_an_interval_may_end_before_the_difference(tmp_path: Path):
    """Catches an error of the library, where all units differ alike and the interval is a point, but for rounding."""
    rows = [row("above", "gained", low=0.1 + 1e-12, high=0.2), row("below", "gained", low=0.0, high=0.1 - 1e-12)]
    assert n_panels(difference_chart(tmp_path / "a.svg", [card("mine", *rows)])) == 1


@pytest.mark.long
def test_each_model_and_scale_has_its_panel(tmp_path: Path):
    """Would catch accuracies pressed into a line by an MCSM."""
    path = tmp_path / "a.svg"
    assert n_panels(difference_chart(path, [card()])) == 1
    assert n_panels(difference_chart(path, [card(), card("other")])) == 2
    both = difference_chart(path, [card("mine", *ROWS, LARGE), card("other", *ROWS)])
    assert n_panels(both) == 4 and "difference of MCSM from base" in words(both)
    assert n_panels(difference_chart(path, [card("mine", LARGE)])) == 1


def test_seeds_of_a_recipe_come_first(tmp_path: Path):
    found = words(difference_chart(tmp_path / "a.svg", [card("a"), card("b")], [SEEDS]))
    titles = [word for word in found if word in ("sapbert, 2 seeds", "a", "b")]
    assert titles == ["sapbert, 2 seeds", "a", "b"] and "1 gained, 0 kept, 1 lost" in found


def test_two_settings_of_one_recipe_have_a_panel_each(tmp_path: Path):
    """Would catch a group of seeds that takes the place of another with equally many."""
    other: RecipeData = {**SEEDS, "models": ["c", "d"]}
    path = difference_chart(tmp_path / "a.svg", [card("a")], [SEEDS, other])
    assert n_panels(path) == 3 and {"(a, b)", "(c, d)"} <= set(words(path))


def test_the_size_is_what_is_asked_for(tmp_path: Path):
    png = difference_chart(tmp_path / "a.png", [card()], width=6, height=7).read_bytes()
    assert struct.unpack(">II", png[16:24]) == (6 * 150, 7 * 150)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda path: difference_chart(path, []), "nothing to draw"),
        (lambda path: difference_chart(path, [{**card(), "benchmarks": []}]), "nothing to draw"),
        (
            lambda path: difference_chart(path, [card(), card("x", base="org/y")]),
            "have one base, found org/base, org/y",
        ),
        (lambda path: difference_chart(path, [card()], width=0), "width and height must be above 0, found 0 and None"),
        (lambda path: difference_chart(path.with_suffix(".pdf"), [card()]), "written as .png or .svg"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, draw, message: str):
    with pytest.raises(InputError, match=message):
        draw(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
