"""What the pages of docs name is there."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
from typer.main import get_command

import st_biomed.evaluators
import st_biomed.kge
import st_biomed.linking
import st_biomed.losses
import st_biomed.losses.miners
import st_biomed.modules.knowledge_injected_transformer
import st_biomed.modules.mention_pooling
import st_biomed.modules.residual_feed_forward
import st_biomed.samplers
import st_biomed.terminology.definition_lookup
from st_biomed.cli import app
from tests.recipes.test_configurations import ARGUMENTS

DOCS_FOLDER = Path(__file__).parents[1] / "docs"
DOCS = [*sorted(DOCS_FOLDER.glob("*.md")), *sorted(DOCS_FOLDER.glob("tutorials/*.md"))]
HOMES = (
    st_biomed,
    st_biomed.samplers,
    st_biomed.terminology.definition_lookup,
    st_biomed.kge,
    st_biomed.losses,
    st_biomed.losses.miners,
    st_biomed.evaluators,
    st_biomed.linking,
    st_biomed.modules.mention_pooling,
    st_biomed.modules.knowledge_injected_transformer,
    st_biomed.modules.residual_feed_forward,
)


@pytest.mark.long
@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_classes_arguments_and_configurations_exist(page: Path):
    """Catches a page that a renaming left behind."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for name in re.findall(r"`([A-Z]\w*[a-z]\w*)(?:[.(][^`]*)?`", text):
        assert any(hasattr(home, name) for home in HOMES), name
    arguments = {field.name for kinds in ARGUMENTS.values() for kind in kinds for field in dataclasses.fields(kind)}
    verbs = list(get_command(app).commands.values())
    verbs += [under for verb in verbs for under in getattr(verb, "commands", {}).values()]
    options = {
        name for verb in verbs for parameter in verb.params for name in [*parameter.opts, *parameter.secondary_opts]
    }
    for name in re.findall(r"`[^`\n]*?--([\w-]+)", text):
        assert name in arguments or f"--{name}" in options, name
    configurations = Path(__file__).parents[1] / "recipes" / "configs"
    for name in re.findall(r"`(?:\w+ )?\(?`?(\w+\.yaml)`", text):
        assert (configurations / name).is_file(), name


def test_every_extra_is_named_in_the_readme_and_among_the_features():
    readme = (DOCS_FOLDER.parent / "README.md").read_text("utf-8")
    features = (DOCS_FOLDER / "features.md").read_text("utf-8")
    project = tomllib.loads((DOCS_FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]
    (sentence,) = re.findall(r"^The extras are (.*?)\.$", readme, re.MULTILINE | re.DOTALL)
    (row,) = re.findall(r"^\| extras \| [^:]*: (.*) \|$", features, re.MULTILINE)
    for text in (sentence, row):
        assert {*re.findall(r"`(\w+)`", text)} == {*project["optional-dependencies"]} - {"test", "dev"}


def test_badges_say_what_the_project_file_says():
    """Catches a badge that goes on claiming what was raised or dropped."""
    readme = (DOCS_FOLDER.parent / "README.md").read_text("utf-8")
    project = tomllib.loads((DOCS_FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]
    host = next(
        requirement for requirement in project["dependencies"] if requirement.startswith("sentence-transformers[")
    )
    versions = {
        "Python": project["requires-python"],
        "sentence-transformers": host.partition("]")[2],
        "license": project["license"],
    }
    badges = re.findall(r"\[!\[(\S+) ([^]]+)\]\(https://img.shields.io/badge/(\S+)-blue\)\]", readme)
    assert {name: value.replace("≥ ", ">=").replace(", < ", ",<") for name, value, _ in badges} == versions
    for name, value, address in badges:
        assert unquote(address).replace("--", "\0").split("-") == [part.replace("-", "\0") for part in (name, value)]
