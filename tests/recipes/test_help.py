"""Every recipe says what its arguments are."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

RECIPES = sorted(path.stem for path in (Path(__file__).parents[2] / "recipes").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("recipe", RECIPES)
def test_help_is_printed(recipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Would catch a per cent sign in a help text, which argparse takes for a format."""
    module = importlib.import_module(f"recipes.{recipe}")
    monkeypatch.setattr(sys, "argv", [f"{recipe}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and "--learning_rate" in shown
    assert "--base_model" in shown or recipe == "kge"
