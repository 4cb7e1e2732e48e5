"""``st-biomed average``: a release of several encoders, with all that each of them was trained on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.release.folder import save_release
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology

NAME = "chronic zorbal inflammation of the flenn"
TERMS = ["flumpa gland", "acute disease"]


@pytest.fixture
def licensed(run, tmp_path: Path) -> Terminology:
    """A terminology whose names may not be redistributed."""
    (tmp_path / "parents.csv").write_text("child,parent\nA1,A\n")
    (tmp_path / "strings.csv").write_text(f"code,string\nA,{NAME}\nA1,acute zorbal inflammation of the flenn\n")
    strings = f"strings={tmp_path / 'strings.csv'}"
    done = run("read", "parent_child", tmp_path / "parents.csv", "-o", tmp_path / "zorb", "--option", strings)
    assert done.exit_code == 0, done.output
    return Terminology.load(tmp_path / "zorb")


def released(
    folder: Path, base: Path, seed: int, *terminologies: Terminology, license: str = "cc0-1.0", **configuration: str
) -> Path:
    """A release of other weights, what it was trained on beside it."""
    torch.manual_seed(seed)
    model = load_encoder(base, device="cpu")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    record = RunRecord(
        "sapbert", str(base), configuration, seed, terminologies, license=license, command=["sapbert.py"]
    )
    save_release(model, folder, run=record.to_dict(), terminologies=terminologies, base_model=base)
    for i, terminology in enumerate(terminologies):
        terminology.save(folder.with_name(f"{folder.name}-training") / f"terminology-{i}")
    return folder


@pytest.fixture
def models(
    tmp_path: Path, tiny_bert_folder: Path, licensed: Terminology, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Two releases in the working folder: of an open terminology, and of that and a licensed one."""
    monkeypatch.chdir(tmp_path)
    toy = Terminology.read("toy", trees=2, depth=1)
    released(tmp_path / "a", tiny_bert_folder, 1, toy)
    released(tmp_path / "b", tiny_bert_folder, 2, toy, licensed)
    return ["a", "b"]


def refusal(run, *words: object) -> str:
    """The last line of stderr of a command that ends as a person's mistake does; bars of what was loaded may stand before."""
    done = run("average", *words)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    return done.stderr.splitlines()[-1]


def record(folder: str) -> dict:
    return json.loads(Path(folder, "run.json").read_text("utf-8"))


def test_the_average_is_a_release_that_names_what_went_into_it(run, models: list[str], licensed: Terminology):
    """Catches weights in another order than the models, and a terminology that is lost on the way."""
    done = run("average", *models, "--weights", ".25,.75", "-o", "c")
    assert done.exit_code == 0, done.output
    first, second, average = (SentenceTransformer(name, device="cpu").state_dict() for name in (*models, "c"))
    for name, tensor in average.items():
        torch.testing.assert_close(tensor, 0.25 * first[name] + 0.75 * second[name])
    run_ = record("c")
    assert [(model["name"], model["recipe"], model["weight"]) for model in run_["averaging"]["models"]] == [
        ("a", "sapbert", 0.25),
        ("b", "sapbert", 0.75),
    ]
    digests = [model_digest(load_encoder(name, device="cpu")) for name in models]
    assert [model["digest"] for model in run_["averaging"]["models"]] == digests
    assert (
        licensed.digest in [source["digest"] for source in run_["terminologies"]] and len(run_["terminologies"]) == 2
    )
    assert run_["license"] == "cc0-1.0" and run_["recipe"] == "average"
    assert f"0.25 of a (`{digests[0][:12]}`), 0.75 of b" in Path("c", "README.md").read_text("utf-8")
    assert f" 0.250  {digests[0][:12]}  a" in done.stdout and "were not searched for" not in done.stdout


@pytest.mark.long
def test_the_pooling_of_the_runs_is_in_the_record(run, tiny_bert_folder: Path, tmp_path: Path, monkeypatch):
    """Catches a base that is measured with another pooling than the averaged models began with."""
    monkeypatch.chdir(tmp_path)
    for i, (name, pooling) in enumerate([("a", "cls"), ("b", "cls"), ("x", "mean")]):
        released(tmp_path / name, tiny_bert_folder, i, pooling=pooling)
    assert run("average", "a", "b", "-o", "c").exit_code == run("average", "a", "x", "-o", "d").exit_code == 0
    assert record("c")["configuration"]["pooling"] == "cls" and "pooling" not in record("d")["configuration"]


def test_a_base_in_a_folder_is_no_id_on_the_hub(run, models: list[str], tiny_bert_folder: Path):
    """Catches a card that links a local folder to the Hub."""
    load_encoder(tiny_bert_folder, device="cpu").save_pretrained("out/base", create_model_card=False)
    assert run("average", "out/base", "a", "-o", "c").exit_code == 0
    assert record("c")["base_model"] == "./out/base"


def test_three_and_a_base_model_are_averaged_alike_by_default(run, models: list[str], tiny_bert_folder: Path):
    done = run("average", *models, tiny_bert_folder, "-o", "c", "--license", "mit")
    assert done.exit_code == 0, done.output
    vectors = [SentenceTransformer(str(name), device="cpu").state_dict() for name in (*models, tiny_bert_folder, "c")]
    for name, tensor in vectors[-1].items():
        np.testing.assert_allclose(tensor, sum(state[name] for state in vectors[:3]) / 3, atol=1e-6)
    assert record("c")["license"] == "mit"


def test_a_plain_checkpoint_is_pooled_as_the_others_are(run, tiny_bert_folder: Path, tmp_path: Path):
    """Catches a base model that cannot be averaged with what was trained from it."""
    plain = tiny_bert_folder.parent / "bert"
    trained = load_encoder(plain, pooling="cls", device="cpu")
    trained.save_pretrained(str(tmp_path / "cls"))
    done = run("average", plain, tmp_path / "cls", "-o", tmp_path / "c")
    assert done.exit_code == 0, done.output
    assert load_encoder(tmp_path / "c", device="cpu")[1].pooling_mode == "cls"


def test_names_of_every_model_s_terminologies_are_looked_for(run, models: list[str], licensed: Terminology):
    """Catches an average by which a licensed name leaves that neither model may publish."""
    for name in models:
        file = Path(name, "config.json")
        file.write_text(file.read_text().replace('"hidden_act": "gelu"', f'"hidden_act": "gelu", "note": "{NAME}"'))
    line = refusal(run, *models, "-o", "c")
    assert "may not be released" in line and "config.json" in line and not Path("c").exists()


@pytest.mark.long
def test_publishing_finds_them_beside_the_models_or_asks_for_them(run, models: list[str], licensed: Terminology):
    """Catches a folder that passes the check since its record names nothing."""
    from st_biomed.errors import InputError
    from st_biomed.release.hub import plan_push

    assert run("average", *models, "-o", "c").exit_code == 0
    plan = plan_push("c", PushOptions("org/c"))
    assert "2 of 2 names are looked for" in plan.verdict
    Path("b-training").rename("elsewhere")
    with pytest.raises(
        InputError, match="is not available, so they cannot be searched for: give it with --terminology"
    ):
        plan_push("c", PushOptions("org/c"))
    done = run("average", *models, "-o", "d")
    assert "were not searched for, no terminology with them lies beside the models" in done.stdout


def test_what_keep_trained_left_was_trained_on_what_the_release_was(
    run, models: list[str], licensed: Terminology, tiny_bert_folder: Path
):
    """Catches an average of trained models that names no terminology, and so is published unsearched."""
    from st_biomed.release.hub import plan_push

    kept = Path("b-training", "trained")
    load_encoder("b", device="cpu").save_pretrained(str(kept), create_model_card=False)
    assert run("average", tiny_bert_folder, kept, "-o", "c").exit_code == 0
    assert record("c")["terminologies"] == record("b")["terminologies"]
    assert "2 of 2 names are looked for" in plan_push("c", PushOptions("org/c")).verdict


def test_models_that_runs_kept_are_told_apart_on_the_card(
    run, models: list[str], tiny_bert_folder: Path, tmp_path: Path, monkeypatch
):
    """Catches a card that takes an encoder which is called trained for one that was trained from the first of the average."""
    kept = [Path(f"{name}-training", "trained").resolve() for name in models]
    for name, folder in zip(models, kept):
        load_encoder(name, device="cpu").save_pretrained(str(folder), create_model_card=False)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert run("average", tiny_bert_folder, *kept, "-o", "c").exit_code == 0
    names = [model["name"] for model in record("c")["averaging"]["models"]]
    assert names[1:] == ["a-training/trained", "b-training/trained"] == record("c")["configuration"]["models"][1:]
    card = Path("c", "README.md").read_text("utf-8")
    assert "The weights are the average of 3 encoders: " in card and "where training started: a share" not in card


def test_licenses_that_differ_make_other(run, models: list[str], tiny_bert_folder: Path, tmp_path: Path):
    released(tmp_path / "x", tiny_bert_folder, 3, Terminology.read("toy", trees=2, depth=1), license="mit")
    assert run("average", "a", "x", "-o", "c").exit_code == 0
    assert record("c")["license"] == "other"


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a", "a", "-o", "c"), "models: each must be listed once, found a a"),
        (("a", "a/", "-o", "c"), "models: each must be listed once, found a a/"),
        (("a", "b", "-o", "a"), "a: is one of the averaged models; choose another output"),
        (("a", "nowhere", "-o", "c"), "base model 'nowhere' is not a local folder"),
        (
            ("a", "cls", "-o", "c"),
            "cls: cannot be averaged with a: module 1 (Pooling) has pooling_mode 'cls', in a 'mean'",
        ),
        (("a", "b", "-o", "b-training"), "b-training: is not empty and has no run.json"),
        (
            ("a", "b", "-o", "old"),
            "old: already contains a release; choose another folder, or replace it with --overwrite",
        ),
    ],
)
def test_what_cannot_be_averaged_is_one_line(words, message: str, run, models: list[str], tiny_bert_folder: Path):
    load_encoder(tiny_bert_folder, pooling="cls", device="cpu").save_pretrained("cls")
    assert run("average", "a", "b", "-o", "old").exit_code == 0
    assert message in refusal(run, *words)
    assert not Path("c").exists()
