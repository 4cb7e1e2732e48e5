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


def test_a_table_says_how_busy_the_machine_was(monkeypatch: pytest.MonkeyPatch):
    """Catches figures of a busy machine that pass for those of an idle one."""
    from benchmarks import harness

    table = harness.Table("Speed", ["what", "time"], [["step", "1 s"]])
    monkeypatch.setattr(harness, "LOAD", 1.96)
    assert "load average before the start 2.0, Python" in table.markdown()
    monkeypatch.setattr(harness, "LOAD", None)
    assert "GiB, Python" in table.markdown()


def test_a_benchmark_without_a_form_for_a_device_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Catches figures of a CPU in the folder of a GPU's."""
    from benchmarks import harness

    monkeypatch.setattr(harness, "DEVICE", "cpu")
    with pytest.raises(SystemExit) as stopped:
        run(["checksums", "--device", "cuda", "--quick"])
    assert stopped.value.code == 2
    assert capsys.readouterr().out == "checksums is left out: it has no form for cuda\n"
