"""The documentation site: pages, links, examples in docstrings, and every command and example of the tutorials."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

import st_biomed.linking.spacy_pipe  # noqa: F401  # what the entry point of an installed package does
from st_biomed.cli import app
from st_biomed.readers import parse_options, resolved_options
from tests.loopback_hub import loopback_hub

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "reference"} & {*path.relative_to(DOCS).parts})
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]
RUN = [*TUTORIALS, DOCS / "gallery.md"]
WRITTEN = {DOCS / "reference" / "commands.md", DOCS / "reference" / "recipe_arguments.md"}
"""Pages that docs/site_reference.py writes."""
FENCED = re.compile(r"^```(\S*).*?^```$", re.DOTALL | re.MULTILINE)
WITH_EXAMPLES = sorted(path for path in (ROOT / "st_biomed").rglob("*.py") if ">>> " in path.read_text("utf-8"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


# ---------------------------------------------------------------------- pages


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_parts_of_other_files_are_there(page: Path):
    """Catches a page that a renamed file, heading or module left behind."""
    text = FENCED.sub(lambda block: block[0] if block[1].startswith("{") else "", page.read_text("utf-8"))
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (target := (page.parent / link).resolve()).exists() or target in WRITTEN, link
    for target, options in re.findall(r"```\{include\} (\S+)\n(.*?)```", text, re.DOTALL):
        assert (page.parent / target).is_file(), target
        included = (page.parent / target).read_text("utf-8")
        for side, words in re.findall(r':(start-after|end-before): "(.*)"', options):
            _, found, rest = included.partition(words.replace("\\n", "\n"))
            assert found, f"{target} has no {words!r}"
            included = rest if side == "start-after" else included
    for kind, name in re.findall(r"\.\. auto(module|class):: (\S+)", text):
        assert importlib.util.find_spec(name if kind == "module" else name.rpartition(".")[0]), name


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for entries in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            names = [line.strip() for line in entries.splitlines() if line.strip() and not line.startswith(":")]
            listed |= {(page.parent / name).with_suffix(".md").resolve() for name in names}
    assert listed == {*PAGES, *WRITTEN} - {DOCS / "index.md"}


def test_every_recipe_has_its_tutorial():
    text = "".join(page.read_text("utf-8") for page in TUTORIALS)
    for recipe in (path.stem for path in (ROOT / "recipes").glob("*.py")):
        assert re.search(rf"^st-biomed train {recipe} ", text, re.MULTILINE), recipe


def test_every_package_is_in_the_reference():
    """Catches a package that no page of the reference describes."""
    text = "".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
    for package in (path.parent.name for path in (ROOT / "st_biomed").glob("*/__init__.py")):
        if package not in {"cli"}:
            assert re.search(rf":: st_biomed\.{package}\b", text), package


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("myst_parser") is None, reason="the extra docs is not installed")
def test_the_site_is_built_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, tmp_path]
    subprocess.run(command, check=True, cwd=ROOT)


# ---------------------------------------------------------------------- examples


@pytest.mark.parametrize(
    "path", [*WITH_EXAMPLES, *(page for page in PAGES if ">>> " in page.read_text("utf-8"))], ids=named
)
def test_examples_print_what_they_say(path: Path):
    if path.suffix == ".md":
        result = doctest.testfile(str(path), module_relative=False)
    else:
        result = doctest.testmod(importlib.import_module(named(path).replace("/", ".").removesuffix(".__init__")))
    assert result.attempted and not result.failed


# ---------------------------------------------------------------------- tutorials


class Block(NamedTuple):
    """Code of a page that is run: as it stands, or with settings that make it small."""

    code: str
    python: bool
    small: bool
    slow: bool


ON_CPU = {
    "base_model": "sentence-transformers/all-MiniLM-L6-v2",
    "max_steps": 2,
    "per_device_train_batch_size": 8,
    "use_cpu": True,
    "bf16": False,
    "precision": "as given",
    "disable_tqdm": True,
    "report_to": "none",
    "save_strategy": "no",
    "eval_strategy": "no",
    "load_best_model_at_end": False,
}
SHORT = {**ON_CPU, "max_length": 32}
TEXT = {"vocabulary_size": 300, "held_out": 0.2}
SMALL: dict[str, dict[str, Any]] = {
    "sapbert": {**SHORT, "terminology": ["toy"], "held_out_names": 4},
    "sapbert_finetune": {**SHORT, "per_device_train_batch_size": 2},
    "hiprbert": {
        **SHORT,
        "terminology": ["toy"],
        "benchmark": "none",
        "pairs_per_class": 20,
        "smoke": True,
        "hierarchy_sources": [],
        "synonym_sources": [],
        "relation_parents": [],
        "source_distances": [],
        "anchor_repeats": [],
        "subtrees": "",
        "held_out": 0.2,
        "held_out_dev": 0.2,
        "held_out_relations": 0,
        "relation_list": "",
    },
    "bergamot": {**SHORT, "graph_hidden": 16, "linking": []},
    "fewshot_names": {
        **ON_CPU,
        "max_steps": -1,
        "smoke": True,
        "names": "all",
        "shots": [2],
        "seeds": [0],
        "benchmarks": [],
        "rankings": [],
        "release": ["I"],
        "training_sets": ["I=toy", "D=toy#TOY:D0"],
    },
    "biolord": {**SHORT, "benchmarks": [], "smoke": True},
    "extend_bert": {
        **{key: value for key, value in SHORT.items() if key != "precision"},
        **TEXT,
        "new_head": True,
        "smoke": True,
    },
    "italian_kge": {
        **SHORT,
        "language": "en",
        "benchmarks": [],
        "bare_names": True,
        "smoke": True,
        "kge_settings": "kge_smoke.yaml",
        "vocabulary_settings": "extend_bert_smoke.yaml",
        "inject_settings": "knowledge_injection_smoke.yaml",
    },
    "knowledge_injection": {**SHORT, "new_head": True, "layer": 1, "candidates": 3, "smoke": True},
    "kge": {"models": ["complex"], "dimension": 8, "epochs": 2, "least_triples": 5, "batch_size": 64, "device": "cpu"},
}
"""What the settings of a recipe are in a block that is run small; arguments of the command win over them."""
STAND_INS = {"SNOMEDCT_US": "TOY", "icd10cm": "toy"}
FEW = {
    ("evaluate",): ["--n-bootstrap", "5"],
    ("picture", "concepts"): ["--concepts", "3", "--names", "2"],
    ("picture", "pairs"): ["--batches", "1", "--batch-size", "8"],
}
"""Options after those of a command, which win over them."""


def blocks(page: Path) -> list[Block]:
    found = re.findall(r"<!-- run((?: \w+)*) -->\n```(python)?\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    return [Block(code, bool(python), "small" in marks, "slow" in marks) for marks, python, code in found]


def commands(code: str) -> Iterator[list[str]]:
    """The words of each command."""
    for line in code.replace("\\\n", " ").splitlines():
        if words := shlex.split(line, comments=True):
            yield words


def as_small(words: list[str]) -> list[str]:
    """The same command on an invented terminology in place of a licensed one, and with few steps."""
    words = [STAND_INS.get(word, word) for word in words]
    if words[:2] == ["read", "umls"]:
        options = [words[i + 1] for i, word in enumerate(words) if word == "--option"]
        resolved_options("umls", parse_options("umls", options))
        return ["read", "toy", "--option", "definitions=true", *words[words.index("--output") :]]
    if words[0] == "train":
        _, recipe, configuration, *rest = words
        Path("small.yaml").write_text(yaml.safe_dump({"extends": configuration, **SMALL[recipe]}))
        return ["train", recipe, "small.yaml", *rest]
    if words[0] == "evaluate" and "--terminology" in words:
        words = [*words, "--pairs-per-class", "10"]
    return [*words, *FEW.get((words[0],), []), *FEW.get((words[0], words[1]), [])]


WITH_SLOW = [page for page in RUN if any(block.slow for block in blocks(page))]


@pytest.mark.long
@pytest.mark.parametrize("page", RUN, ids=named)
def test_a_page_does_what_it_says(page: Path, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All its blocks but slow ones in one folder, in order, with a tiny encoder in place of MiniLM and a Hub in this process."""
    run([block for block in blocks(page) if not block.slow], page.name, tiny_bert_folder, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_SLOW, ids=named)
def test_a_page_does_what_it_says_to_its_end(
    page: Path, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run(blocks(page), page.name, tiny_bert_folder, tmp_path, monkeypatch)


def run(code: list[Block], name: str, encoder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run blocks one after the other, in a folder of their own."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ST_BIOMED_DATA", raising=False)
    Path("sentence-transformers").mkdir()
    Path("sentence-transformers/all-MiniLM-L6-v2").symlink_to(encoder)
    with loopback_hub(monkeypatch, folder / "cache"):
        for block in code:
            if block.python:
                exec(compile(block.code, name, "exec"), {})
                continue
            for program, *words in commands(block.code):
                monkeypatch.setattr(sys, "argv", [program])
                ended = CliRunner().invoke(app, as_small(words) if block.small else words)
                assert (program, ended.exit_code) == ("st-biomed", 0), f"{words}\n{ended.output}\n{ended.exception!r}"


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_other_commands_have_files_and_options_that_exist(page: Path):
    """What no test can run: several processes, and data that only some may have."""
    recipes = {path.name for path in (ROOT / "recipes").glob("*.py")}
    configurations = {path.name for path in (ROOT / "recipes" / "configs").glob("*.yaml")}
    verbs = get_command(app).commands
    plain = [
        block[0].partition("\n")[2].removesuffix("```")
        for block in FENCED.finditer(page.read_text("utf-8"))
        if not block[1]
    ]
    for code in plain:
        for program, *words in commands(code):
            assert program in {"st-biomed", "accelerate", "torchrun"}, program
            for word in words:
                assert not word.startswith("recipes/") or (ROOT / word).exists(), word
                assert not word.endswith(".py") or Path(word).name in recipes, word
            if program == "st-biomed":
                verb, *rest = words
                options = {
                    name for parameter in verbs[verb].params for name in [*parameter.opts, *parameter.secondary_opts]
                }
                assert verb == "train" or {word for word in rest if word.startswith("--")} <= options, words
                assert verb != "train" or (f"{rest[0]}.py" in recipes and rest[1] in configurations), words
