"""The share of an average, chosen on dev splits: told on the card, measured on what no training reads, and refused without dev."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from tests.recipes.endings import sources_of
from tests.recipes.test_retention import ended, record, trained_of


@pytest.fixture
def sources(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    return sources_of(tmp_path, tiny_bert_folder, monkeypatch)


DEV = (
    "--average",
    "dev",
    "--smoke",
    "false",
    "--max_steps",
    2,
    "--per_device_train_batch_size",
    16,
    "--held_out_names",
    20,
)


@pytest.mark.long
def test_a_share_is_chosen_on_dev_told_on_the_card_and_drawn(sources: dict[str, Path], tmp_path: Path, capsys):
    """Catches a choice that nobody can read, and figures on the card that are not those of the record."""
    release = ended("sapbert", sources, tmp_path / "out", *DEV)
    averaging, card = record(release)["averaging"], (release / "README.md").read_text("utf-8")
    assert averaging["metrics"] == ["held-out-names_dev_acc@1"] and len(averaging["curve"]) == 11
    chosen = averaging["models"][1]["weight"]
    for point in averaging["curve"]:
        share = f"**{point['weight']:g}**" if point["weight"] == chosen else f"{point['weight']:g}"
        assert f"| {share} | {point['figures']['held-out-names_dev_acc@1']:.4f} |" in card
    assert not trained_of(release).exists()
    assert str(tmp_path) not in json.dumps(record(release)) and str(tmp_path) not in card
    assert "held-out-names" in capsys.readouterr().out
    if chosen == 0:
        assert (
            record(release)["results"]["held-out-names"]["after"]
            == record(release)["results"]["held-out-names"]["before"]
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "arguments", "metric"),
    [
        ("hiprbert", (), "toy_tree_dev_mean_auc"),
        ("sapbert_finetune", ("--train_splits", "train"), "zorb_dev_acc@1"),
    ],
)
def test_the_dev_part_of_a_recipe_is_what_is_chosen_on(
    name: str, arguments: tuple[object, ...], metric: str, sources: dict[str, Path], tmp_path: Path
):
    release = ended(name, sources, tmp_path / "out", *arguments, "--average", "dev", "--eval_strategy", "no")
    (found,) = record(release)["averaging"]["metrics"]
    assert found.endswith(metric.rpartition("_dev_")[2]) and "_dev_" in found


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("sapbert", ("--held_out_names", 0, "--smoke", "false", "--relatedness", "pairs.csv")), ("bergamot", ())],
)
def test_without_dev_a_choice_is_refused_before_the_base_model_is_measured(
    name: str,
    arguments: tuple[object, ...],
    sources: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("Term1,Term2,Mean\nzorb,zorbs,4\nflumpa,zorb,1\ngland,flumpa,2\n")
    with pytest.raises(InputError, match="average: dev needs benchmarks with a dev split, and there are none"):
        ended(name, sources, tmp_path / "out", "--average", "dev", *arguments)
    assert "measuring the base model" not in capsys.readouterr().out
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob("out-training/checkpoint-*"))
