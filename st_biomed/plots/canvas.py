"""What every picture shares: the library, the panels side by side, the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError
from st_biomed.files import check_writable, writing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


SUFFIXES = (".png", ".svg")

COLORS = ("#000000", "#c8553d", "#3d6fb0", "#e0a63b", "#6aa37c", "#b9b9b9")
"""Of lines and dots; no two neighbors are equally dark, so that a print in gray can be read, too."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
LEGEND_ROW = 0.19
"""Inches that a row of :func:`legend_below` takes of a panel's height."""


def check_picture(path: str | Path) -> Path:
    """The path of a picture that is about to be made.

    Raises:
        InputError: matplotlib is not installed, the path ends neither in ``.png`` nor in ``.svg``, or cannot be written.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'st-biomed[viz]'") from error
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: a picture is written as .png or .svg, found suffix {path.suffix!r}")
    return check_writable(path, file=True)


@contextmanager
def panels(
    path: str | Path,
    titles: list[str],
    *,
    shared: bool = False,
    columns: int | None = None,
    size: tuple[float, float] = (5, 4.5),
    heights: Sequence[float] | None = None,
) -> Iterator[list[Axes]]:
    """Axes side by side, one for each title; saved when the block ends.

    Args:
        path: The PNG or SVG file.
        shared: Whether the panels have one scale.
        columns: Panels of a row; all of them by default.
        size: Width and height of a panel in inches.
        heights: Of each row of panels in inches, in place of one for all.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = check_picture(path)
    columns = min(columns or len(titles), len(titles))
    rows = -(-len(titles) // columns)
    heights = [size[1]] * rows if heights is None else list(heights)
    figure = Figure(figsize=(size[0] * columns, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared, height_ratios=heights).ravel()
    for axis, title in zip(axes, titles):
        axis.set_title(title)
    for axis in axes[len(titles) :]:
        axis.set_axis_off()
    yield list(axes[: len(titles)])
    # Without the version, date and random ids that the library would write, equal numbers give equal files.
    metadata = {"Software": None} if path.suffix.lower() == ".png" else {"Date": None, "Creator": None}
    with writing(path) as draft, matplotlib.rc_context({"svg.hashsalt": "st-biomed", "svg.fonttype": "none"}):
        figure.savefig(draft, dpi=150, metadata=metadata, format=path.suffix[1:].lower())


def legend_below(axis: Axes, *, columns: int = 1) -> None:
    """The legend of a panel below its numbers and what they are, where it covers nothing that is drawn.

    Args:
        axis: Its panel, everything with a label drawn.
    """
    # The distance counts in sizes of the small print: room for the numbers and the name of the scale.
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4.6, fontsize="small", ncols=columns)


def legend_of_all(axis: Axes, handles: Sequence[Artist], labels: Sequence[str], *, columns: int) -> None:
    """One legend for all panels, below them, in as many columns as the picture is wide enough for.

    Args:
        axis: Any of the panels.
        handles: What the legend shows.
        labels: A word for each.
        columns: At most.
    """
    for n in range(min(columns, len(labels)), 0, -1):
        legend = axis.figure.legend(handles, labels, loc="outside lower center", ncols=n)
        if n == 1 or legend.get_window_extent().width <= axis.figure.bbox.width:
            return
        legend.remove()
