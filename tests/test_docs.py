"""What the pages of docs name is there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import st_biomed.batches
import st_biomed.kge
import st_biomed.losses
import st_biomed.losses.miners
from tests.recipes.test_configurations import ARGUMENTS

DOCS = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
HOMES = (st_biomed, st_biomed.batches, st_biomed.kge, st_biomed.losses, st_biomed.losses.miners)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_classes_arguments_configurations_and_links_exist(page: Path):
    """Catches a page that a renaming left behind."""
    text = page.read_text("utf-8")
    for name in re.findall(r"`([A-Z]\w+)(?:[.(][^`]*)?`", text):
        assert any(hasattr(home, name) for home in HOMES), name
    arguments = {field.name for kinds in ARGUMENTS.values() for kind in kinds for field in dataclasses.fields(kind)}
    for name in re.findall(r"`[^`]*?--(\w+)", text):
        assert name in arguments, name
    configurations = Path(__file__).parents[1] / "recipes" / "configs"
    for name in re.findall(r"`(?:\w+ )?\(?`?(\w+\.yaml)`", text):
        assert (configurations / name).is_file(), name
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), link
