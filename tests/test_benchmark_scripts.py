"""The speed benchmarks can be started."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import run

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


def test_serving_is_left_out_in_one_line_without_its_runtimes(monkeypatch: pytest.MonkeyPatch, capsys):
    """Would catch a traceback for whoever has not installed an extra."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SystemExit, match="2"):
        run(["serving"])
    out = capsys.readouterr().out
    assert out.startswith("serving is left out: ") and out.count("\n") == 1
