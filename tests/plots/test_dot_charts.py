"""Charts of figures with intervals: drawn from results alone, a panel for each scale, text that can be searched."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.results import Result
from st_biomed.plots.dot_charts import dot_chart, type_chart


def result(model: str, evaluator: str, primary: str, settings: dict | None = None, **metrics: float) -> Result:
    named = {f"{evaluator}_{key}": value for key, value in metrics.items()}
    headline = {"Terk (T:2)": f"{evaluator}_T:2/mcsm"}
    return Result(evaluator, evaluator, model, model, settings or {}, named, f"{evaluator}_{primary}", headline)


TYPES = [
    result(
        model,
        "zorb",
        "mcsm",
        {"k": 40, "n_concepts": 99},
        mcsm=2 + i,
        mcsm_low=1.5 + i,
        mcsm_high=2.2 + i,
        **{"Flumpa & Co/mcsm": 1.0 + i, "T:2/mcsm": 3.0 + i},
    )
    for i, model in enumerate(["one", "<two>"])
]
RESULTS = [
    *TYPES,
    result("one", "gradtha", "spearman", spearman=-0.25),
    result("one", "ward", "acc@1", **{"acc@1": 0.5}),
]


@pytest.mark.parametrize("draw", [dot_chart, type_chart])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, draw, suffix: str):
    """Would catch a date or a random id in the file."""
    first, again = (draw(tmp_path / f"{i}{suffix}", RESULTS).read_bytes() for i in range(2))
    assert first == again and len(first) > 5000


def words(path: Path) -> list[str]:
    """The texts of an SVG file, which are text and not outlines."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text("utf-8"))


def test_rows_say_benchmark_and_metric_and_axes_what_is_drawn(tmp_path: Path):
    found = words(dot_chart(tmp_path / "a.svg", RESULTS))
    rows = ["gradtha, Spearman", "ward, accuracy at 1", "zorb, MCSM"]
    assert [word for word in found if word in rows] == rows
    assert {"one", "&lt;two&gt;"} <= set(found)
    assert "accuracy, AUC, F1, MRR or rank correlation; 95% intervals" in found
    assert "MCSM (dashed: its largest possible value, 11.09); 95% intervals" in found


def test_each_scale_has_its_panel(tmp_path: Path):
    """Would catch correlations squeezed into a corner by an MCSM."""

    def n_panels(results: list[Result]) -> int:
        return dot_chart(tmp_path / "a.svg", results).read_text("utf-8").count('<g id="axes_')

    assert [n_panels(RESULTS), n_panels(TYPES), n_panels(RESULTS[2:])] == [2, 1, 1]
    other_k = result("one", "small", "mcsm", {"k": 3, "n_concepts": 99}, mcsm=1.0)
    assert n_panels([*RESULTS, other_k]) == 3


def test_types_have_the_names_of_the_table(tmp_path: Path):
    found = words(type_chart(tmp_path / "b.svg", RESULTS))
    assert "Flumpa &amp; Co" in found and "Terk (T:2)" in found and "T:2" not in found
    assert any("the most there is, 11.09" in word for word in found)


def test_the_size_is_what_is_asked_for(tmp_path: Path):
    png = dot_chart(tmp_path / "a.png", RESULTS, width=6, height=7).read_bytes()
    assert struct.unpack(">II", png[16:24]) == (6 * 150, 7 * 150)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda path: dot_chart(path, []), "nothing to draw"),
        (lambda path: dot_chart(path, [RESULTS[0], RESULTS[0]]), "a model has several of one evaluator"),
        (lambda path: dot_chart(path, RESULTS, width=0), "width and height must be above 0, found 0 and None"),
        (lambda path: type_chart(path, RESULTS[2:]), "one MCSM evaluator are needed, found none"),
        (lambda path: dot_chart(path.with_suffix(".pdf"), RESULTS), "written as .png or .svg, found suffix '.pdf'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, draw, message: str):
    with pytest.raises(InputError, match=message):
        draw(tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
