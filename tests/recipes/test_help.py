"""Every recipe says what its arguments are: its own, and those of the trainer where they are asked for."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from st_biomed.cli import app

RECIPES = sorted(path.stem for path in (Path(__file__).parents[2] / "recipes").glob("*.py") if path.stem != "__init__")


def shown_by(recipe: str, flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    module = importlib.import_module(f"recipes.{recipe}")
    monkeypatch.setattr(sys, "argv", [f"{recipe}.py", flag])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("recipe", RECIPES)
def test_help_is_printed(recipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Would catch a per cent sign in a help text, which argparse takes for a format."""
    shown = shown_by(recipe, "--help-all", monkeypatch, capsys)
    assert "--learning_rate" in shown and "more are the trainer's" not in shown
    assert "--base_model" in shown or recipe == "kge"


@pytest.mark.parametrize("recipe", [name for name in RECIPES if name != "kge"])
def test_help_shows_the_own_arguments_first_and_says_how_many_there_are(
    recipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Would catch a recipe's fifteen arguments behind a hundred and twenty of the trainer."""
    shown = shown_by(recipe, "--help", monkeypatch, capsys)
    whole = shown_by(recipe, "--help-all", monkeypatch, capsys)
    own, all_of_them = (set(re.findall(r"^  --(\w+)", text, re.MULTILINE)) for text in (shown, whole))
    assert "learning_rate" not in own and own < all_of_them
    counted = re.search(r"(\d+) more are the trainer's: --help-all lists them", shown)
    assert counted and int(counted[1]) == len({name.removeprefix("no_") for name in all_of_them - own})
    assert [name for name in re.findall(r"^  --(\w+)", whole, re.MULTILINE) if name in own][: len(own) - 1] == [
        name for name in re.findall(r"^  --(\w+)", shown, re.MULTILINE) if name != "help"
    ][: len(own) - 1]
    module = importlib.import_module(f"recipes.{recipe}")
    (kind,) = (
        kind
        for name, kind in vars(module).items()
        if name.endswith("Arguments") and kind.__module__ == module.__name__
    )
    assert shown.index(f"--{next(iter(vars(kind)['__annotations__']))} ") < shown.index("--overwrite ")


def test_the_command_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["st-biomed"])
    short, whole = (CliRunner().invoke(app, ["train", "sapbert", flag]) for flag in ("--help", "--help-all"))
    assert short.exit_code == whole.exit_code == 0, short.output + whole.output
    assert "--miner" in short.output and "--learning_rate" not in short.output
    assert "--learning_rate" in whole.output
