"""The BERGAMOT recipe, shrunk: every graph encoder and loss, what is released, and what a person is told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments

from recipes import bergamot
from st_biomed.modules.graph_arguments import GRAPHS
from st_biomed.modules.graph_encoders_by_name import load_graph_encoder
from st_biomed.records import SourceInfo, Term
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology

CONFIGS = Path(bergamot.__file__).parent / "configs"
SMOKE = str(CONFIGS / "bergamot_smoke.yaml")


@pytest.fixture
def run(tiny_bert_folder: Path, tmp_path: Path):
    """Run the recipe with these arguments, by default to ``tmp_path/out``."""

    def call(*arguments: object, output: str = "out") -> Path:
        given = ["--base_model", tiny_bert_folder, "--output_dir", tmp_path / output, *arguments]
        bergamot.main([SMOKE, *map(str, given)])
        return tmp_path / output

    return call


LONGER = ("--smoke", "false", "--per_device_train_batch_size", 8, "--max_steps", 4)


def parts_of(folder: Path) -> dict[str, float]:
    """The weights of the losses that the record tells of."""
    config = json.loads((folder / "run.json").read_text())["losses"]["names"]["config"]
    return {name.removesuffix("_weight"): value for name, value in config.items() if name.endswith("_weight")}


@pytest.mark.long
@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_encoder_trains_and_stays_out_of_the_release(graph: str, run):
    """Catches a release that needs the graph, and one that carries it along."""
    folder = run("--graph", graph, *(["--blocks", 4] if "rgcn" in graph else []))
    assert SentenceTransformer(str(folder), device="cpu").encode("acute disease").shape == (16,)
    assert not [name for name in load_file(folder / "model.safetensors") if "conv" in name]
    kept = folder.with_name("out-training") / "graph_encoder"
    if graph == "none":
        assert not kept.exists() and parts_of(folder)["node"] == 0
    else:
        assert load_graph_encoder(kept).kind == graph
        assert parts_of(folder) == {"text": 1, "node": 0.1, "intermodal": 0.1, "dgi": 0.1}


@pytest.mark.long
@pytest.mark.parametrize("name", ["text", "node", "intermodal", "dgi"])
def test_each_loss_can_be_left_out(name: str, run):
    """Catches a flag of the ablation that reaches another loss, or none."""
    weights = parts_of(run(f"--{name}_weight", 0))
    assert weights[name] == 0 and sum(value > 0 for value in weights.values()) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("--mini_batch_size", 4),
        ("--relation_loss", "distmult"),
        ("--relation_loss", "transe", "--graph", "none"),
        ("--graph", "rgcn", "--bases", 2),
        ("--relation_features", "false"),
        ("--neighborhood", "shuffled"),
        ("--neighborhood", "none", "--mini_batch_size", 4),
        ("--graph", "published_gat", "--self_loops", "false", "--attention_dropout", 0),
        ("--max_neighbors", 3, 2, "--graph_hidden", 8, "--graph", "sage"),
        ("--cross_view", "true", "--corruption", "src", "--intermodal_miner", "false"),
        ("--relations", "false", "--inverses", "false"),
    ],
    ids=lambda arguments: "_".join(map(str, arguments)).replace("--", ""),
)
def test_every_variant_ends_in_a_release(arguments: tuple[object, ...], run):
    folder = run(*arguments)
    assert json.loads((folder / "run.json").read_text())["recipe"] == "bergamot"


@pytest.mark.long
def test_without_the_weights_of_the_graph_it_is_trained_on_texts_alone(run):
    """Catches a graph that changes batches, texts or gradients where nothing is asked of it."""
    without = run(*LONGER, "--graph", "none", "--dropout", 0)
    unused = run(
        *LONGER, "--dropout", 0, "--node_weight", 0, "--intermodal_weight", 0, "--dgi_weight", 0, output="unused"
    )
    used = run(*LONGER, "--dropout", 0, output="used")
    texts, same, other = (load_file(folder / "model.safetensors") for folder in (without, unused, used))
    assert all(torch.allclose(texts[name], same[name], atol=1e-6) for name in texts)
    assert any(not torch.allclose(texts[name], other[name], atol=1e-6) for name in texts)


@pytest.mark.long
def test_the_controls_train_on_the_same_texts_with_other_neighbors(run):
    """Catches a control that changes nothing, and one that embeds neighbors it does not have."""
    folders = [run(*LONGER, "--dropout", 0, "--neighborhood", name, output=name) for name in bergamot.NEIGHBORHOODS]
    stated, shuffled, alone = (load_file(folder / "model.safetensors") for folder in folders)
    for one, other in ((stated, shuffled), (stated, alone), (shuffled, alone)):
        assert any(not torch.allclose(one[name], other[name], atol=1e-6) for name in one)
    configs = [json.loads((folder / "run.json").read_text())["losses"]["names"]["config"] for folder in folders]
    assert [config["edgeless"] for config in configs] == [False, False, True]
    cards = [(folder / "README.md").read_text("utf-8") for folder in folders]
    assert ["a control: " in card for card in cards] == [False, True, True]


def test_without_a_graph_no_edge_and_no_pivot_language_is_needed(run, tmp_path: Path):
    """Catches SapBERT's training refused for want of edges, and a card that speaks of a graph encoder."""
    names = [Term(f"Z:{i}", f"zorb{end} {i}", source="Z", language="it") for i in range(12) for end in ("al", "ic")]
    Terminology.from_records(names, SourceInfo("Z", "Zorbs", license="CC0-1.0", redistributable=True)).save(
        tmp_path / "z"
    )
    out = run("--terminology", tmp_path / "z", "--graph", "none")
    card = (out / "README.md").read_text("utf-8")
    assert "trained on names alone" in card and "with a graph encoder beside it" not in card
    assert json.loads((out / "run.json").read_text("utf-8"))["configuration"]["pivot_language"] == ""


@pytest.mark.long
def test_a_run_that_goes_on_from_a_checkpoint_ends_like_an_unbroken_one(run):
    """Catches neighborhoods, corruptions or a graph encoder that start anew where a killed run is taken up."""
    whole = run(*LONGER, "--save_strategy", "steps", "--save_steps", 2)
    checkpoint = whole.with_name("out-training") / "checkpoint-2"
    run(*LONGER, "--resume_from_checkpoint", checkpoint, output="again")
    for file in ("out/model.safetensors", "out-training/graph_encoder/graph_encoder.safetensors"):
        unbroken, resumed = (load_file(whole.parent / file.replace("out", name)) for name in ("out", "again"))
        assert all(torch.equal(unbroken[name], resumed[name]) for name in unbroken), file
    half = load_file(checkpoint / "model.safetensors")
    assert any(not torch.equal(half[name], value) for name, value in load_file(whole / "model.safetensors").items())


@pytest.mark.long
def test_the_graph_encoder_has_a_rate_of_its_own_that_a_resumed_run_keeps(run, monkeypatch):
    """Catches a rate that no group has, one for the text encoder, and one or a warm-up that is lost at a checkpoint."""
    rates: list[set[tuple[bool, float, float]]] = []
    begin = bergamot.train_encoder

    def watched(model, recipe, training, rows, loss, *others, **options):
        trainer = begin(model, recipe, training, rows, loss, *others, **options)
        encoder = {id(parameter) for parameter in model.parameters()}
        groups = zip(trainer.optimizer.param_groups, trainer.lr_scheduler.lr_lambdas, strict=True)
        rates.append(
            {(id(p) in encoder, group["initial_lr"], factor(1)) for group, factor in groups for p in group["params"]}
        )
        return trainer

    monkeypatch.setattr(bergamot, "train_encoder", watched)
    own = ("--learning_rate", 1e-3, "--graph_learning_rate", 5e-2, "--graph_warmup_steps", 3, "--dropout", 0)
    for decay in ("true", "false"):
        whole = run(*LONGER, *own, "--decay_all", decay, "--save_strategy", "steps", "--save_steps", 2, output=decay)
        checkpoint = whole.with_name(f"{decay}-training") / "checkpoint-2"
        again = run(*LONGER, *own, "--decay_all", decay, "--resume_from_checkpoint", checkpoint, output=f"{decay}2")
        for file in ("{}/model.safetensors", "{}-training/graph_encoder/graph_encoder.safetensors"):
            unbroken, resumed = (load_file(whole.parent / file.format(one.name)) for one in (whole, again))
            assert all(torch.equal(unbroken[name], resumed[name]) for name in unbroken)
    # four steps, without a warm-up and with one of three
    assert rates == [{(True, 1e-3, 3 / 4), (False, 5e-2, 1 / 3)}] * 4


@pytest.mark.long
def test_translations_are_held_out_and_linked_in_training(run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Catches held-out names that are trained on, and languages that are not measured."""
    words = {"en": "flumpa", "es": "flumpo", "it": "flumpi"}
    records = [
        Term(f"S:{c:02}", f"{word} {c}{i}", "synonym", language)
        for c in range(40)
        for language, word in words.items()
        for i in range(2)
    ]
    source = SourceInfo("S", "S", redistributable=True)
    toy = Terminology.read("toy")
    Terminology.merge(Terminology.from_records(records, source), toy).save(tmp_path / "both")
    folder = run(
        "--terminology", tmp_path / "both", "--held_out_translations", 4, "--translated", "S:", "--pivot_language", "en",
        "--eval_strategy", "steps", "--eval_steps", 1,
    )  # fmt: skip
    record = json.loads((folder / "run.json").read_text())
    assert set(record["results"]) == {"translations-es", "translations-it"}
    assert {m["step"] for m in record["metrics"] if m["name"] == "eval_translations-es_dev_acc@1"} >= {1, 2}
    assert record["language"] == ["en", "es", "it"]
    trained = Terminology.load(folder.with_name("out-training") / "terminology")
    assert trained.n_texts == toy.n_texts + len(records) - 8 * 4
    assert "translations-it (test, 8 mentions)" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("bergamot_*.yaml")), ids=lambda path: path.stem)
def test_every_setting_of_every_configuration_is_an_argument(path: Path):
    recipe, training = read_settings(
        (bergamot.BergamotArguments, SentenceTransformerTrainingArguments), [str(path), "--bf16", "false"]
    )
    assert recipe.dgi_weight == 0.1 and not recipe.cross_view
    assert recipe.intermodal_miner == (path.stem != "bergamot_paper")  # committed figures rest on mining
    if path.stem == "bergamot_paper":
        assert training.per_device_train_batch_size == 512
        assert (recipe.graph, recipe.node_weight, recipe.intermodal_weight) == ("published_gat", 0.1, 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "gatt"], "unknown graph 'gatt'.*did you mean 'gat'"),
        (["--relation_loss", "transd"], "unknown relation_loss 'transd'.*did you mean 'transe'"),
        (["--graph", "rgcn"], "blocks must divide width=16, found 64"),
        (["--max_neighbors", "0"], "max_neighbors must be at least 1"),
        (["--relations", "false", "--parents", "false"], "one of them is needed for a graph"),
        (["--text_weight", "0", "--graph", "none"], "at least one weight must be above 0"),
        (["--held_out_translations", "3", "--pivot_language", "en"], "languages other than the pivot 'en'"),
        (["--benchmarks", "mayosrss"], "unknown benchmark 'mayosrss'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys
):
    given = ["--base_model", str(tiny_bert_folder), "--output_dir", str(tmp_path / "out"), *arguments]
    monkeypatch.setattr(sys, "argv", ["bergamot.py", SMOKE, *given])
    with pytest.raises(SystemExit) as end:
        run_recipe(bergamot.main)
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: ") and re.search(message, line), line
    assert not (tmp_path / "out" / "run.json").exists()


def test_a_terminology_is_needed(tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bergamot.py", "--output_dir", str(tmp_path / "out")])
    with pytest.raises(SystemExit):
        run_recipe(bergamot.main)
    assert "terminology: is needed, nothing was given" in capsys.readouterr().err


@pytest.mark.long
def test_the_smoke_run_is_reproducible(run):
    """Catches a draw that does not follow from the seed."""
    vectors, other = (
        SentenceTransformer(str(run(output=name)), device="cpu").encode("acute disease") for name in ("one", "other")
    )
    np.testing.assert_array_equal(vectors, other)
