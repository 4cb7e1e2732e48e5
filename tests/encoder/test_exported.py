"""Loading exported encoders: by the record in their folder, with its checks, and only where none is trained."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.exported import Export, export_of
from st_biomed.errors import InputError
from st_biomed.release.export import export_encoder
from tests.exports import edited, exporter, runtime  # noqa: F401

TERMS = ["acute disease", "chronic disease of the tove", "x"]


@pytest.fixture
def exported(runtime, exporter: Path, tiny_bert_folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    export_encoder(tiny_bert_folder, tmp_path / "exported", python=exporter)
    return tmp_path / "exported"


def test_the_graph_gives_the_vectors_of_the_encoder(exported: Path, tiny_bert_folder: Path):
    """Catches a mask, token types or a pooling that the graph does not get."""
    model, torch_model = load_encoder(exported, exported=True), load_encoder(tiny_bert_folder, device="cpu")
    assert np.allclose(model.encode(TERMS), torch_model.encode(TERMS), atol=1e-6)
    assert not list(exported.glob("*.safetensors")) and not list(model.parameters())
    assert str(model.device) == "cpu"
    assert (export_of(model), export_of(torch_model)) == (Export.read(exported), None)


def test_the_digest_is_of_the_graph(exported: Path, tiny_bert_folder: Path, tmp_path: Path, runtime, exporter):  # noqa: F811
    """Catches two exports that an index takes for one, as they have no weights."""
    torch_digest = model_digest(load_encoder(tiny_bert_folder, device="cpu"))
    digest = model_digest(load_encoder(exported, exported=True))
    copy = shutil.copytree(exported, tmp_path / "copy")
    assert model_digest(load_encoder(copy, exported=True)) == digest != torch_digest
    assert Export.read(exported).source_sha256 == torch_digest
    moved = load_encoder(tiny_bert_folder, device="cpu")
    next(moved.parameters()).data += 1e-3
    moved.save_pretrained(str(tmp_path / "moved"), create_model_card=False)
    export_encoder(tmp_path / "moved", tmp_path / "other", python=exporter)
    assert model_digest(load_encoder(tmp_path / "other", exported=True)) not in (digest, torch_digest)


def test_it_is_refused_where_an_encoder_is_trained_and_on_a_gpu(exported: Path, tiny_bert_folder: Path):
    expected = f"expected the model that was exported, {tiny_bert_folder.name}$"
    with pytest.raises(InputError, match=f"is an exported encoder, .*; {expected}"):
        load_encoder(exported)
    with pytest.raises(InputError, match="device 'cuda:0': an exported encoder computes on the CPU"):
        load_encoder(exported, device="cuda:0", exported=True)
    with pytest.raises(InputError, match="cannot be saved again; copy its folder"):
        load_encoder(exported, exported=True).save_pretrained(str(exported.with_name("again")))


def test_a_missing_runtime_is_one_line(exported: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"needs onnxruntime: pip install 'st-biomed\[onnx\]'"):
        load_encoder(exported, exported=True)


def _cut(folder: Path) -> None:
    graph = folder / "onnx/model.onnx"
    graph.write_bytes(graph.read_bytes()[:-9])


def _flipped(folder: Path) -> None:
    graph = folder / "onnx/model.onnx"
    content = bytearray(graph.read_bytes())
    content[-1] ^= 1
    graph.write_bytes(content)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (_cut, r"onnx/model\.onnx: truncated"),
    "flipped": (_flipped, r"onnx/model\.onnx: damaged"),
    "no graph": (lambda folder: (folder / "onnx/model.onnx").unlink(), r"onnx/model\.onnx: is missing"),
    "more": (lambda folder: (folder / "onnx/weights.data").write_text("x"), r"weights\.data: is not listed"),
    "tokenizer": (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"tokenizer\.json: truncated"),
    "record": (lambda folder: (folder / "exported.json").write_text("{}"), r"exported\.json: is of format unknown"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_line_with_the_file(exported: Path, damage: str):
    change, says = DAMAGES[damage]
    change(exported)
    with pytest.raises(InputError, match=says) as error:
        load_encoder(exported, exported=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"graph": "../model.onnx"}, "names '../model.onnx'; expected the name of a file in the same folder"),
        ({"backend": "tensorrt"}, "unknown backend of .*'tensorrt'"),
        ({"files": {"../x": {}}}, "path '../x' leads out of the model's folder"),
        ({"files": {}}, "does not list onnx/model.onnx"),
        ({"more": 1}, "damaged .*unexpected keyword argument 'more'"),
    ],
)
def test_a_record_that_names_something_else_is_refused(exported: Path, tmp_path: Path, changes, says):
    """Catches a graph that is read from outside of the folder."""
    with pytest.raises(InputError, match=says):
        load_encoder(edited(exported, tmp_path / "edited", **changes), exported=True)


def test_a_file_that_the_runtime_cannot_read_is_one_line(exported: Path):
    (exported / "onnx/model.onnx").write_bytes(b"no graph")
    header = json.loads((exported / "exported.json").read_text())
    fields = {name: header[name] for name in ("backend", "graph", "precision", "source", "source_sha256")}
    Export(**fields).write(exported)
    with pytest.raises(InputError, match=r"model\.onnx: onnxruntime cannot read it \(INVALID_PROTOBUF") as error:
        load_encoder(exported, exported=True)
    assert "\n" not in str(error.value)
