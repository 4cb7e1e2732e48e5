"""Commands and examples as they are printed in the README and in the guides, in the order in which a reader meets them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
GUIDES = [ROOT / "docs" / f"{name}.md" for name in ("start", "terminologies", "linking_text", "python", "features")]
PUBLISHING = ROOT / "docs" / "publishing.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language ("" for a shell or for output) and its text."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a text, in order; those of a directive (`` ```{include} ``) are none."""
    return [Block(*found) for found in FENCED.findall(text)]


def commands(text: str) -> list[str]:
    """The commands of st-biomed in the blocks of a text, each in one line."""
    lines = [
        line for block in blocks(text) if not block.language for line in block.text.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line.startswith("st-biomed ")]


def examples(text: str) -> list[str]:
    """The Python of a text."""
    return [block.text for block in blocks(text) if block.language == "python"]


def section(text: str, heading: str) -> str:
    """What stands under a heading of the second level."""
    _, found, rest = text.partition(f"\n## {heading}\n")
    assert found, heading
    return rest.partition("\n## ")[0]


def without(text: str, heading: str) -> str:
    """A text without one of its sections."""
    return text.replace(section(text, heading), "")
