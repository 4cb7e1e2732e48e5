"""Mistyped arguments of a recipe are told before a library is imported, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.settings.recipe import read_settings
from st_biomed.settings.written_arguments import check_words, written_arguments
from tests.recipes.test_configurations import ARGUMENTS, CONFIGS, arguments_of

RECIPES = sorted(path for path in CONFIGS.parent.glob("*.py") if path.stem != "__init__")
SAPBERT = CONFIGS.parent / "sapbert.py"
SMOKE = str(CONFIGS / "sapbert_smoke.yaml")
RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    print(end.code, *({"torch", "numpy", "pyarrow", "transformers"} & {*sys.modules}))
"""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_arguments_that_are_written_are_those_of_the_classes(path: Path):
    """Catches a dataclass that moved, or that of another version of sentence-transformers, which the sources do not tell."""
    kinds = arguments_of(path)
    found = written_arguments(path)
    assert found is not None
    assert list(found) and found.keys() == {field.name for kind in kinds for field in fields(kind) if field.init}
    own = {field.name: field.metadata.get("check") for kind in kinds for field in fields(kind)}
    for name, argument in found.items():
        assert argument.check is None or own[name] is not None


def test_a_name_of_two_classes_is_that_of_the_first(tmp_path: Path):
    """Catches an argument of a recipe that is checked as the one that sentence-transformers gives its name."""
    (tmp_path / "recipe.py").write_text(
        "class Own:\n    n: int = 1\nclass Host:\n    n: float = 1.0\n    m: str = ''\nread_settings((Own, Host), None)\n"
    )
    found = written_arguments(tmp_path / "recipe.py")
    assert found is not None and {name: one.annotation for name, one in found.items()} == {"n": "int", "m": "str"}


def test_every_recipe_has_its_classes_listed():
    assert {max((name for name in ARGUMENTS if path.stem.startswith(name)), key=len) for path in RECIPES} == {
        *ARGUMENTS
    }


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_configuration_is_refused(path: Path):
    recipes = {kinds: name for name, kinds in ARGUMENTS.items()}
    (script,) = (
        recipe
        for recipe in RECIPES
        if recipe.stem.startswith(recipes[arguments_of(path)]) and arguments_of(recipe) == arguments_of(path)
    )
    check_words(script, [str(path)], script.name)


@pytest.mark.parametrize(
    "words",
    [
        ["--learning_rat", "1"],
        ["--learning-rat=1"],
        ["--learning_rate", "fast"],
        ["--learning_rate=-1"],
        ["--seeds", "1", "2.5"],
        ["--seeds", "1", "-2"],
        ["--max_pairs_per_concept", "0"],
        ["--per_device_train_batch_size", "0"],
        ["--num_train_epochs", "nan"],
    ],
)
def test_the_line_is_that_of_the_parser(words: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["sapbert.py"])
    with pytest.raises(InputError) as late:
        read_settings(ARGUMENTS["sapbert"], [SMOKE, *words])
    with pytest.raises(InputError) as early:
        check_words(SAPBERT, [SMOKE, *words], "sapbert.py")
    assert str(early.value) == str(late.value)


@pytest.mark.parametrize(
    "words",
    [
        [SMOKE],
        ["--no_decay_all", "--no-bf16", "--learning-rate", "1e-5", "--mini_batch_size=16", "--seeds", "1", "2"],
        ["--learning_rat", "1", "--help"],
        ["--decay_all", "false", "--push_to_hub", "a/b"],
        [],
    ],
)
def test_what_the_parser_takes_is_not_refused(words: list[str]):
    check_words(SAPBERT, words, "sapbert.py")


def test_a_settings_file_is_read_early_too(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("learning_rat: 1\n")
    with pytest.raises(InputError, match="a.yaml: unknown setting 'learning_rat'.*did you mean 'learning_rate'"):
        check_words(SAPBERT, [str(tmp_path / "a.yaml")], "sapbert.py")
    with pytest.raises(InputError, match="nowhere.yaml"):
        check_words(SAPBERT, ["nowhere.yaml"], "sapbert.py")


@pytest.mark.long
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_typo_is_told_before_any_library_is_there(path: Path):
    """Catches seconds of imports before a line that needs none of them."""
    words = [sys.executable, "-c", RUN, str(path), "--no_such_argument", "1"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.stdout == "2\n", ended.stderr
    assert ended.stderr.startswith("error: unknown argument '--no_such_argument'")
    assert len(ended.stderr.splitlines()) == 1


def test_a_list_that_is_given_twice_is_told(capsys: pytest.CaptureFixture[str]):
    """Catches a first terminology that is dropped without a word; a single value may be given again to change it."""
    script = CONFIGS.parent / "hiprbert.py"
    check_words(script, ["--terminology", "a", "--seed", "1", "--terminology", "b", "c", "--seed", "2"], "hiprbert")
    assert capsys.readouterr().err == "note: --terminology is given twice, and its last values count: b c\n"
