"""``st-biomed export``: the environment that exports, the folder that it leaves, and the comparison of both encoders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from st_biomed.encoder import PACKAGED, load_encoder
from st_biomed.encoder.exported import Export
from st_biomed.errors import InputError
from st_biomed.release import export_script
from st_biomed.release.export import INSTALL, TERMS, export_encoder
from tests.exports import Session, exporter, interpreter, runtime  # noqa: F401


def test_the_record_says_what_was_exported_and_how_well_it_agrees(
    runtime,  # noqa: F811
    exporter: Path,  # noqa: F811
    tiny_bert_folder: Path,
    tmp_path: Path,
):
    made = export_encoder(tiny_bert_folder, tmp_path / "out", python=exporter)
    assert (made.backend, made.graph, made.precision) == ("onnx", "model.onnx", "float32")
    assert made.source == tiny_bert_folder.name, "a path of this machine would be published"
    assert made.made_with == {"optimum-onnx": "0.1.0"}
    assert made.agreement["names"] == len(TERMS) and made.agreement["min"] == pytest.approx(1, abs=1e-6)
    assert Export.read(tmp_path / "out") == made


def test_int8_is_stated_and_a_float32_graph_with_other_vectors_is_not_written(
    runtime,  # noqa: F811
    exporter: Path,  # noqa: F811
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Catches an export that is broken and saved."""
    made = export_encoder(tiny_bert_folder, tmp_path / "int8", int8="avx2", python=exporter)
    assert made.precision == "int8 avx2" and made.agreement["min"] < made.agreement["mean"] < 0.9999
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda *words: [run(*words)[0] * [[[1] * 8 + [-1] * 8]]])
    with pytest.raises(InputError, match=r"the graph gives other vectors \(cosine .*; nothing was written"):
        export_encoder(tiny_bert_folder, tmp_path / "out", python=exporter)
    assert not (tmp_path / "out").exists()


def test_an_exported_encoder_is_replaced_and_nothing_else(
    runtime,  # noqa: F811
    exporter: Path,  # noqa: F811
    tiny_bert_folder: Path,
    tmp_path: Path,
):
    """Catches a person's file that --overwrite removes."""
    export_encoder(tiny_bert_folder, tmp_path / "out", python=exporter)
    with pytest.raises(InputError, match="already contains an exported encoder"):
        export_encoder(tiny_bert_folder, tmp_path / "out", python=exporter)
    export_encoder(tiny_bert_folder, tmp_path / "out", int8="avx2", python=exporter, overwrite=True)
    assert [path.name for path in (tmp_path / "out/onnx").iterdir()] == ["model_qint8_avx2.onnx"]
    (tmp_path / "out/notes.txt").write_text("mine")
    with pytest.raises(InputError, match="contains notes.txt in addition to an exported encoder"):
        export_encoder(tiny_bert_folder, tmp_path / "out", python=exporter, overwrite=True)


@pytest.mark.parametrize("files", ["[1]", '"ab"', "null"])
def test_a_damaged_list_of_files_is_one_line(files: str, runtime, tiny_bert_folder: Path, tmp_path: Path):  # noqa: F811
    """Catches a traceback where the record of the folder to replace is damaged."""
    (tmp_path / "exported.json").write_text(f'{{"files": {files}}}')
    with pytest.raises(
        InputError, match=r"exported\.json: files must be an object, \{...\}, found .*; choose"
    ) as error:
        export_encoder(tiny_bert_folder, tmp_path, overwrite=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": "tensorrt"}, "unknown backend 'tensorrt'"),
        ({"int8": "avx"}, "unknown int8 'avx'.*did you mean 'avx2'"),
        ({"int8": "avx2", "backend": "openvino"}, "int8 'avx2': needs backend onnx"),
        ({"backend": "openvino"}, r"needs openvino: pip install 'st-biomed\[openvino\]'"),
        ({"python": "/nowhere/python"}, "--python /nowhere/python: cannot be started"),
        ({"output": __file__}, "is a file"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_model_is_loaded(
    options,
    says: str,
    runtime,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(InputError, match=says) as error:
        export_encoder("nobody/nothing", **{"output": tmp_path / "out", **options})
    assert "\n" not in str(error.value)


def test_the_last_line_of_an_environment_that_fails_is_shown(runtime, tiny_bert_folder: Path, tmp_path: Path):  # noqa: F811
    python = interpreter(
        tmp_path, "Traceback (most recent call last):\nImportError: cannot import name 'get_parameter'"
    )
    with pytest.raises(InputError, match=r"cannot export to onnx: ImportError: cannot import name 'get_p") as error:
        export_encoder(tiny_bert_folder, tmp_path / "out", python=python)
    assert INSTALL in str(error.value) and "\n" not in str(error.value)


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Pretend that these distributions are installed."""
    found = {name.replace("_", "-"): version for name, version in versions.items()}

    def version(name: str) -> str:
        if name not in found:
            raise export_script.PackageNotFoundError(name)
        return found[name]

    needs = ["optimum~=2.1.0", "transformers<4.58.0,>=4.36", "onnxruntime>=1.18; extra == 'onnxruntime'"]
    monkeypatch.setattr(export_script, "version", version)
    monkeypatch.setattr(export_script, "requires", lambda name: needs if name == "optimum-onnx" else [])


def test_versions_that_the_exporter_does_not_take_are_named(monkeypatch: pytest.MonkeyPatch):
    """Catches an ImportError of transformers 5 that says nothing of versions."""
    old = {"sentence_transformers": "5.7.0", "transformers": "4.57.6", "optimum_onnx": "0.1.0", "optimum": "2.1.0"}
    installed(monkeypatch, **old)
    assert export_script.unmet("onnx") == ""
    assert export_script.unmet("openvino") == "optimum-intel is not installed"
    installed(monkeypatch, **{**old, "onnxruntime": "1.17"})
    assert export_script.unmet("onnx") == ""  # of an extra
    installed(monkeypatch, **{**old, "transformers": "5.23.0"})
    assert "optimum-onnx 0.1.0 needs transformers" in export_script.unmet("onnx")
    assert export_script.unmet("onnx").endswith("found 5.23.0")
    with pytest.raises(SystemExit, match="error: optimum-onnx 0.1.0 needs transformers"):
        export_script.main("onnx", "folder", "output")
    installed(monkeypatch, transformers="4.57.6")
    assert export_script.unmet("onnx") == "sentence-transformers is not installed"


def test_the_script_needs_nothing_of_this_package():
    """Catches an import that the exporter's environment cannot have."""
    text = Path(export_script.__file__).read_text()
    assert "import st_biomed" not in text and "from st_biomed" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "int8", "least"), [("onnx", "", 0.9999), ("onnx", "avx2", 0.9), ("openvino", "", 0.9999)]
)
def test_the_export_of_sentence_transformers_itself(backend: str, int8: str, least: float, tmp_path: Path):
    """Needs the extras onnx and openvino, and the exporter's interpreter in ST_BIOMED_EXPORT_PYTHON."""
    python = os.environ.get("ST_BIOMED_EXPORT_PYTHON")
    if not python:
        pytest.skip("ST_BIOMED_EXPORT_PYTHON names no environment with the exporter")
    pytest.importorskip({"onnx": "onnxruntime"}.get(backend, backend))
    made = export_encoder(PACKAGED, tmp_path / "out", backend=backend, int8=int8, python=python)
    assert made.agreement["min"] > least
    texts = [*TERMS, "", "acute " * 600]
    model, torch_model = load_encoder(tmp_path / "out", exported=True), load_encoder(PACKAGED, device="cpu")
    cosines = np.sum(model.encode(texts) * torch_model.encode(texts), axis=1)
    assert cosines.min() > least
