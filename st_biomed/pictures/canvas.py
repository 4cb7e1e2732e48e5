"""What every picture shares: the library, the panels side by side, the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def check_picture(path: str | Path) -> Path:
    """The path of a picture that is about to be made.

    Raises:
        InputError: matplotlib is not installed, or the path does not end in ``.png``.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("pictures need matplotlib: pip install 'st-biomed[viz]'") from error
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError(f"{path}: a picture is written as .png, found suffix {path.suffix!r}")
    return path


@contextmanager
def panels(path: str | Path, titles: list[str], *, shared: bool = False) -> Iterator[list[Axes]]:
    """Axes side by side, one for each title; saved when the block ends.

    Args:
        path: The PNG file.
        titles: A title for each panel.
        shared: Whether the panels have one scale.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = check_picture(path)
    figure = Figure(figsize=(5 * len(titles), 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(titles), squeeze=False, sharex=shared, sharey=shared)[0]
    for axis, title in zip(axes, titles):
        axis.set_title(title)
    yield list(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version and date that the library would write, equal numbers give equal files.
    figure.savefig(path, dpi=150, metadata={"Software": None})
