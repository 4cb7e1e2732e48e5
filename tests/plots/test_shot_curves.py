"""The figure by number of names: every line and panel is named, equal numbers give equal files."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.plots.shot_curves import shot_curves

CURVES = {"one": {"A": {5: (0.5, 0.1), 15: (0.6, 0.0)}, "A → B": {5: (0.7, 0.1)}}, "two": {"A": {15: (0.2, 0.1)}}}


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, suffix: str):
    """Would catch a date or a random id in the file."""
    first, again = (
        shot_curves(tmp_path / f"{i}{suffix}", CURVES, {"one": 0.4, "two": 0.1}).read_bytes() for i in range(2)
    )
    assert first == again and len(first) > 5000


def test_lines_panels_and_numbers_of_names_are_there(tmp_path: Path):
    text = shot_curves(tmp_path / "c.svg", CURVES, {"one": 0.4, "two": 0.1}).read_text("utf-8")
    for word in ("one", "two", "A → B", "input", ">5<", ">15<", "names of every concept"):
        assert word in text
    with pytest.raises(InputError, match="curves: there is nothing to draw"):
        shot_curves(tmp_path / "c.svg", {"one": {}}, {"one": 0.4})
