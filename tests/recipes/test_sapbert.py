"""The SapBERT recipe, shrunk: what it leaves behind, every variant of it, and what a person is told."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import AutoModel, AutoTokenizer

from recipes import sapbert
from st_biomed.errors import InputError
from st_biomed.losses.by_name import LOSSES
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training import encoder_run

CONFIGS = Path(sapbert.__file__).parent / "configs"
SMOKE = str(CONFIGS / "sapbert_smoke.yaml")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tiny_bert_folder: Path, tmp_path: Path):
    """Run the recipe with these arguments, by default to ``tmp_path/out``."""

    def call(*arguments: object, output: str = "out") -> Path:
        given = [
            "--base_model",
            tiny_bert_folder,
            "--output_dir",
            tmp_path / output,
            "--eval_strategy",
            "no",
            *arguments,
        ]
        monkeypatch.setattr(sys, "argv", ["sapbert.py", SMOKE, *map(str, given)])
        sapbert.main()
        return tmp_path / output

    return call


LONGER = ("--smoke", "false", "--held_out_names", 4, "--per_device_train_batch_size", 16, "--max_steps", 4)


@pytest.mark.long
def test_the_release_loads_everywhere_and_its_first_token_is_the_vector(run, capsys: pytest.CaptureFixture[str]):
    """Catches a release that BioSyn and its like, which take a plain encoder's first token, cannot start from."""
    folder = run("--eval_strategy", "steps")
    terms = ["acute disease", "flumpa of the terkia"]
    vectors = SentenceTransformer(str(folder), device="cpu").encode(terms)
    tokens = AutoTokenizer.from_pretrained(folder)(terms, padding=True, return_tensors="pt")
    with torch.no_grad():
        first = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state[:, 0]
    np.testing.assert_allclose(vectors, first.numpy(), atol=1e-6)
    record = json.loads((folder / "run.json").read_text())
    assert record["losses"]["synonyms"]["loss"] == "MultiSimilarityLoss"
    assert record["losses"]["synonyms"]["config"]["beta"] == 60
    assert set(record["results"]["held-out-names"]) == {"before", "after"}
    assert {m["step"] for m in record["metrics"] if m["name"].endswith("held-out-names_dev_acc@1")} >= {1, 2}
    assert "held-out-names (test, 4 mentions)" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_every_loss_of_the_comparison_trains(loss: str, run, tiny_bert_folder: Path):
    """Catches a loss that takes other arguments than the recipe gives, or that does not reach the model."""
    folder = run("--loss", loss, "--miner", "none" if loss == "cosine" else "triplet")
    before, after = (
        SentenceTransformer(str(path), device="cpu").encode("acute disease") for path in (tiny_bert_folder, folder)
    )
    plain = SentenceTransformer(str(folder), device="cpu")
    assert plain[1].get_config_dict()["pooling_mode"] == "cls"
    assert before.shape == after.shape and np.isfinite(after).all()


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("--mini_batch_size", 4),
        ("--miner", "ms"),
        ("--loss", "infonce", "--loss_form", "published"),
        ("--loss_options", "beta=50,base=0.6"),
        ("--adapter", "bottleneck", "--adapter_size", "small"),
        ("--pooling", "mean", "--decay_all", "false"),
        ("--pivot_language", ""),
        ("--held_out_names", 0, "--smoke", "false", "--per_device_train_batch_size", 16, "--max_steps", 1),
    ],
    ids=lambda arguments: arguments[0].strip("-") + "_" + str(arguments[1]),
)
def test_every_variant_ends_in_a_release(arguments: tuple[object, ...], run):
    folder = run(*arguments)
    record = json.loads((folder / "run.json").read_text())
    assert record["recipe"] == "sapbert"
    assert (folder / "bottleneck_adapter.py").is_file() is ("bottleneck" in arguments)


def test_hard_negatives_make_the_batches(run):
    """Catches an option that is read and changes nothing, and neighbors that are never looked for."""
    folder = run("--neighbors", 2)
    record = json.loads((folder / "run.json").read_text())
    assert record["training_arguments"]["per_device_train_batch_size"] == 2 * (1 + 2 + 2)
    assert any("CODER++" in reading for reading in record["readings"])


def test_low_rank_updates_are_merged_before_the_release(run):
    pytest.importorskip("peft")
    try:
        folder = run("--adapter", "lora")
    except ValueError as error:
        assert "transformers" in str(error)
        pytest.skip(str(error))
    assert not [name for name in load_file(folder / "model.safetensors") if "lora" in name]


@pytest.mark.parametrize("frozen", [r"layer\.0\.", r"layer\.0\..*(weight|bias)$", "."])
@pytest.mark.parametrize("adapter", ["lora", "bottleneck"])
def test_adapters_of_frozen_layers_are_not_trained(adapter: str, frozen: str, run, monkeypatch: pytest.MonkeyPatch):
    """Catches a layer that is frozen and whose adapters learn."""
    if adapter == "lora":
        pytest.importorskip("peft")
    trained: list[str] = []

    def begin(model: SentenceTransformer, **options: object) -> None:
        trained.extend(name for name, weight in model.named_parameters() if weight.requires_grad)
        raise KeyboardInterrupt

    monkeypatch.setattr(encoder_run, "EncoderTrainer", begin)
    if frozen == ".":
        with pytest.raises(InputError, match="frozen: '.' matches all adapters"):
            run("--adapter", adapter, "--frozen", frozen)
        return
    with pytest.raises(KeyboardInterrupt):
        run("--adapter", adapter, "--frozen", frozen)
    assert trained and not [name for name in trained if "layer.0." in name]
    assert [name for name in trained if "layer.1." in name]


@pytest.mark.long
def test_a_run_that_goes_on_from_a_checkpoint_ends_like_an_unbroken_one(run):
    """Catches batches, dropout or moments that start anew where a killed run is taken up."""
    whole = run(*LONGER, "--save_strategy", "steps", "--save_steps", 2)
    checkpoint = whole.with_name("out-training") / "checkpoint-2"
    again = run(*LONGER, "--resume_from_checkpoint", checkpoint, output="again")
    unbroken, resumed = (load_file(folder / "model.safetensors") for folder in (whole, again))
    half = load_file(checkpoint / "model.safetensors")
    logs = [json.loads((folder / "run.json").read_text())["metrics"] for folder in (whole, again)]
    assert [entry["step"] for entry in logs[0]] == [entry["step"] for entry in logs[1]]
    assert all(torch.equal(unbroken[name], resumed[name]) for name in unbroken)
    assert any(not torch.equal(unbroken[name], half[name]) for name in unbroken)


def test_a_mistyped_metric_is_found_before_the_base_model_is_measured(run, monkeypatch: pytest.MonkeyPatch):
    """Catches an error that waits until every benchmark has been measured."""
    monkeypatch.setattr(sapbert, "evaluate_base_model", None)
    with pytest.raises(InputError, match="metric_for_best_model"):
        run("--eval_strategy", "steps", "--eval_steps", 2, "--metric_for_best_model", "zorb")


@pytest.mark.long
def test_a_run_is_not_resumed_with_other_settings(run):
    """Catches a rate, a seed or a moving average that the checkpoint overrules while the record has the new one."""
    steps = ["--save_strategy", "steps", "--save_steps", 2]
    checkpoint = run(*LONGER, *steps, "--ema_decay", 0.9).with_name("out-training") / "checkpoint-2"
    resumed = [*LONGER, *steps, "--resume_from_checkpoint", checkpoint]
    for other, message in (
        (["--ema_decay", 0.9, "--learning_rate", 0.5], "learning_rate .*found 0.5"),
        (["--ema_decay", 0.9, "--seed", 7], "seed .*found 7"),
        ([], "ema_decay 0.9, found None"),
    ):
        with pytest.raises(InputError, match=f"out-training: was trained with {message}"):
            run(*resumed, *other, output="again")
    run(*resumed, "--ema_decay", 0.9, "--average", 0.5, "--max_steps", 5, output="again")  # longer, and averaged


@pytest.mark.long
def test_several_seeds_are_several_releases_and_their_mean(run, capsys: pytest.CaptureFixture[str]):
    """Catches runs that share a seed, a folder or a model."""
    folder = run("--seeds", 1, 2, "--push_to_hub", "false")
    records = [json.loads((folder / f"seed-{seed}" / "run.json").read_text()) for seed in (1, 2)]
    assert [record["seed"] for record in records] == [1, 2]
    weights = [load_file(folder / f"seed-{seed}" / "model.safetensors") for seed in (1, 2)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert json.loads((folder / "seeds.json").read_text())["seeds"] == [1, 2]
    assert re.search(r"held-out-names_acc@1 +\d\.\d{4} \+- \d\.\d{4}", capsys.readouterr().out)
    figures = json.loads((folder / "seeds.json").read_text())["results"]
    shutil.rmtree(folder / "seed-2")
    run("--seeds", 1, 2)
    assert "seed 1: finished in an earlier run" in capsys.readouterr().out
    again = json.loads((folder / "seeds.json").read_text())["results"]
    assert again[0]["held-out-names"] == pytest.approx(figures[0]["held-out-names"])
    for changed, named in (
        (("--learning_rate", 0.5), "learning_rate"),
        (("--base_model", folder / "seed-2"), "base_model"),
        (("--miner", "ms"), "miner 'triplet', found 'ms'"),
        (("--terminology", "toy", f"obo:{FIXTURES.parent}/readers/zorb.obo"), "terminology"),
    ):
        with pytest.raises(InputError, match=f"seed-1: was trained with {named}"):
            run("--seeds", 3, 1, *changed)
    assert not (folder / "seed-3").exists(), "nothing is trained before the finished seeds are compared"


@pytest.mark.parametrize(
    "path", sorted(p for p in CONFIGS.glob("sapbert_*.yaml") if "finetune" not in p.name), ids=lambda p: p.stem
)
def test_every_setting_of_every_configuration_is_an_argument(path: Path):
    recipe, training = read_settings(
        (sapbert.SapBERTArguments, SentenceTransformerTrainingArguments), [str(path), "--bf16", "false"]
    )
    assert training.eval_strategy == "steps"
    if path.stem not in ("sapbert_open", "sapbert_smoke"):
        assert (recipe.loss, recipe.miner, training.per_device_train_batch_size) == ("ms", "triplet", 512)


def test_values_of_a_file_may_stay_where_an_argument_ends_their_use(tmp_path: Path):
    """Catches an ablation that must undo a file's values one by one."""
    more = tmp_path / "more.yaml"
    more.write_text(f"extends: {SMOKE}\nneighbors: 3\nprototypes: 2\nadapter: bottleneck\nadapter_size: small\n")
    kinds = (sapbert.SapBERTArguments, SentenceTransformerTrainingArguments)
    recipe, _ = read_settings(kinds, [str(more), "--neighbors", "0", "--adapter", "none"])
    sapbert.check(recipe)
    for arguments, name in ((["--prototypes", "2"], "prototypes"), (["--adapter_size", "small"], "adapter_size")):
        recipe, _ = read_settings(kinds, [SMOKE, *arguments])
        with pytest.raises(InputError, match=f"^{name}: is not used with"):
            sapbert.check(recipe)


def test_none_leaves_out_pairs(tmp_path: Path):
    """Catches a file named none; the README says that none skips what a configuration lists."""
    kinds = (sapbert.SapBERTArguments, SentenceTransformerTrainingArguments)
    recipe, training = read_settings(
        kinds, [SMOKE, "--relatedness", "none", "--linking", "none", "--held_out_names", "0"]
    )
    sapbert.check(recipe)
    assert str(sapbert.read(recipe, training).suite) == "none"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terminology", "nowhere/at/all"], "terminology 'nowhere/at/all': no such folder"),
        (["--base_model", "nobody/nothing"], "base model 'nobody/nothing' is not a local folder"),
        (
            ["--seeds", "1", "--base_model", "nobody/nothing", "--terminology", "nowhere"],
            "base model 'nobody/nothing'",
        ),
        (["--loss", "mss"], "unknown loss 'mss'|loss must be one of|'ms'"),
        (["--miner", "triplets"], "did you mean 'triplet'"),
        (["--adapter", "lorra"], "unknown adapter 'lorra'.*did you mean 'lora'"),
        (["--adapter", "bottleneck", "--adapter_size", "medium"], "unknown adapter_size 'medium'"),
        (
            ["--loss", "circle", "--mini_batch_size", "4", "--terminology", "nowhere"],
            "loss 'circle' has no cached form",
        ),
        (["--loss_options", "beta"], "loss_options must have the form NAME=NUMBER,..., found 'beta'"),
        (["--seeds", "1", "1"], "each is run once, found 1 1"),
        (["--seeds", "1", "2", "--resume_from_checkpoint", "."], r"with --seeds it takes true, found \."),
        (["--linking", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["--pivot_language", "xx"], "xx"),
        (["--pivot_language", "en", "--neighbors", "5"], "pivot_language: batches with hard negatives have none"),
        (["--neighbors", "-1"], "neighbors must be at least 0, found -1"),
        (["--push_to_hub", "true"], "push_to_hub must be the repository, owner/name, found 'true'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys
):
    given = ["--base_model", str(tiny_bert_folder), "--output_dir", str(tmp_path / "out"), *arguments]
    monkeypatch.setattr(sys, "argv", ["sapbert.py", SMOKE, *given])
    with pytest.raises(SystemExit) as end:
        run_recipe(sapbert.main)
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: ") and re.search(message, line), line
    assert not (tmp_path / "out" / "run.json").exists()
