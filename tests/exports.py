"""Exported encoders without an exporter: a runtime that computes with torch, and an interpreter that copies weights."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from transformers import BertConfig, BertModel

NOISE = 0.05
"""Of the graphs whose name has ``int8``."""


class Session:
    """``InferenceSession`` of ONNX Runtime, whose "graph" is a file of safetensors."""

    def __init__(self, path: str, options: Any, providers: list[str]) -> None:
        assert providers == ["CPUExecutionProvider"]
        try:
            weights = load(Path(path).read_bytes())
        except Exception as error:
            raise RuntimeError("INVALID_PROTOBUF : cannot be parsed\nsecond line") from error
        config = BertConfig.from_pretrained(str(Path(path).parents[1]))
        self.model = BertModel(config).eval()
        self.model.load_state_dict(weights)
        self.noise = NOISE if "int8" in Path(path).name else 0.0

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("input_ids", "attention_mask", "token_type_ids")]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name="last_hidden_state")]

    def run(self, outputs: list[str], arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        assert outputs == ["last_hidden_state"]
        with torch.inference_mode():
            hidden = self.model(**{name: torch.from_numpy(array) for name, array in arrays.items()}).last_hidden_state
        wave = torch.sin(torch.arange(hidden.shape[-1]) * 7.0)
        return [(hidden + self.noise * wave).numpy()]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime, as far as the package uses it."""
    module: Any = ModuleType("onnxruntime")
    module.SessionOptions, module.InferenceSession = SimpleNamespace, Session
    monkeypatch.setitem(sys.modules, "onnxruntime", module)


@pytest.fixture
def exporter(tmp_path: Path) -> Path:
    """An interpreter whose export copies the weights, as :class:`Session` reads them."""
    program = f"""#!{sys.executable}
import json, pathlib, shutil, sys
isolated, script, backend, *words = sys.argv[1:]
assert isolated == "-I" and script.endswith("export_script.py")
if words:
    folder, output, *int8 = words
    assert "sentence_transformers.models.Transformer" in pathlib.Path(folder, "modules.json").read_text()
    graph = pathlib.Path(output, backend, f"model_qint8_{{int8[0]}}.onnx" if int8 else "model.onnx")
    graph.parent.mkdir()
    shutil.copyfile(pathlib.Path(folder, "model.safetensors"), graph)
print("a line of a library")
print(json.dumps({{"optimum-onnx": "0.1.0"}}))
"""
    path = tmp_path / "python-of-the-exporter"
    path.write_text(program)
    path.chmod(0o755)
    return path


def interpreter(folder: Path, stderr: str, code: int = 1) -> Path:
    """An interpreter that only fails, with these lines."""
    path = folder / "python-that-fails"
    path.write_text(f"#!/bin/sh\ncat >&2 <<'EOF'\n{stderr}\nEOF\nexit {code}\n")
    path.chmod(0o755)
    return path


def edited(folder: Path, copy: Path, **changes: Any) -> Path:
    """A copy of an exported encoder whose record has other values, under a correct checksum."""
    from st_biomed.files.sealed import sealed

    shutil.copytree(folder, copy)
    record = json.loads((copy / "exported.json").read_text())
    record.pop("checksum")
    (copy / "exported.json").write_text(sealed({**record, **changes}))
    return copy
