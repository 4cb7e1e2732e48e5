"""The picture of an average: every metric has a panel, the base and what is released are there, equal numbers give equal files."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.plots.average_curves import average_curves
from st_biomed.release.run_data import AveragedModelData, AveragingData, AveragingPointData, empty_run

MODELS = [
    AveragedModelData(name=name, recipe="", digest="0" * 64, weight=weight)
    for name, weight in (("base", 0.6), ("trained", 0.4))
]
CURVE = [
    AveragingPointData(
        weight=i / 10, figures={"names_dev_acc@1": 0.5 + i / 20, "trees_dev_mean_auc": None if i == 3 else 0.7}
    )
    for i in range(11)
]
METRICS = ["names_dev_acc@1", "trees_dev_mean_auc"]
AVERAGING = AveragingData(models=MODELS, metrics=METRICS, tolerance=0.0, curve=CURVE, chosen=True)


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_equal_numbers_give_equal_files(tmp_path: Path, suffix: str):
    """Would catch a date or a random id in the file."""
    first, again = (average_curves(tmp_path / f"{i}{suffix}", AVERAGING).read_bytes() for i in range(2))
    assert first == again and len(first) > 5000


def test_every_metric_has_a_panel_with_the_base_and_what_is_released(tmp_path: Path):
    text = average_curves(tmp_path / "c.svg", AVERAGING).read_text("utf-8")
    for word in (
        "names_dev_acc@1",
        "trees_dev_mean_auc",
        "base model",
        "released (0.4)",
        "share of the trained weights",
    ):
        assert word in text


def test_shares_that_were_not_measured_have_no_curve(tmp_path: Path):
    with pytest.raises(InputError, match=r"run.json: has no curve, .* \(--average dev, or --average_curve true\)"):
        average_curves(tmp_path / "c.svg", empty_run()["averaging"])
