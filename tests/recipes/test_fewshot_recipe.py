"""The few-shot recipe, shrunk: stages, input forms, what it writes and what it releases."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize

from recipes import fewshot_names
from tests.fresh import run_fresh
from tests.recipes.fewshot_inputs import NAMES, SMOKE, table_of, vectors


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    every = [name for of_one in NAMES.values() for name in of_one]
    pairs = [f"{every[i]},{every[(7 * i + 5) % 18]},{i % 4}" for i in range(17)]
    (tmp_path / "pairs.csv").write_text("\n".join(["a,b,score", *pairs, "skin burn,burn,3.5"]) + "\n", "utf-8")
    path = tmp_path / "pairs.yaml"
    path.write_text(
        "name: pairs\nevaluator: relatedness\n"
        f"settings: {{path: {tmp_path / 'pairs.csv'}, terms: [a, b], score: score}}\n",
        "utf-8",
    )
    return path


@pytest.fixture
def run(tiny_bert_folder: Path, tmp_path: Path, benchmark: Path):
    """Run the recipe with these arguments, by default to ``tmp_path/out``."""

    def call(*arguments: object, output: str = "out") -> Path:
        given = ["--base_model", tiny_bert_folder, "--benchmarks", benchmark, "--output_dir", tmp_path / output]
        fewshot_names.main([SMOKE, *map(str, [*given, *arguments])])
        return tmp_path / output

    return call


SMALL = ("--shots", 2, "--seeds", 0, "--training_sets")


def results_of(folder: Path) -> dict:
    return json.loads((folder.with_name(f"{folder.name}-training") / "results.json").read_text("utf-8"))


def record_of(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text("utf-8"))


@pytest.mark.long
def test_every_set_and_order_number_of_names_and_seed_is_a_row(run, capsys):
    """Catches a run that is left out, and deviations that are not over seeds."""
    folder = run()
    runs = results_of(folder)["runs"]
    names = ["D", "G", "D → G", "G → D"]
    assert [(row["name"], row["shots"], row["seed"]) for row in runs] == [
        (name, shots, seed) for shots in (1, 2) for seed in (0, 1) for name in names
    ]
    work = folder.with_name("out-training")
    lines = (work / "tables.md").read_text("utf-8").split("2-shot:")[1].split("2-shot, ")[0].strip().splitlines()
    assert lines[0] == "| training set | pairs, Spearman |" and [line.split(" | ")[0] for line in lines[2:]] == [
        f"| {name}" for name in ["input", *names]
    ]
    of_one = [row["results"]["pairs"]["pairs_spearman"] for row in runs if (row["name"], row["shots"]) == ("G", 2)]
    assert f"| {np.mean(of_one):.3f} ± {np.std(of_one, ddof=1):.3f} |" in lines[4]
    tables = (work / "tables.md").read_text("utf-8")
    below = tables.split("2-shot, validation names whose nearest prototype is that of their own concept:")[1].split(
        "1-shot"
    )[0]
    pairs = [row["prototype_accuracies"] for row in runs if (row["name"], row["shots"]) == ("D → G", 2)]
    before, after = np.mean(pairs, axis=0)
    assert f"| D → G | {before:.3f} ± " in below and f" | {after:.3f} ± " in below
    assert "<svg" in (work / "figure.svg").read_text("utf-8")
    first, base = runs[0], results_of(folder)["base"]["pairs"]["pairs_spearman"]
    test = first["tests"]["pairs"]
    assert test["difference"] == pytest.approx(first["results"]["pairs"]["pairs_spearman"] - base) and test["n"] == 18
    assert test["p"] <= test["p_holm"] <= min(1, 4 * test["p"]) + 1e-9  # two numbers of names and two seeds
    assert f"| D | 1 | {test['difference']:+.3f} (" in tables.split("pairs, Spearman, 18 pairs:")[1]
    assert "D: Terminology(TOY" in capsys.readouterr().out


@pytest.mark.long
def test_the_release_is_the_second_stage_on_the_first_on_the_input(run, tiny_bert_folder: Path):
    """Catches a stage that is lost, and a vector that is brought to length 1 in one place alone."""
    folder = run("--shots", 2, "--seeds", 0)
    record = record_of(folder)
    released = SentenceTransformer(str(folder), device="cpu")
    kinds = [type(module) for module in released]
    assert kinds[2:] == [Normalize, Dense, Dense, Normalize, Dense, Dense]
    after, measured = record["results"]["pairs"]["after"], results_of(folder)["runs"][2]
    assert measured["name"] == "D → G" and after["pairs_spearman"] == measured["results"]["pairs"]["pairs_spearman"]
    first = SentenceTransformer(str(run("--shots", 2, "--seeds", 0, "--release", "D", output="one")), device="cpu")
    texts = ["heart attack", "skin"]
    halfway = SentenceTransformer(modules=list(released)[:5], device="cpu").encode(texts)
    np.testing.assert_allclose(first.encode(texts), halfway, atol=1e-6)
    assert set(record["losses"]) == {"1-D", "2-G"} and record["changed_arguments"]


@pytest.mark.long
@pytest.mark.parametrize("share", [1, 0.25])
def test_what_is_measured_is_what_is_released(share, run, benchmark: Path):
    """Catches a stack that is applied to other vectors than the released model has, and a share that one of them lacks."""
    from st_biomed.evaluators.suite import EvaluatorSuite

    folder = run(*SMALL, "A=toy", "B=toy#TOY:D1", "--average", share)
    averaged = [text for text in record_of(folder)["readings"] if "averaged with its input, 0.25 to 0.75" in text]
    assert len(averaged) == (share != 1)
    model = SentenceTransformer(str(folder), device="cpu")
    found = EvaluatorSuite.of_benchmarks([benchmark], n_bootstrap=0).measure(model)
    kept = results_of(folder)["runs"][2]["results"]
    assert found["pairs"] == pytest.approx(kept["pairs"], abs=1e-5)


@pytest.mark.long
def test_the_release_needs_neither_this_package_nor_a_flag(run, tmp_path: Path):
    folder = run(*SMALL, "D=toy", "--release", "D")
    code = (
        "import sys; sys.modules['st_biomed'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        f"print(SentenceTransformer({str(folder)!r}, device='cpu').encode('acute disease').shape)"
    )
    done = run_fresh(code, cwd=tmp_path)
    assert done.stdout.strip() == "(16,)", done.stderr


@pytest.mark.long
def test_going_on_from_a_release_is_the_second_stage(run):
    """A second hierarchy is added later: catches a continuation that differs from the one in a single run."""
    whole = run(*SMALL, "A=toy", "B=toy#TOY:D1")
    first = run(*SMALL, "A=toy", output="first")
    later = run(*SMALL, "B=toy#TOY:D1", "--base_model", first, output="later")
    texts = ["acute disease", "flumpa"]
    vectors, other = (SentenceTransformer(str(folder), device="cpu").encode(texts) for folder in (whole, later))
    np.testing.assert_allclose(vectors, other, atol=1e-5)


@pytest.mark.long
def test_runs_follow_from_their_seed_alone(run):
    """Catches a draw that depends on what was trained before; the seed is the second of two, or the only one."""
    whole = results_of(run())["runs"]
    results = results_of(run("--seeds", 1, "--shots", 2, "--learning_rate", 5e-5, output="again"))
    again = results["runs"]
    assert results["configuration"]["learning_rate"] == 5e-5, "the files of several commands are compared by it"
    same = [row for row in whole if (row["seed"], row["shots"]) == (1, 2)]
    assert len({row["validation_loss"] for row in whole}) == len(whole)
    for row, other in zip(same, again, strict=True):
        assert (row["name"], row["epochs"], row["best_epoch"]) == (other["name"], other["epochs"], other["best_epoch"])
        assert row["validation_loss"] == pytest.approx(other["validation_loss"], abs=1e-5)  # texts in other batches
        assert row["results"]["pairs"] == pytest.approx(other["results"]["pairs"], abs=0.01)


@pytest.mark.long
def test_the_hidden_layer_is_chosen_by_validation(run, monkeypatch: pytest.MonkeyPatch):
    """Catches a choice by the training loss, by the largest size, or for one set from another's runs."""
    folder = run(*SMALL, "D=toy", "G=toy#TOY:D0", "--smoke", "false", "--hidden", 4, 64, "--num_train_epochs", 2)
    results = results_of(folder)
    assert {name: set(losses) for name, losses in results["tuning"].items()} == {"D": {"4", "64"}, "G": {"4", "64"}}
    for row in results["runs"]:
        losses = results["tuning"][row["sets"][-1]]
        assert row["hidden"] == int(min(losses, key=losses.get))
        if len(row["sets"]) == 1:
            assert row["validation_loss"] == pytest.approx(min(losses.values()))


@pytest.mark.long
def test_a_table_of_concepts_and_names(run, tmp_path: Path):
    """A few names of one's own; the nearest names of one of them, which its concept is told of."""
    folder = run(*SMALL, f"Mine={table_of(tmp_path / 'mine.csv', NAMES)}", "--rankings", "heart attack", "knee")
    ranked = (folder.with_name("out-training") / "rankings.md").read_text("utf-8")
    assert "**heart attack** (Heart, Heart)" in ranked and "**knee** (of no concept of the set)" in ranked
    mine, other = ranked.split("**knee**")
    assert "| 6 |" in mine and "| 7 |" not in mine and "<u>" in mine and "<u>" not in other
    cells = [cell for line in mine.splitlines()[6:12] for cell in line.split(" | ")[1:]]
    assert len(cells) == 12 and all(("heart" in cell) != ("<u>" in cell) for cell in cells)


@pytest.mark.parametrize("form", ["vec", "npy", "bin"])
def test_word_vectors_are_an_input(form: str, run, tmp_path: Path, capsys):
    """Names without a known word are counted and left out; catches a vector of zeros that is trained on."""
    names = {**NAMES, "Skin": [*NAMES["Skin"][:4], "xyzzy", "plugh", "frotz"]}
    folder = run(*SMALL, f"M={table_of(tmp_path / 'm.csv', names)}", "--base_model", *vectors(tmp_path, form))
    model = SentenceTransformer(str(folder), device="cpu")
    assert np.abs(model.encode("heart attack") - model.encode("skin rash")).max() > 1e-3
    out = capsys.readouterr().out
    if (
        form == "bin"
    ):  # it has vectors of parts of words; the release those of the dictionary and of all that was asked for
        assert "M: 0 of" in out
        assert all(SentenceTransformer(modules=[model[0]]).encode(word).any() for word in ("spleen", "old", "xyzzy"))
    else:
        assert "M: 3 of 35 words unknown" in out and "3 of 19 names without a vector: 'xyzzy'" in out
    assert "measured texts: 0 of" in out


def test_words_of_another_set_stay_out_of_the_release(run, tmp_path: Path):
    """Catches a licensed name of a set that is not released, whole in the tokenizer, which no check knows."""
    other = {name: [*names[:-1], f"zorbic-klamp-{i}"] for i, (name, names) in enumerate(NAMES.items())}
    mine, theirs = (table_of(tmp_path / f"{i}.csv", names) for i, names in enumerate((NAMES, other)))
    folder = run(
        *SMALL, f"M={mine}", f"N={theirs}", "--release", "M", "--base_model", *vectors(tmp_path, "bin"), "--smoke", "true"
    )  # fmt: skip
    known = (folder / "tokenizer.json").read_text("utf-8")
    assert "spleen" in known and "xyzzy" not in known and "zorbic" not in known
    assert all(part.lower() in known for names in NAMES.values() for name in names for part in name.split())


def test_a_table_of_whole_names_is_not_released(run, tmp_path: Path, capsys):
    every = [name for of_one in NAMES.values() for name in of_one] + ["burn"]
    np.save(tmp_path / "bne.npy", np.random.default_rng(0).normal(size=(len(every), 5)))
    (tmp_path / "bne.txt").write_text("\n".join(every) + "\n", "utf-8")
    mine = table_of(tmp_path / "m.csv", NAMES)
    folder = run(
        *SMALL, f"M={mine}", "--base_model", tmp_path / "bne.npy", "--vocabulary", tmp_path / "bne.txt", "--unit", "name"
    )  # fmt: skip
    assert not (folder / "run.json").exists() and results_of(folder)["runs"]
    assert "nothing is released: the table of the input holds whole names" in capsys.readouterr().out


def test_a_random_projection_widens_the_input(run):
    folder = run(
        *SMALL,
        "D=toy",
        "--width",
        24,
        "--eval_strategy",
        "epoch",
        "--load_best_model_at_end",
        "true",
        "--save_strategy",
        "epoch",
    )
    assert SentenceTransformer(str(folder), device="cpu").encode("disease").shape == (24,)


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("--prototypes", "all"),
        ("--hinge", "batch_mean", "--negatives", "wu2017", "--normalize", "false"),
        ("--grounding_weight", 0, "--dropout", 0),
        ("--continual", "false"),
        ("--paired_tests", 0),
        ("--ambiguous", "drop", "--slow_benchmarks", "pairs2.yaml"),
    ],
    ids=lambda arguments: arguments[0][2:],
)
def test_every_variant_ends_in_a_release(arguments: tuple[object, ...], run, tmp_path: Path, benchmark: Path):
    second = tmp_path / "pairs2.yaml"
    second.write_text(benchmark.read_text("utf-8").replace("name: pairs", "name: pairs2"), "utf-8")
    arguments = tuple(second if word == "pairs2.yaml" else word for word in arguments)
    folder = run("--shots", 1, 2, "--seeds", 0, *arguments)
    assert record_of(folder)["recipe"] == "fewshot_names"
    measured = [set(row["results"]) for row in results_of(folder)["runs"]]
    if "--slow_benchmarks" in arguments:
        assert measured == [{"pairs"}] * 4 + [{"pairs", "pairs2"}] * 4
        heads = re.findall(
            r"\| training set \| (pairs.*)", (folder.with_name("out-training") / "tables.md").read_text("utf-8")
        )
        assert heads == ["pairs, Spearman | pairs2, Spearman |", "pairs, Spearman |"]
    assert len(measured) == (4 if "--continual" in arguments else 8)
    assert all(bool(row["tests"]) == ("--paired_tests" not in arguments) for row in results_of(folder)["runs"])


def test_without_matplotlib_a_line_takes_the_place_of_the_figure(run, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    folder = run("--training_sets", "D=toy", "--seeds", 0)
    assert "no figure: pictures need matplotlib" in capsys.readouterr().out
    assert (folder / "run.json").is_file() and not (folder.with_name("out-training") / "figure.svg").exists()
