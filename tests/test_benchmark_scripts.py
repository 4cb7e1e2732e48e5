"""The speed benchmarks can be started."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

NAMES = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "benchmarks").glob("*.py")
    if path.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize("name", NAMES)
def test_it_imports(name: str):
    """Would catch a benchmark that a moved module has broken, which nobody runs for months."""
    module = importlib.import_module(f"benchmarks.{name}")
    assert name == "harness" or name.startswith("synthetic_") or callable(module.main)
