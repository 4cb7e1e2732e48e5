"""``st-biomed stats``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path


def test_counts_tallies_and_sources_are_listed(run: Callable, toy_folder: Path) -> None:
    result = run("stats", toy_folder)
    assert result.exit_code == 0, result.output
    lines = {line[:24].rstrip(): line[24:] for line in result.stdout.splitlines()}
    assert lines["concepts"] == "30"
    assert lines["concepts by depth"] == "0 3, 1 9, 2 18"
    assert re.fullmatch(r"toy trees=2 branching=3 \(st-biomed .*\)", lines["read from"])
    assert lines["terms by kind"] == "preferred 30, synonym 42"
    assert re.search(r"^toy rows read +72\n  kept +72$", result.stdout, re.MULTILINE)
    assert "license: CC0-1.0; may be redistributed" in lines["TOY"]


def test_a_folder_without_a_terminology_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "no terminology.json in it" in refused("stats", tmp_path)
    assert "no such folder, and no reader of this name" in refused("stats", tmp_path / "nowhere")
