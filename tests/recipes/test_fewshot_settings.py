"""Settings and inputs of the few-shot recipe: what is no argument, what is refused, and what may be released."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from recipes import fewshot_names
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import read_run
from st_biomed.settings.recipe import read_settings, run_recipe
from tests.recipes.fewshot_inputs import CONFIGS, NAMES, SMOKE, table_of, vectors


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("fewshot_*.yaml")), ids=lambda path: path.stem)
def test_every_setting_of_every_configuration_is_an_argument(path: Path):
    recipe, training = read_settings(
        (fewshot_names.FewShotArguments, SentenceTransformerTrainingArguments), [str(path), "--bf16", "false"]
    )
    assert (recipe.dropout, recipe.margin, recipe.hinge) == (0.5, 0.1, "per_triplet")
    assert path.stem == "fewshot_names_smoke" or training.per_device_train_batch_size == 16


def test_what_the_paper_s_settings_say_of_a_run_without_snomed_is_so():
    """Catches a release of two training sets, of which one is removed."""
    path = CONFIGS / "fewshot_names_paper.yaml"
    (words,) = re.findall(r"without it: (.+)", path.read_text("utf-8"))
    given = [str(path), "--benchmarks", "none", *shlex.split(words)]
    recipe, _ = read_settings((fewshot_names.FewShotArguments, SentenceTransformerTrainingArguments), given)
    assert fewshot_names.check(recipe) == [("ICD-10",)]
    recipe.slow_benchmarks = ["none"]
    assert fewshot_names.check(recipe) == [("ICD-10",)], "each list may be none"


AMBIGUOUS = {**NAMES, "Bone": [*NAMES["Bone"], "Heart attack"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shots", "9"], r"'TOY:G' has 14 unambiguous names, 9 shots need 18 .*: take at most 7 shots"),
        (["--shots", "2", "2"], r"shots: expected one or more distinct numbers, found \[2, 2\]"),
        (["--training_sets", "toy"], "training_sets must have the form NAME=SOURCE, NAME=SOURCE#CODE or NAME=TABLE, found 'toy'"),
        (["--training_sets", "A=toy", "A=toy"], "training_sets: two have the name 'A'"),
        (["--training_sets", "A=toy#TOY:X9"], "TOY:X9"),
        (["--training_sets", "A/B=toy"], r"training_sets: a name is part of a folder's name and has no / or .*, found 'A/B'"),
        (["--base_model", "{vec}", "--max_length", "8"], "max_length: is not used with a table of word vectors, found 8"),
        (["--base_model", "{vec}", "--pooling", "cls"], "pooling: is not used with a table of word vectors, found 'cls'"),
        (["--training_sets", "A={mine}"], "name 'Heart attack' is under two concepts, 'Heart' and 'Bone'"),
        (["--training_sets", "A={empty}"], r"empty.csv:2: expected a concept and a name, found 'Heart' and ''"),
        (["--training_sets", "A={unknown}", "--base_model", "{vec}"], "concept 'Knee' has no names: leave it out"),
        (["--leave_out", "TOY:Z"], "leave_out: TOY:Z: no training set has such a concept"),
        (["--release", "G", "G"], "release: is one training set or two in their order, found 'G G'"),
        (["--release_seed", "7"], "release_seed must be one of seeds, found 7"),
        (["--base_model", "{npy}", "--vocabulary", "{short}"], r"expected a row for each of 3 entries .*, found 12"),
        (["--base_model", "{vec}", "--vocabulary", "{short}"], "vocabulary"),
        (["--vocabulary", "{short}"], "vocabulary and unit apply only to a matrix in .npy"),
        (["--base_model", "nowhere.vec"], "base model 'nowhere.vec': no such file"),
        (["--prototypes", "some"], "unknown prototypes 'some'"),
        (["--names", "al"], "unknown names 'al'.*did you mean 'all'"),
        (["--benchmarks", "mayosrss"], "unknown benchmark 'mayosrss'"),
        (["--smoke", "false", "--max_steps", "-1", "--hidden", "0"], "hidden must be at least 1, found 0"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch, capsys
):
    files = {
        "mine": table_of(tmp_path / "mine.csv", AMBIGUOUS),
        "empty": table_of(tmp_path / "empty.csv", {"Heart": [""]}),
        "unknown": table_of(tmp_path / "unknown.csv", {**NAMES, "Knee": ["xyzzy", "plugh"]}),
        "vec": vectors(tmp_path, "vec")[0],
        "npy": vectors(tmp_path, "npy")[0],
        "short": tmp_path / "short.txt",
    }
    files["short"].write_text("heart\nbone\nskin\n", "utf-8")
    given = ["--base_model", str(tiny_bert_folder), "--output_dir", str(tmp_path / "out")]
    given += [argument.format(**files) for argument in arguments]
    monkeypatch.setattr(sys, "argv", ["fewshot_names.py", SMOKE, *given])
    with pytest.raises(SystemExit) as end:
        run_recipe(fewshot_names.main)
    assert end.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("error: ") and re.search(message, line), line
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.long
def test_a_table_of_ones_own_with_the_open_settings_can_be_released(tmp_path: Path, tiny_bert_folder: Path, capsys):
    """Catches settings of the file that refuse another training set, and a release that cannot be checked again."""
    table = table_of(tmp_path / "mine.csv", NAMES)
    fewshot_names.main(
        [
            str(CONFIGS / "fewshot_names_open.yaml"), "--training_sets", f"Mine={table}", "--release", "Mine", "--shots", "3", "--hidden", "8",
            "--rankings", "knee", "--num_train_epochs", "2", "--base_model", str(tiny_bert_folder),
            "--output_dir", str(tmp_path / "out"),
        ]
    )  # fmt: skip
    assert "leave_out: ICD10CM:22: of no training set here" in capsys.readouterr().out
    verdict = recheck(tmp_path / "out", read_run(tmp_path / "out" / "run.json"), (), base_model=tiny_bert_folder)
    assert "no name of Mine in any file" in verdict
