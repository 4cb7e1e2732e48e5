"""No legend covers what is drawn: measured with the renderer, on every chart that has one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.transforms import Bbox

import st_biomed.plots
from st_biomed.leaderboard.results import Result
from st_biomed.metrics import Units
from st_biomed.plots.average_curves import average_curves
from st_biomed.plots.difference_chart import difference_chart
from st_biomed.plots.dot_charts import dot_chart, type_chart
from st_biomed.plots.measurements import distance_histograms, tree_curves
from st_biomed.plots.mined_pairs import PairCosines, mined_pairs
from st_biomed.plots.shot_curves import shot_curves


def tree(seed: int, *, peak: float = 1.0, n_distances: int = 4) -> Units:
    """Pairs at some distances; where ``peak`` is small, most of them have nearly one cosine."""
    rng = np.random.default_rng(seed)
    distances = np.repeat(np.arange(n_distances), 50)
    cosines = 0.9 - distances / 4 + peak * rng.normal(size=len(distances)) / 8
    return Units("pair", np.stack([np.clip(cosines, -1, 1), distances], axis=1), "mean_auc")


def result(model: str, evaluator: str, primary: str, value: float, **more: float) -> Result:
    metrics = {f"{evaluator}_{key}": figure for key, figure in {primary: value, **more}.items()}
    return Result(evaluator, evaluator, model, model, {}, metrics, f"{evaluator}_{primary}", {})


TWO = {"all-MiniLM-L6-v2": tree(0), "trained": tree(1, peak=0.05)}
MORE = {f"a model with a rather long name {i}": tree(i, peak=0.05 + i / 5, n_distances=3) for i in range(5)}
MANY = [result(model, task, "acc@1", i / 9) for i, model in enumerate(MORE) for task in ("ward", "gradtha", "flumpa")]
TYPES = [result(model, "zorb", "mcsm", 3.0, **{"Terk/mcsm": 1.0 + i}) for i, model in enumerate(MORE)]
PAIRS = PairCosines(np.arange(100), np.ones(100, dtype=int)), PairCosines(np.arange(100)[::-1], np.arange(100))
SHOTS = {
    f"benchmark {i}": {
        "a training set": {5: (0.5, 0.1)},
        **{f"a training set → {j}": {5: (0.7, 0.1)} for j in "ABCDE"},
    }
    for i in range(2)
}
ROW = {
    "benchmark": "flumpa",
    "family": "types",
    "language": "en",
    "metric": "mcsm",
    "outcome": "lost",
    "in_domain": ["Z"],
}
ROWS = [{**ROW, "difference": -0.1, "low": -0.2, "high": 0.1}]
ROWS += [{**ROWS[0], "benchmark": f"gradtha {i}", "family": "linking", "metric": "acc@1"} for i in range(4)]
CARDS = [{"model": model, "base": "org/base", "benchmarks": ROWS} for model in TWO]
CURVE = {
    "models": [{"weight": 1.0}, {"weight": 0.3}],
    "metrics": ["flumpa_acc@1", "gradtha_spearman"],
    "curve": [{"weight": i / 10, "figures": {"flumpa_acc@1": i / 20, "gradtha_spearman": 0.5}} for i in range(11)],
}
CHARTS: dict[str, Callable[[Path], Path]] = {
    "distances": lambda path: distance_histograms(path, TWO),
    "roc": lambda path: tree_curves(path, MORE),
    "roc in two rows": lambda path: tree_curves(path, TWO),
    "pr": lambda path: tree_curves(path, MORE, curve="pr"),
    "pairs": lambda path: mined_pairs(path, *PAIRS),
    "average": lambda path: average_curves(path, CURVE),
    "scorecard": lambda path: difference_chart(path, CARDS[:1]),
    "scorecards": lambda path: difference_chart(path, CARDS),
    "results": lambda path: dot_chart(path, MANY),
    "types": lambda path: type_chart(path, TYPES),
    "shots": lambda path: shot_curves(path, SHOTS, dict.fromkeys(SHOTS, 0.4)),
}


def drawn(chart: Callable[[Path], Path], path: Path, monkeypatch: pytest.MonkeyPatch) -> Figure:
    """The figure as it was saved, laid out by the renderer."""
    figures: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **b: (figures.append(self), save(self, *a, **b))[1])
    chart(path)
    (figure,) = figures
    figure.canvas.draw()
    return figure


def extents(axis: Axes) -> list[tuple[str, Bbox]]:
    """The frame of a panel, to which everything drawn is clipped, and the words around it."""
    words = [axis.title, axis.xaxis.label, axis.yaxis.label, *axis.get_xticklabels(), *axis.get_yticklabels()]
    shown = [word for word in words if word.get_visible() and word.get_text()]
    return [("the panel", axis.get_window_extent()), *((word.get_text(), word.get_window_extent()) for word in shown)]


def overlap(first: Bbox, second: Bbox) -> bool:
    """Whether two boxes share more than the pixel of their edges."""
    both = Bbox.intersection(first, second)
    return both is not None and both.width > 1 and both.height > 1


@pytest.mark.long
@pytest.mark.parametrize("name", CHARTS)
def test_no_legend_covers_what_is_drawn(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches the legend of distances.svg, which lay on the highest peak."""
    figure = drawn(CHARTS[name], tmp_path / "a.svg", monkeypatch)
    axes = [axis for axis in figure.axes if axis.axison]
    legends: list[Legend] = [*figure.legends, *(axis.get_legend() for axis in axes if axis.get_legend())]
    assert legends
    for legend in legends:
        box = legend.get_window_extent()
        for axis in axes:
            for what, taken in extents(axis):
                assert not overlap(box, taken), f"the legend covers {what}"
        assert all(not overlap(box, other.get_window_extent()) for other in legends if other is not legend)
        page = figure.bbox
        assert box.x0 >= page.x0 - 1 and box.y0 >= page.y0 - 1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
    for axis in axes:
        frame = axis.get_window_extent()
        assert frame.height > figure.bbox.height / len(axes) / 4, "the legend leaves no room for the panel"


def test_every_kind_of_chart_with_a_legend_is_measured():
    """Catches a new chart whose legend nobody looks at."""
    folder = Path(st_biomed.plots.__file__).parent
    with_legend = {path.stem for path in folder.glob("*.py") if "legend" in path.read_text("utf-8")}
    assert with_legend == {
        "average_curves",
        "canvas",
        "difference_chart",
        "dot_charts",
        "measurements",
        "mined_pairs",
        "shot_curves",
    }
