"""What keeps an encoder from forgetting, in every recipe that trains one: averages, moving averages, layers, low-rank updates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.released import load
from st_biomed.errors import InputError
from st_biomed.training.moving_average import MovingAverageCallback
from tests.recipes.endings import release_of, run_ending, sources_of

AVERAGED = (
    "sapbert",
    "sapbert, adapters",
    "sapbert_finetune",
    "hiprbert",
    "bergamot",
    "italian_kge, contrastive",
    "italian_kge, pipelined",
)
TRAINED = (*AVERAGED, "knowledge_injection")
FAST = ("--learning_rate", 0.01)
LAYER = "encoder.layer.0.output.dense.weight"


@pytest.fixture
def sources(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    return sources_of(tmp_path, tiny_bert_folder, monkeypatch)


def ended(name: str, sources: dict[str, Path], out: Path, *arguments: object) -> Path:
    """The release of a recipe that was run with these arguments."""
    run_ending(name, sources, out, *FAST, *arguments)
    return release_of(name, out)


def trained_of(release: Path) -> Path:
    return release.with_name(f"{release.name}-training") / "trained"


def weights(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def record(release: Path) -> dict[str, Any]:
    return json.loads((release / "run.json").read_text("utf-8"))


@pytest.mark.parametrize("name", AVERAGED)
def test_every_recipe_releases_the_average_and_keeps_what_was_trained_where_it_is_told(
    name: str, sources: dict[str, Path], tmp_path: Path
):
    """Catches a recipe that does not pass the argument on, one that averages with something else, and a lost original."""
    release = ended(name, sources, tmp_path / "out", "--average", 0.25, "--keep_trained", "true")
    began, trained, released = (
        weights(folder) for folder in (began_from(name, sources, tmp_path), trained_of(release), release)
    )
    key = next(key for key in released if key.endswith(LAYER.replace("output.dense", "attention.self.query")))
    base = next(tensor for other, tensor in began.items() if other == key or key.endswith(other))
    torch.testing.assert_close(released[key], base + 0.25 * (trained[key] - base))
    models = record(release)["averaging"]["models"]
    assert [model["weight"] for model in models] == [0.75, 0.25]
    assert models[1]["digest"] == model_digest(load(trained_of(release), device="cpu"))
    assert "a share of 0.25 is the trained one's" in (release / "README.md").read_text("utf-8")


def began_from(name: str, sources: dict[str, Path], tmp_path: Path) -> Path:
    return tmp_path / "out" / "injected" if name == "italian_kge, pipelined" else sources["base"]


@pytest.mark.parametrize("name", TRAINED)
def test_every_recipe_takes_layers_and_moving_averages(
    name: str, sources: dict[str, Path], tmp_path: Path, monkeypatch
):
    """Catches a recipe in which an argument changes nothing."""
    made: list[MovingAverageCallback] = []
    begin = MovingAverageCallback.__init__
    monkeypatch.setattr(
        MovingAverageCallback, "__init__", lambda self, decay: (made.append(self), begin(self, decay))[1]
    )
    rates: list[float] = []
    from st_biomed.training import encoder_run

    decay_layers = encoder_run.decay_layers

    def watched(optimizer: Any, *arguments: Any) -> None:
        decay_layers(optimizer, *arguments)
        rates.extend(group["lr"] for group in optimizer.param_groups)

    monkeypatch.setattr(encoder_run, "decay_layers", watched)
    release = ended(name, sources, tmp_path / "out", "--layer_decay", 0.5, "--ema_decay", 0.5)
    assert {round(rate, 6) for rate in rates} >= ({0.01} if "adapters" in name else {0.01, 0.005})
    average = made[-1].average
    trained = (
        load(release, device="cpu") if name != "italian_kge, contrastive" else load(trained_of(release), device="cpu")
    )
    assert average and all(
        torch.allclose(trained.get_parameter(key).detach(), tensor, atol=1e-6) for key, tensor in average.items()
    )


@pytest.mark.parametrize("name", [name for name in AVERAGED if "adapters" not in name])
def test_every_recipe_takes_low_rank_updates_and_averages_what_they_make(
    name: str, sources: dict[str, Path], tmp_path: Path
):
    """Catches updates that are left in a release, and a base that is averaged with updates that are not merged."""
    pytest.importorskip("peft")
    release = ended(
        name,
        sources,
        tmp_path / "out",
        "--adapter",
        "lora",
        "--average",
        0.5,
        "--keep_trained",
        "true",
        "--ema_decay",
        0.5,
    )
    began, trained, released = (
        weights(folder) for folder in (began_from(name, sources, tmp_path), trained_of(release), release)
    )
    assert not [key for key in released if "lora" in key]
    query = next(key for key in released if key.endswith(LAYER.replace("output.dense", "attention.self.query")))
    base = next(tensor for other, tensor in began.items() if other == query or query.endswith(other))
    torch.testing.assert_close(released[query], base + 0.5 * (trained[query] - base))
    still = next(key for key in released if key.endswith(LAYER))
    assert torch.equal(released[still], trained[still])


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
    [("sapbert", ("--held_out_names", 0, "--smoke", "false")), ("bergamot", ())],
)
def test_without_dev_a_choice_is_refused_before_training(
    name: str, arguments: tuple[object, ...], sources: dict[str, Path], tmp_path: Path
):
    with pytest.raises(InputError, match="average: dev chooses the share on dev splits, and no benchmark has one"):
        ended(name, sources, tmp_path / "out", "--average", "dev", *arguments)
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob("out-training/checkpoint-*"))


def test_updates_beside_new_markers_are_not_gone_on_with(sources: dict[str, Path], tmp_path: Path):
    """Catches a traceback of the host: its checkpoint has the updates alone, and the base model no rows for the markers."""
    with pytest.raises(InputError, match="adapter: checkpoints of lora lack the rows of the markers"):
        ended(
            "italian_kge, contrastive",
            sources,
            tmp_path / "out",
            "--adapter",
            "lora",
            "--resume_from_checkpoint",
            "true",
        )


def test_a_run_that_goes_on_ends_as_the_unbroken_one(sources: dict[str, Path], tmp_path: Path):
    """Catches an average with the weights of the checkpoint, and a moving average that begins anew."""
    steps = ("--smoke", "false", "--max_steps", 4, "--per_device_train_batch_size", 16, "--held_out_names", 4, "--save_strategy", "steps", "--save_steps", 2, "--eval_strategy", "no")  # fmt: skip
    given = (*steps, "--average", 0.5, "--ema_decay", 0.5, "--layer_decay", 0.5)
    whole = ended("sapbert", sources, tmp_path / "whole", *given)
    checkpoint = whole.with_name("whole-training") / "checkpoint-2"
    again = ended("sapbert", sources, tmp_path / "again", *given, "--resume_from_checkpoint", checkpoint)
    one, other = weights(whole), weights(again)
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    assert record(whole)["averaging"] == record(again)["averaging"]
