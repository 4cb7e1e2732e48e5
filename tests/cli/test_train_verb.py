"""``st-biomed train`` runs a recipe with its arguments and passes its one-line errors on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from st_biomed.cli import app


def run(*arguments: object):
    return CliRunner().invoke(app, ["train", *map(str, arguments)])


@pytest.mark.long
def test_a_recipe_runs_with_a_bundled_configuration(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "argv", ["st-biomed"])
    monkeypatch.chdir(tmp_path)
    result = run("hiprbert", "hiprbert_smoke.yaml", "--base_model", tiny_bert_folder, "--output_dir", "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_an_unknown_recipe_and_an_unknown_argument_are_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["st-biomed"])
    result = run("hiprbird")
    assert result.exit_code == 2 and "did you mean 'hiprbert'" in result.output
    result = run("hiprbert", "hiprbird.yaml")
    assert result.exit_code == 2
    assert (
        "hiprbird.yaml: no such file; packaged configurations are hiprbert_code.yaml, hiprbert_ncit_open.yaml, hiprbert_open"
        in result.output
    )
    result = run("hiprbert", "hiprbert_smoke.yaml", "--alphas", "1")
    assert result.exit_code == 2 and "did you mean '--alpha'" in result.output


def test_help_without_a_recipe_lists_them() -> None:
    result = CliRunner().invoke(app, ["train", "--help"])
    assert result.exit_code == 0, result.output
    assert (
        "Recipes: bergamot, biolord, extend_bert, fewshot_names, hiprbert, italian_kge, kge, knowledge_injection, open_encoder, sapbert, sapbert_finetune."
        in result.stdout
    )
