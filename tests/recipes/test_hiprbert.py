"""The HiPrBERT recipe, shrunk: what it leaves behind, and what a person is told when the input is wrong."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments

from recipes import hiprbert
from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.release.privacy import check_release, check_training_arguments
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training import encoder_run
from st_biomed.training_data import draw_related, split_by_subtree

CONFIGS = Path(hiprbert.__file__).parent / "configs"
SMOKE = str(CONFIGS / "hiprbert_smoke.yaml")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["hiprbert.py", SMOKE, *map(str, arguments)])
    hiprbert.main()


@pytest.fixture(scope="module")
def outcome(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The output folder of a smoke run with checkpoints, and what it printed."""
    folder = tmp_path_factory.mktemp("recipe") / "smoke"
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *parts, **_: printed.append(" ".join(map(str, parts))))
        run(
            patch,
            "--base_model",
            tiny_bert_folder,
            "--output_dir",
            folder,
            "--save_strategy",
            "steps",
            "--save_steps",
            1,
        )
    return folder, "\n".join(printed)


def test_the_release_loads_with_plain_sentence_transformers(outcome: tuple[Path, str]):
    assert SentenceTransformer(str(outcome[0]), device="cpu").encode(["acute disease"]).shape == (1, 16)


def test_low_rank_updates_begin_the_same_in_every_run(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches weights that are drawn before the seed is set."""
    pytest.importorskip("peft")
    begun: list[dict[str, torch.Tensor]] = []
    real = encoder_run.add_lora

    def added(model: SentenceTransformer, **options: bool) -> None:
        begun.append(
            {name: weight.clone() for name, weight in real(model, **options).named_parameters() if "lora_A" in name}
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(encoder_run, "add_lora", added)
    for i in range(2):
        torch.manual_seed(i)
        given = ("--base_model", tiny_bert_folder, "--output_dir", tmp_path / "out", "--adapter", "lora")
        with pytest.raises(KeyboardInterrupt):
            run(monkeypatch, *given, "--parts", "synonyms")
    assert begun[0] and all(torch.equal(begun[0][name], begun[1][name]) for name in begun[0])


def test_the_table_shows_before_and_after_on_held_out_trees(outcome: tuple[Path, str]):
    table = outcome[1].split("held out of training")[1].splitlines()
    assert table[1].split() == ["before", "after", "change"]
    assert [line.split()[0] for line in table[2:10]] == ["0v1", "0v2", "0v3", "1v2", "1v3", "2v3", "mean", "spearman"]


def test_the_record_holds_results_and_all_three_kinds_of_pairs(outcome: tuple[Path, str]):
    record = json.loads((outcome[0] / "run.json").read_text())
    assert set(record["losses"]) == {"synonyms", "relations", "hierarchy"}
    assert set(record["results"]["tree_test"]) == {"before", "after"}


def test_the_batches_of_each_part_are_printed_and_recorded_and_on_the_card(outcome: tuple[Path, str]):
    """Catches a part with the number of another part, and numbers that are not those of the sampler."""
    folder, printed = outcome
    batches = json.loads((folder / "run.json").read_text())["batches"]
    total = sum(batches.values())
    shares = ", ".join(f"{part} {n:,} ({n / total:.0%})" for part, n in batches.items())
    assert f"batches of an epoch: {shares}\n" in printed and list(batches) == ["synonyms", "relations", "hierarchy"]
    assert f"| relations | MultiSimilarityLoss | {batches['relations']:,} |" in (folder / "README.md").read_text()
    assert len(set(batches.values())) > 1, "could not tell one part from another"


def test_relations_of_held_out_concepts_are_measured_and_not_trained(outcome: tuple[Path, str]):
    """Catches a trained pair with a held-out concept, and an AUC that is not in the record, on the card or printed."""
    folder, printed = outcome
    table = printed.split("AUC on relations of concepts held out of training")[1].splitlines()
    assert table[1].split() == ["before", "after", "change"] and table[2].split()[0] == "mean"
    found = json.loads((folder / "run.json").read_text())["results"]["held-out-relations"]
    assert 0 <= found["after"]["held-out-relations_macro_auc"] <= 1 and set(found) == {"before", "after"}
    assert "### held-out-relations" in (folder / "README.md").read_text()
    whole, train = Terminology.read("toy"), Terminology.load(folder.parent / "smoke-training" / "terminology")
    related = {train.codes[i] for end in ("head", "tail") for i in train.relations[end].to_pylist()}
    splits = split_by_subtree(Hierarchy(whole), depth=1, dev=0.2, test=0.2)
    drawn = set(draw_related(splits.train, 4, 0))
    held_out = {*splits.test.codes, *splits.dev.codes, *drawn}
    assert len(drawn) > 4 and related and not related & held_out
    assert set(train.codes) >= drawn


def toy_run(base_model: Path, folder: Path) -> list[object]:
    """The arguments of a run on invented terms."""
    return ["--base_model", base_model, "--output_dir", folder / "out", "--terminology", "toy"]


@pytest.mark.long
def test_held_out_names_are_linked_before_and_after(tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys):
    """Catches names that are measured and trained on, and a loss in linking that nobody is shown."""
    given = [
        *toy_run(tiny_bert_folder, tmp_path),
        "--benchmark",
        "none",
    ]
    run(monkeypatch, *given, "--held_out_names", 4, "--held_out_dictionary", 8)
    shown = capsys.readouterr().out.split("names held out of training:\n")[1].splitlines()
    name, before, after, change = shown[0].split()
    assert name == "acc@1" and float(change) == pytest.approx(float(after) - float(before), abs=1.1e-3)
    assert {"tree_test", "held-out-names"} <= json.loads((tmp_path / "out" / "run.json").read_text())["results"].keys()
    whole, train = Terminology.read("toy"), Terminology.load(tmp_path / "out-training" / "terminology")
    splits = split_by_subtree(Hierarchy(whole), depth=1, dev=0.2, test=0.2)
    assert len(set(splits.train.strings) - set(train.strings)) == 8


def without_relations(folder: Path) -> Path:
    """The invented terms without their relations."""
    whole = Terminology.read("toy")
    every = np.ones(whole.relations.num_rows, dtype=bool)
    return whole.without_rows("relations", every, "relations", "left out").save(folder / "unrelated")


def test_without_relations_their_part_is_left_out_by_default(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys
):
    """Catches a run on two parts that nobody is told of."""
    given = toy_run(tiny_bert_folder, tmp_path)[:-1]
    run(monkeypatch, *given, without_relations(tmp_path))
    assert "relations: there are none to train on; the parts are synonyms and hierarchy\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "run.json").read_text())["losses"].keys() == {"synonyms", "hierarchy"}


@pytest.mark.long
def test_vectors_of_measured_texts_are_stored(tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches a cache_dir that reaches no evaluator."""
    run(monkeypatch, *toy_run(tiny_bert_folder, tmp_path), "--cache_dir", tmp_path / "vectors")
    assert any(path.is_file() for path in (tmp_path / "vectors").rglob("*"))


def test_every_configuration_measures_the_dev_trees_during_training(outcome: tuple[Path, str]):
    """Would catch a long run whose first figure comes at its end."""
    metrics = json.loads((outcome[0] / "run.json").read_text())["metrics"]
    assert {m["step"] for m in metrics if m["name"].endswith("tree_dev_auc_0v1")} >= {1, 2}
    for path in CONFIGS.glob("hiprbert_*.yaml"):
        _, training = read_settings(
            (hiprbert.HiPrBERTArguments, SentenceTransformerTrainingArguments), [str(path), "--bf16", "false"]
        )
        assert training.eval_strategy == "steps", path.name


def test_training_moved_the_released_vectors(outcome: tuple[Path, str], tiny_bert_folder: Path):
    """Would catch losses that do not reach the model, and a release of the base model."""
    before, after = (
        SentenceTransformer(str(path), device="cpu").encode("acute disease") for path in (tiny_bert_folder, outcome[0])
    )
    assert abs(before - after).max() > 1e-6


def test_no_training_string_leaves_and_the_trainer_keeps_its_arguments_small(outcome: tuple[Path, str]):
    """Would catch a sampler bound into the arguments, and a card with samples, in the release and in checkpoints."""
    folder = outcome[0]
    terms = Terminology.read("toy")
    for info in list(terms.sources.values()):
        terms.sources[info.name] = type(info)(**{**info.to_dict(), "redistributable": False})
    check_release(folder, [terms])
    checkpoint = next((folder.parent / "smoke-training").glob("checkpoint-*"))
    check_training_arguments(checkpoint / "training_args.bin", [terms])
    card = (checkpoint / "README.md").read_text()
    assert not [text for text in terms.strings if len(text) >= 20 and text in card]


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("hiprbert_*.yaml")), ids=lambda path: path.stem)
def test_every_setting_of_every_configuration_is_an_argument(path: Path):
    recipe, _ = read_settings(
        (hiprbert.HiPrBERTArguments, SentenceTransformerTrainingArguments), [str(path), "--bf16", "false"]
    )
    assert recipe.parts


PARENTS = "child,parent\nA1,A\nA2,A\nB1,B\nB2,B\nC1,C\nC2,C\nA,R\nB,R\nC,R\n"
CODES = ("R", "A", "B", "C", "A1", "A2", "B1", "B2", "C1", "C2")
STRINGS = "code,string\n" + "".join(f"{code},name {code}\n" for code in CODES)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terminology", "nowhere/at/all"], "terminology 'nowhere/at/all': no such folder"),
        (["--terminology", "{names}"], "empty hierarchy"),
        (["--terminology", "{cycle}"], "cycle in the hierarchy, child to parent: "),
        (["--terminology", "{plain}"], "no pair|no synonym"),
        (["--base_model", "nobody/nothing"], "base model 'nobody/nothing' is not a local folder"),
        (["--synonym_preset", "sapbirt"], "unknown preset 'sapbirt'.*did you mean 'sapbert'"),
        (["--parts", "synonym"], "unknown part 'synonym'.*did you mean 'synonyms'"),
        (
            ["--terminology", "{unrelated}", "--parts", "relations"],
            "no relations in .*: relation pairs need at least one",
        ),
        (["--terminology", "{unrelated}", "--parts", "synonyms", "relations"], "no relations in "),
        (["--base", "0.5", "0.6"], "base must be one number or 3 numbers, found 2"),
        (["--alpha", "-1"], "alpha"),
        (["--margin", "-0.1"], "margin"),
        (["--levels", "sibling", "uncle_nephew"], "'uncle_nephew' contains 'parent_child'"),
        (["--hierarchy_sources", "TOYS"], "unknown hierarchy source 'TOYS': allowed are 'TOY'; did you mean 'TOY'?"),
        (["--smoke", "false", "--held_out_relations", "100000"], "100,000 relations cannot be held out: the training"),
        (["--relation_list", "hiprbert_clinical"], "relations: none of .* has 1 pairs"),
        (
            ["--source_distances", "PHECODE=lca_depth"],
            "unknown source of source_distances 'PHECODE': allowed are 'TOY'",
        ),
        (["--max_distance", "5"], "max_distance follows from levels .3. for sibling_parent, found 5"),
        (["--synonym_sources", "all", "TOY"], "unknown synonym source 'all': allowed are 'TOY'"),
        (["--anchor_repeats", "PHECODE=10000000000"], "must have the form SOURCE=N with N from 1, found 'PHECODE=1"),
        (["--anchor_repeats", "PHECODE:70"], "must have the form SOURCE=N with N from 1, found 'PHECODE:70'"),
        (["--anchor_repeats", "PHECODE=70"], "source of anchor_repeats 'PHECODE'"),
        (["--push_to_hub", "true"], "push_to_hub must be the repository, owner/name, found 'true'"),
        (["--frozen", "embeddngs"], "no parameter's name matches 'embeddngs'"),
        (["--distance", "hop"], "did you mean 'hops'"),
        (["--held_out", "0.7"], "held_out must be above 0 and below 0.5, or a whole number, found 0.7"),
        (["--held_out_dev", "2.5"], "held_out_dev must be above 0 and below 0.5, or a whole number, found 2.5"),
        (["--partners", "1", "1", "1", "20"], "batch_size must hold an anchor and its"),
        (["--output_dir", "{names}/.."], "is not empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    folders = {"unrelated": str(without_relations(tmp_path))}
    for name, parents in (("names", None), ("cycle", PARENTS + "R,A1\n"), ("plain", PARENTS)):
        (tmp_path / "parents.csv").write_text(parents or "")
        (tmp_path / "strings.csv").write_text(STRINGS)
        path = None if parents is None else tmp_path / "parents.csv"
        saved = Terminology.read("parent_child", path, strings=str(tmp_path / "strings.csv")).save(tmp_path / name)
        folders[name] = str(saved)
    filled = [argument.format(**folders) for argument in arguments]
    monkeypatch.setattr(
        sys,
        "argv",
        ["hiprbert.py", SMOKE, "--base_model", str(tiny_bert_folder), "--output_dir", str(tmp_path / "out"), *filled],
    )
    if "--partners" in filled:
        monkeypatch.setattr(
            hiprbert, "shrink", lambda recipe, training: setattr(training, "per_device_train_batch_size", 16)
        )
    with pytest.raises(SystemExit) as end:
        run_recipe(hiprbert.main)
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: ") and re.search(message, line), line


def test_a_protocol_of_a_configuration_can_be_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Catches a configuration that fits its own terminology alone."""
    seen: list[str | None] = []

    def stop(recipe):
        seen.append(recipe.benchmark)
        raise InputError("stop")

    monkeypatch.setattr(hiprbert.HiPrBERTArguments, "protocol", stop)
    for value in ("none", ""):
        with pytest.raises(InputError, match="stop"):
            run(monkeypatch, "--benchmark", value, "--output_dir", tmp_path / "out")
    assert seen == [None, None]
