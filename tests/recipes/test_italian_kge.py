"""The Italian recipe, shrunk: all stages one after the other, what they leave, and what a person is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments

from recipes import italian_kge
from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.modules.mention_pooling import MentionPooling
from st_biomed.release.run_data import read_run
from st_biomed.samplers import HardNegativeCallback
from st_biomed.settings.bundled import bundled_recipe
from st_biomed.settings.recipe import read_settings
from st_biomed.terminology import Terminology
from st_biomed.training.italian_stage_folders import StageFolders

CONFIGS = Path(italian_kge.__file__).parent / "configs"
PAIRS = """term1,term2,mean
Flumpa Gland,gradtha gland,3
flumpa disease,gradtha disease,2
flumpa gland,flumpa disease,1
"""


def run(*arguments: object) -> None:
    italian_kge.main([str(CONFIGS / "italian_kge_smoke.yaml"), *map(str, arguments)])


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    names = Terminology.read("toy").strings
    path.write_text("".join(f"a case of {name} with {other}.\n" for name, other in zip(names, names[5:])), "utf-8")
    return path


@pytest.fixture(scope="module")
def outcome(tiny_bert_folder: Path, texts: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder of all stages, and what was printed."""
    folder = tmp_path_factory.mktemp("italian")
    (folder / "pairs.csv").write_text(PAIRS)
    related = f"name: toy_pairs\nevaluator: relatedness\nsettings: {{path: {folder / 'pairs.csv'}}}\n"
    (folder / "toy_pairs.yaml").write_text(related)
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *parts, **_: printed.append(" ".join(map(str, parts))))
        run(
            "--base_model", tiny_bert_folder, "--corpus", texts, "--benchmarks", folder / "toy_pairs.yaml",
            "--output_dir", folder / "out", "--push_to_hub", "false",
        )  # fmt: skip
    return folder / "out", "\n".join(printed)


def test_every_stage_leaves_what_the_next_one_takes(outcome: tuple[Path, str]) -> None:
    folder, printed = outcome
    assert [line for line in printed.splitlines() if line.startswith("== ")] == [
        f"== {stage}" for stage in italian_kge.STAGES
    ]
    bases = {stage: read_run(folder / stage / "run.json")["base_model"] for stage in ("injected", "contrastive")}
    assert set(bases.values()) == {"vocabulary"}
    assert read_run(folder / "pipelined" / "run.json")["base_model"] == "injected"
    table = KGETable.load(folder / "kge" / "complex")
    injected = SentenceTransformer(str(folder / "injected"), device="cpu", trust_remote_code=True)
    np.testing.assert_array_equal(injected[0].injection.entities.numpy(), table.vectors)
    assert table.terminology == Terminology.load(folder / "terminology").digest


def test_the_contrastive_model_is_plain_and_the_pipelined_one_carries_its_code(outcome: tuple[Path, str]) -> None:
    """Catches a release that needs this package, and one whose bare terms are not those of the training."""
    folder, _ = outcome
    plain = SentenceTransformer(str(folder / "contrastive"), device="cpu")
    trained = SentenceTransformer(
        str(folder / "contrastive-training" / "trained"), device="cpu", trust_remote_code=True
    )
    terms = ["flumpa gland", "acute disease of the gland"]
    np.testing.assert_allclose(plain.encode(terms), trained.encode(terms), atol=1e-6)
    assert type(trained[1]).__name__ == MentionPooling.__name__
    whole = SentenceTransformer(str(folder / "pipelined"), device="cpu", trust_remote_code=True)
    assert whole[0].inject and type(whole[1]).__name__ == MentionPooling.__name__
    injected = SentenceTransformer(str(folder / "injected"), device="cpu", trust_remote_code=True)
    assert not np.allclose(whole.encode(terms), injected.encode(terms), atol=1e-5)


def test_results_stand_before_and_after(outcome: tuple[Path, str]) -> None:
    results = read_run(outcome[0] / "contrastive" / "run.json")["results"]
    assert set(results) == {"toy_pairs"} and set(results["toy_pairs"]) == {"before", "after"}
    config = read_run(outcome[0] / "contrastive" / "run.json")["losses"]
    assert "KGEMarginMultiSimilarityLoss" in json.dumps(config)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["v1", "v2", "barlow_twins"])
def test_one_stage_alone_with_another_loss(loss: str, tiny_bert_folder: Path, texts: Path, tmp_path: Path) -> None:
    """Catches a stage that needs what only an earlier one has."""
    run(
        "--stage", "contrastive", "--base_model", tiny_bert_folder, "--corpus", texts, "--loss", loss,
        "--pooling", "cls", "--output_dir", tmp_path / "out", "--push_to_hub", "false", "--eval_strategy", "epoch",
    )  # fmt: skip
    assert SentenceTransformer(str(tmp_path / "out" / "contrastive"), device="cpu").encode("flumpa").shape == (16,)


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "distillation", "cached"),
    [("v2", 0, "CachedMultiSimilarity"), ("v3", 0, "CachedKGEMarginMultiSimilarity"), ("v3", 1, "CachedDistilled")],
)
def test_the_gradient_cache_reaches_the_loss(
    loss: str, distillation: float, cached: str, outcome: tuple[Path, str], texts: Path, tmp_path: Path
) -> None:
    """Catches a size that is recorded and read by nothing, and a cached loss that cannot be distilled."""
    run(
        "--stage", "contrastive", "--corpus", texts, "--earlier", outcome[0], "--loss", loss, "--mini_batch_size", 4,
        "--distillation", distillation, "--output_dir", tmp_path / "out",
    )  # fmt: skip
    found = read_run(tmp_path / "out" / "contrastive" / "run.json")["losses"]["mentions"]
    assert found["loss"] == f"{cached}Loss" and found["config"]["mini_batch_size"] == 4


@pytest.mark.long
def test_a_later_stage_takes_the_earlier_ones_of_another_run(
    outcome: tuple[Path, str], texts: Path, tmp_path: Path
) -> None:
    """Catches an ablation that starts from the base model, or trains the graph anew."""
    run(
        "--stage", "pipelined", "--corpus", texts, "--earlier", outcome[0], "--detach_margin", "true",
        "--output_dir", tmp_path / "out",
    )  # fmt: skip
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["pipelined", "pipelined-training"]
    assert read_run(tmp_path / "out" / "pipelined" / "run.json")["base_model"] == "injected"


def test_neighbors_are_updated_during_a_run_of_the_configured_length(
    tiny_bert_folder: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches the run whose neighbors are found once because it ends within its first epoch."""
    recipe, training = read_settings(
        (italian_kge.ItalianArguments, SentenceTransformerTrainingArguments), [str(CONFIGS / "italian_kge_open.yaml")]
    )
    assert 3 <= training.max_steps // recipe.refresh_steps <= 10
    refreshed: list[int] = []
    found = HardNegativeCallback.refresh

    def refresh(self: HardNegativeCallback, *arguments: Any, step: int, **options: Any) -> None:
        refreshed.append(step)
        found(self, *arguments, step=step, **options)

    monkeypatch.setattr(HardNegativeCallback, "refresh", refresh)
    run(
        "--stage", "contrastive", "--loss", "v2", "--base_model", tiny_bert_folder, "--corpus", texts,
        "--refresh_steps", 1, "--output_dir", tmp_path / "out",
    )  # fmt: skip
    assert refreshed == [0, 1]


@pytest.mark.parametrize("stage", ["vocabulary", "kge", "inject"])
@pytest.mark.parametrize("chosen", [True, False])
def test_a_stage_takes_the_shared_arguments(
    stage: str, chosen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a stage that runs its whole length in a smoke run, and a choice that does not reach it."""
    given = (
        {"license": "cc0-1.0", "precision": "auto", "cache_dir": "vectors", "trust_remote_code": True}
        if chosen
        else {}
    )
    module = bundled_recipe({"vocabulary": "extend_bert", "inject": "knowledge_injection"}.get(stage, stage))
    taken: list[Any] = []
    monkeypatch.setattr(module, "train", lambda recipe, training: taken.append(recipe))
    settings = tmp_path / "stage.yaml"
    settings.write_text(f"output_dir: x\n{'' if stage == 'kge' else 'precision: auto'}\n")
    recipe = italian_kge.ItalianArguments(**given, smoke=True, **{f"{stage}_settings": str(settings)})
    italian_kge.other_recipe(stage, recipe, 0, tmp_path, StageFolders(tmp_path))
    assert taken[0].smoke
    assert stage == "kge" or taken[0].precision == "auto"
    assert all(getattr(taken[0], name, value) == value for name, value in given.items())


@pytest.mark.long
def test_a_control_of_the_margin_says_so_in_its_record(outcome: tuple[Path, str], texts: Path, tmp_path: Path) -> None:
    """Catches an option that does not reach the loss."""
    run(
        "--stage", "contrastive", "--corpus", texts, "--earlier", outcome[0], "--graph_vectors", "shuffled",
        "--output_dir", tmp_path / "out",
    )  # fmt: skip
    record = read_run(tmp_path / "out" / "contrastive" / "run.json")
    assert record["losses"]["mentions"]["config"]["kge"]["vectors"] == "shuffled"
    assert "a control: the vectors of the graph are exchanged" in json.dumps(record["readings"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stage", "injekt"], "unknown stage 'injekt'.*did you mean 'inject'"),
        (["--loss", "v4"], "unknown loss 'v4'"),
        (
            ["--stage", "contrastive", "--loss", "v1", "--graph_vectors", "zeros"],
            "graph_vectors: zeros is a control of the margin of loss v3, found loss v1",
        ),
        (["--neighbors", "0"], "neighbors must be at least 1, found 0"),
        (
            ["--stage", "contrastive", "--bare_names", "false"],
            "corpus: is needed, nothing was given; --bare_names true",
        ),
        (["--stage", "contrastive", "--corpus", "nowhere.txt"], "nowhere.txt: no such file or folder"),
        (
            ["--stage", "contrastive"],
            r"no graph embeddings for loss v3 \(there: none\); run --stage kge --kge_model c",
        ),
        (["--stage", "inject"], "corpus: is needed, nothing was given"),
        (["--stage", "inject", "--corpus", __file__, "--text_form", "lines"], "no graph embeddings for stage inject"),
        (["--stage", "pipelined", "--loss", "v2"], "no injected model for stage pipelined; run --stage inject first"),
        (
            ["--stage", "kge", "--language", "xx"],
            "language: no name of the terminology is in 'xx', they are in en; --language chooses one",
        ),
        (
            ["--stage", "inject", "--earlier", "nowhere"],
            "earlier: nowhere is not the output_dir of a run",
        ),
        (["--earlier", "nowhere"], "earlier: is for --stage kge, .*, found --stage all"),
        (["--stage", "vocabulary"], "corpus: is needed, nothing was given"),
        (
            ["--stage", "contrastive", "--loss", "v2", "--bare_names", "true", "--benchmarks", "mayosrs_it"],
            "mayosrs_it: needs .*MayoSRS_it.csv in the data folder of ST_BIOMED_DATA",
        ),
    ],
)
def test_what_is_missing_is_said(
    arguments: list[str], message: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["italian_kge.py"])
    with pytest.raises(InputError, match=message):
        run(*arguments, "--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out")


@pytest.mark.parametrize("stage", ["vocabulary", "kge", "inject"])
@pytest.mark.parametrize(
    "given",
    ["average 0.5", "distillation 5", "adapter lora", "ema_decay 0.9", "layer_decay 0.5", "frozen embeddings", "dropout 0"],
)  # fmt: skip
def test_a_stage_with_settings_of_its_own_takes_none_for_the_contrastive_ones(
    stage: str, given: str, tmp_path: Path
) -> None:
    """Catches an argument that is accepted and reaches no training."""
    name, value = given.split()
    message = rf"^{name}: is not used with stage {stage}, whose settings are those of {stage}_settings, found "
    with pytest.raises(InputError, match=message):
        run("--stage", stage, f"--{name}", value, "--output_dir", tmp_path / "out")
    (tmp_path / "own.yaml").write_text(f"extends: italian_kge_smoke.yaml\n{name}: {value}\n")
    recipe, training = read_settings(
        (italian_kge.ItalianArguments, SentenceTransformerTrainingArguments),
        [str(tmp_path / "own.yaml"), "--stage", stage],
    )
    italian_kge.check(recipe, training, StageFolders(tmp_path))  # one file for all stages


@pytest.mark.parametrize("stage", ["vocabulary", "inject", "contrastive"])
def test_the_base_model_is_looked_for_before_the_terminology_is_read(stage: str, tmp_path: Path) -> None:
    """Catches minutes of reading that end with a model that is not there."""
    (tmp_path / "out" / "kge" / "transe").mkdir(parents=True)
    with pytest.raises(InputError, match="no-such-model"):
        run(
            "--stage", stage, "--base_model", "no-such-model", "--terminology", "no_such_reader", "--corpus", __file__,
            "--text_form", "lines", "--loss", "v2", "--kge_model", "transe", "--output_dir", tmp_path / "out",
        )  # fmt: skip


def test_another_terminology_is_not_mixed_in(tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a loss whose text ids are those of the terminology of an earlier stage."""
    Terminology.read("toy").subset(below=["TOY:D0"]).save(tmp_path / "out" / "terminology")
    (tmp_path / "out" / "injected").mkdir()
    with pytest.raises(InputError, match=r"earlier stages \(injected\) had another terminology; choose another outp"):
        run("--stage", "kge", "--output_dir", tmp_path / "out")


def test_a_terminology_that_no_stage_used_yet_holds_nothing_up(tmp_path: Path) -> None:
    """Catches an output_dir that is lost after a run that failed at its start."""
    Terminology.read("toy").subset(below=["TOY:D0"]).save(tmp_path / "out" / "terminology")
    run("--stage", "kge", "--output_dir", tmp_path / "out")
    assert Terminology.load(tmp_path / "out" / "terminology").digest == Terminology.read("toy").digest


def test_a_release_of_a_later_stage_is_seen_before_the_first_one(texts: Path, tmp_path: Path) -> None:
    """Catches hours of earlier stages that end at a folder that may not be replaced."""
    out = tmp_path / "out"
    (out / "pipelined").mkdir(parents=True)
    (out / "pipelined" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="out/pipelined: already contains a release"):
        run("--corpus", texts, "--output_dir", out, "--overwrite", "false")
    assert not (out / "vocabulary").exists()
