"""What keeps an encoder from forgetting, in every recipe that trains one.

Averages, moving averages, layers, low-rank updates, self-distillation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.released import load
from st_biomed.errors import InputError
from st_biomed.losses.self_distillation import SelfDistillationLoss
from st_biomed.terminology import Terminology
from st_biomed.training.moving_average import MovingAverageCallback
from tests.recipes.endings import release_of, run_ending, sources_of

pytestmark = pytest.mark.long


def trained_of(release: Path) -> Path:
    return release.with_name(f"{release.name}-training") / "trained"


AVERAGED = (
    "sapbert",
    "sapbert, adapters",
    "sapbert_finetune",
    "hiprbert",
    "bergamot",
    "italian_kge, contrastive",
    "italian_kge, pipelined",
    "open_encoder",
    "biolord",
)
TRAINED = (*AVERAGED, "knowledge_injection")
WHAT_WAS_TRAINED = {
    "italian_kge, contrastive": trained_of,
    "open_encoder": trained_of,
    "biolord": lambda release: release.with_name(f"{release.name}-training") / "phases" / "student-2",
}
"""Where the last trained weights are, if the release has others."""
FAST = ("--learning_rate", 0.01)
LAYER = "encoder.layer.0.output.dense.weight"


@pytest.fixture
def sources(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    return sources_of(tmp_path, tiny_bert_folder, monkeypatch)


def ended(name: str, sources: dict[str, Path], out: Path, *arguments: object) -> Path:
    """The release of a recipe that was run with these arguments."""
    run_ending(name, sources, out, *FAST, *arguments)
    return release_of(name, out)


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
    kept, own = record(trained_of(release)), record(release)
    assert kept["terminologies"] and kept["terminologies"] == own["terminologies"], (
        "a later training would not know them"
    )
    models = own["averaging"]["models"]
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
    kept = ("--keep_trained", "true") if name == "open_encoder" else ()
    release = ended(name, sources, tmp_path / "out", "--layer_decay", 0.5, "--ema_decay", 0.5, *kept)
    assert {round(rate, 6) for rate in rates} >= ({0.01} if "adapters" in name else {0.01, 0.005})
    average = made[-1].average
    trained = load(WHAT_WAS_TRAINED.get(name, Path)(release), device="cpu")
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


HELD = tuple(name for name in AVERAGED if "adapters" not in name)
WHAT_IS_HELD = {"biolord": lambda release: release.with_name(f"{release.name}-training") / "phases" / "contrastive"}
"""Where the weights are that self-distillation holds, if the release has others."""
STEADY = ("--lr_scheduler_type", "constant", "--warmup_steps", 0, "--average", "none", "--pooling", "mean")


def drift(release: Path, base: Path) -> float:
    """How far the cosines of the toy's names are from those under the base model."""
    names = Terminology.read("toy").strings
    trained = load(release, device="cpu")
    modes = [module.pooling_mode for module in trained if isinstance(module, Pooling)]
    began = load_encoder(base, pooling=modes[0], device="cpu") if modes else load(base, device="cpu")
    vectors_before, vectors_after = (model.encode(names, normalize_embeddings=True) for model in (began, trained))
    return float(np.abs(vectors_before @ vectors_before.T - vectors_after @ vectors_after.T).mean())


@pytest.mark.parametrize("name", HELD)
def test_every_recipe_is_held_near_its_base_by_self_distillation(
    name: str, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a recipe that does not pass the argument on, and a teacher that has other texts than the batch."""
    own: dict[str, tuple[Any, ...]] = {
        "italian_kge, contrastive": ("--corpus", sources["texts"]),
        "bergamot": ("--node_weight", 1, "--intermodal_weight", 1),  # with .1 two steps hardly move the encoder
        "biolord": (
            *("--smoke", "false", "--max_steps", 20, "--per_device_train_batch_size", 8),  # two steps hardly move it
            *("--student_steps", 2, "--held_out_names", 4, "--save_strategy", "no"),
        ),
    }
    settings = own.get(name, ())
    held_in = WHAT_IS_HELD.get(name, Path)
    free = ended(name, sources, tmp_path / "out", *STEADY, *settings, "--distillation", 0)
    away = drift(held_in(free), began_from(name, sources, tmp_path))
    assert "are held near" not in (free / "README.md").read_text("utf-8")
    values: list[float] = []
    compute = SelfDistillationLoss.compute_loss_from_embeddings

    def watched(loss: SelfDistillationLoss, *arguments: Any) -> Tensor:
        value = compute(loss, *arguments)
        values.append(value.item() / loss.weight)
        return value

    monkeypatch.setattr(SelfDistillationLoss, "compute_loss_from_embeddings", watched)
    given = (*STEADY, *settings, "--distillation", 1000, "--overwrite", "true")
    held = ended(name, sources, tmp_path / "out", *given)
    near = drift(held_in(held), began_from(name, sources, tmp_path))
    assert 0 < near < 0.8 * away, (near, away)
    assert values[0] < 1e-6 < values[1], "in the first step the encoder is its own teacher"
    assert "are held near those of the base model with weight 1000." in (held / "README.md").read_text("utf-8")


def test_a_weight_of_zero_changes_no_bit(sources: dict[str, Path], tmp_path: Path):
    """Catches random numbers that are drawn for a teacher nobody asked for."""
    free, zero = (
        weights(ended("sapbert", sources, tmp_path / out, *given))
        for out, given in (("free", ()), ("zero", ("--distillation", 0)))
    )
    assert all(torch.equal(tensor, zero[name]) for name, tensor in free.items())


@pytest.mark.parametrize("name", HELD)
def test_options_of_self_distillation_without_its_weight_are_refused(
    name: str, sources: dict[str, Path], tmp_path: Path
):
    """Catches a recipe in which they do nothing, and do not say so."""
    message = "distillation_target: is not used with --distillation 0, which distills nothing, found 'vectors'"
    with pytest.raises(InputError, match=message):
        ended(name, sources, tmp_path / "out", "--distillation", 0, "--distillation_target", "vectors")
    assert not (tmp_path / "out" / "run.json").exists()


def test_what_has_no_counterpart_in_the_base_is_not_distilled(sources: dict[str, Path], tmp_path: Path):
    with pytest.raises(InputError, match="distillation"):
        ended("knowledge_injection", sources, tmp_path / "out", "--distillation", 1)


def test_updates_beside_new_markers_are_not_gone_on_with(sources: dict[str, Path], tmp_path: Path):
    """Catches a traceback of sentence-transformers: its checkpoint has the updates alone, and the base model no rows for the markers."""
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


@pytest.mark.parametrize(
    "kept",
    [
        ("--average", 0.5, "--ema_decay", 0.5, "--layer_decay", 0.5),
        ("--distillation", 100),
        ("--distillation", 100, "--distillation_target", "vectors", "--mini_batch_size", 4),
    ],
    ids=["averages", "cosines", "vectors"],
)
def test_a_run_that_goes_on_ends_as_the_unbroken_one(
    kept: tuple[object, ...], sources: dict[str, Path], tmp_path: Path
):
    """Catches an average with the weights of the checkpoint, a moving average that begins anew, a teacher that has been trained."""
    steps = ("--smoke", "false", "--max_steps", 4, "--per_device_train_batch_size", 16, "--held_out_names", 4, "--save_strategy", "steps", "--save_steps", 2, "--eval_strategy", "no")  # fmt: skip
    given = (*steps, *kept)
    whole = ended("sapbert", sources, tmp_path / "whole", *given)
    checkpoint = whole.with_name("whole-training") / "checkpoint-2"
    again = ended("sapbert", sources, tmp_path / "again", *given, "--resume_from_checkpoint", checkpoint)
    unbroken, resumed = weights(whole), weights(again)
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in unbroken.items())
    assert record(whole).get("averaging") == record(again).get("averaging")


@pytest.mark.parametrize("name", ["bergamot", "hiprbert", "italian_kge, contrastive"])
def test_a_run_with_a_teacher_goes_on_as_the_unbroken_one(name: str, sources: dict[str, Path], tmp_path: Path):
    """Catches a teacher that was made from the weights of the checkpoint."""
    steps = ("--smoke", "false", "--max_steps", 4, "--per_device_train_batch_size", 32, "--save_strategy", "steps", "--save_steps", 2, "--eval_strategy", "no")  # fmt: skip
    given = (*steps, "--distillation", 100)
    whole = ended(name, sources, tmp_path / "whole", *given)
    checkpoint = whole.with_name(f"{whole.name}-training") / "checkpoint-2"
    again = ended(name, sources, tmp_path / "again", *given, "--resume_from_checkpoint", checkpoint)
    unbroken, resumed, began = weights(whole), weights(again), weights(began_from(name, sources, tmp_path))
    assert all(torch.equal(tensor, resumed[key]) for key, tensor in unbroken.items())
    assert not all(torch.equal(tensor, unbroken[key]) for key, tensor in began.items() if key in unbroken)
