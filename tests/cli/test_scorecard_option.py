"""``st-biomed evaluate --scorecard``, and where its result goes: a picture, and the card of a release."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.release.folder import save_release
from st_biomed.release.run_data import read_run
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology

FEW = ("--n-bootstrap", 199)


@pytest.fixture
def place(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a base, two seeds that began from it, and three benchmarks, one of them trained on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ST_BIOMED_DATA", raising=False)
    SentenceTransformer(str(tiny_bert_folder), device="cpu").save_pretrained("base", create_model_card=False)
    toy = Terminology.read("toy", trees=2, branching=3)
    toy.save(tmp_path / "toy")
    for seed in (0, 1):
        model = SentenceTransformer("base", device="cpu")
        torch.manual_seed(seed)
        with torch.no_grad():
            for weight in model.parameters():
                weight += torch.randn_like(weight) * 0.2 * weight.std()
        configuration = {"overwrite": bool(seed), "pooling": "own", "max_length": None}
        record = RunRecord("zorb", "base", configuration, seed, [toy], license="cc0-1.0", command=["zorb.py"])
        save_release(model, f"seed{seed}", run=record.to_dict(), terminologies=[toy], base_model="base")
    names = [name for name in sorted(toy.strings) if "," not in name]
    rows = "".join(f"{name},{other},{i % 7}\n" for i, (name, other) in enumerate(zip(names, names[3:])))
    (tmp_path / "pairs.csv").write_text(f"term1,term2,score\n{rows}")
    pairs = "evaluator: relatedness\nsettings: {path: pairs.csv}\n"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "flumpa.yaml").write_text(f"name: flumpa\n{pairs}")
    (tmp_path / "mine" / "gradtha.yaml").write_text(f"name: gradtha\nlanguage: it\n{pairs}")
    trees = "evaluator: tree\nsettings: {sources: [toy], whole: true, pairs_per_class: 20}\n"
    (tmp_path / "mine" / "trees.yaml").write_text(f"name: trees\n{trees}")
    return tmp_path


def test_releases_are_compared_with_the_base_that_they_began_from(run: Callable, place: Path):
    """Would catch a scorecard that stands nowhere, and benchmarks in the order of their files."""
    result = run("evaluate", "seed0", "-b", "mine", "--scorecard", *FEW, "-o", "out")
    assert result.exit_code == 0, result.output
    text = (place / "out" / "scorecard.md").read_text()
    assert result.stdout == text + "\n" and text.startswith("# Scorecard\n\n## Against base\n")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row != "|"] == [
        "relatedness", "hierarchy", "other languages (it)", "all", "all but what was trained on", "flumpa, spearman", "trees *, mean_auc", "gradtha, spearman"
    ]  # fmt: skip
    assert "into the card of a release: st-biomed release seed0 --scorecard out\n" in result.stderr
    (card,) = json.loads((place / "out" / "scorecard.json").read_text())["scorecards"]
    assert (card["model"], card["base"], card["base_pooling"], card["draws"]) == ("seed0", "base", "mean", 199)
    assert [row["in_domain"] for row in card["benchmarks"]] == [[], ["TOY"], []]
    results = [json.loads(line) for line in (place / "out" / "results.jsonl").read_text().splitlines()]
    value = {(row["model"], row["benchmark"]): row["metrics"][row["primary"]] for row in results}
    for row in card["benchmarks"]:
        ours, theirs = value["seed0", row["benchmark"]], value["base", row["benchmark"]]
        assert (row["value"], row["base"], row["difference"]) == pytest.approx((ours, theirs, ours - theirs))
    assert (place / "out" / "results.md").is_file()


def test_seeds_of_one_recipe_have_a_table_of_their_own(run: Callable, place: Path):
    result = run("evaluate", "seed0", "seed1", "-b", "mine", "--scorecard", *FEW, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "| | zorb, 2 seeds (seed0, seed1) | seed0 | seed1 |" in result.stdout
    assert "Seeds 0, 1: seed0, seed1. The mean of their differences" in result.stdout
    (recipe,) = json.loads((place / "out" / "scorecard.json").read_text())["recipes"]
    assert [row["benchmark"] for row in recipe["benchmarks"]] == ["flumpa", "trees", "gradtha"]


def test_another_base_is_named(run: Callable, refused: Callable[..., str], place: Path):
    ask = ("evaluate", "same=base", "-b", "mine/flumpa.yaml", "--scorecard", *FEW, "-o", "out")
    assert "--base: the record of a release (run.json) has its base, but same has no record: give a model" in refused(
        *ask
    )
    result = run(*ask, "--base", "first=seed0", "--as-published")
    assert result.exit_code == 0, result.output
    assert "## Against seed0" in result.stdout and "No record says what the model was trained on" in result.stdout
    assert (place / "out" / "scorecard_as_published.json").is_file() and "into the card" not in result.stderr


def test_a_base_that_cannot_be_measured_is_said(run: Callable, place: Path):
    result = run("evaluate", "seed0", "-b", "mine/flumpa.yaml", "--scorecard", *FEW, "--base", "./gone", "-o", "out")
    assert result.exit_code == 2 and result.stdout == ""
    assert "no scorecard: gone was not measured\n" in result.stderr and "not measured: gone: " in result.stderr


@pytest.mark.long
def test_it_becomes_a_picture_and_the_top_of_the_card(run: Callable, refused: Callable[..., str], place: Path):
    assert "no scorecard found" in refused("picture", "scorecard", "out", "-o", "a.svg")
    assert "out/scorecard.json: no scorecard found" in refused("release", "seed0", "--scorecard", "out")
    run("evaluate", "seed0", "seed1", "-b", "mine", "--scorecard", *FEW, "-o", "out")
    result = run("picture", "scorecard", "out", "-o", "a.svg")
    assert result.exit_code == 0 and result.stdout == "6 differences drawn to a.svg\n", result.output
    assert "zorb, 2 seeds" in Path("a.svg").read_text("utf-8")
    assert (
        run("picture", "scorecard", "out", "-o", "b.svg", "--model", "seed1").stdout
        == "3 differences drawn to b.svg\n"
    )
    assert "no scorecard of 'seed': did you mean 'seed" in refused(
        "picture", "scorecard", "out", "-o", "b.svg", "--model", "seed"
    )
    result = run("release", "seed1", "--scorecard", "out")
    assert result.exit_code == 0, result.output
    assert (
        result.stdout
        == "seed1: the record and the card have the scorecard of out\nevery source may be redistributed\n"
    )
    (card,) = read_run("seed1/run.json")["scorecards"]
    assert card["model"] == "seed1" and read_run("seed0/run.json")["scorecards"] == []
    text = Path("seed1/README.md").read_text("utf-8")
    assert (
        re.findall("^## (.+)$", text, re.MULTILINE)[0] == "Scorecard"
        and "Against `base` (mean pooling, 32 tokens)" in text
    )
    result = run("evaluate", "seed1", "-b", "mine", "--scorecard", *FEW, "-o", "out")
    assert "seed1, flumpa: kept from an earlier run" in result.stderr  # the card has changed, the model has not
