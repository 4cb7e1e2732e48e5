"""Exports an encoder to ONNX or OpenVINO, by sentence-transformers' own export in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.exported import HEADER, RUNTIMES, TEXTS, Export
from st_biomed.encoder.graph_transformer import check_runtime
from st_biomed.encoder.json_files import read_object
from st_biomed.encoder.sources import find_model
from st_biomed.errors import InputError, shown, unknown_name
from st_biomed.files import check_output, lock, replacing
from st_biomed.metrics.cosine import unit_rows
from st_biomed.release.legacy import rewrite_for_version_5
from st_biomed.release.portable import plain_model

Backend = Literal["onnx", "openvino"]

INSTRUCTIONS = ("avx2", "avx512", "avx512_vnni", "arm64")
"""Instruction sets for which sentence-transformers writes int8 graphs."""

INSTALL = "pip install 'sentence-transformers[onnx,openvino]<6'"
"""The exporter's environment: optimum-onnx 0.1 needs transformers below 4.58, this package 5.6 or newer."""

LEAST_COSINE = 0.999
"""Between the float32 graph and the encoder, on every term; all-MiniLM-L6-v2 has 1.000000."""

TERMS = (
    "heart attack",
    "myocardial infarction",
    "broken wrist",
    "type 2 diabetes mellitus",
    "diabetes mellitus without complication",
    "acute lymphoblastic leukemia in remission",
    "high blood pressure",
    "stroke",
    "MI",
    "fever of unknown origin",
    "infection due to Escherichia coli",
    "fracture of the neck of the left femur",
    "vitamin B12 deficiency",
    "pain",
    "5-fluorouracil",
    "magnetic resonance imaging of the brain with contrast",
)
"""Terms of several lengths on which an export is compared with its encoder."""

_WEIGHTS = ("*.safetensors", "*.bin", "*.index.json")
_SHOWN = 200  # characters of the exporter's last line


def export_encoder(
    model: str | Path,
    output: str | Path,
    *,
    backend: Backend = "onnx",
    int8: str = "",
    python: str | Path = sys.executable,
    overwrite: bool = False,
) -> Export:
    """Write an exported encoder: the folder of an encoder whose weights are a graph for the CPU.

    Args:
        model: A release, another local folder, or a Hub id.
        output: A new or empty folder, or with ``overwrite`` one of an exported encoder.
        backend: ``onnx`` or ``openvino``.
        int8: The instruction set of an int8 graph, one of :data:`INSTRUCTIONS`; empty for float32.
        python: The interpreter of the exporter's environment, see :data:`INSTALL`.
        overwrite: Whether to replace an exported encoder.

    Returns:
        Its record, with the agreement between the graph and the encoder.

    Raises:
        InputError: An argument that is not allowed, a folder in use, a missing runtime, an environment that cannot
            export, a module that sentence-transformers 5 does not have, or a float32 graph whose vectors differ.
    """
    if backend not in RUNTIMES:
        raise unknown_name("backend", backend, RUNTIMES)
    if int8 and int8 not in INSTRUCTIONS:
        raise unknown_name("int8", int8, INSTRUCTIONS)
    if int8 and backend != "onnx":
        raise InputError(f"int8 {int8!r}: needs backend onnx; quantization for {backend} needs texts for calibration")
    check_runtime(backend)
    output = Path(output)
    with lock(output):
        check_output(output, what="an exported encoder", is_own=_own(output), marker=HEADER, overwrite=overwrite)
        _run(python, backend)  # a wrong environment is refused before anything is loaded
        encoder = load_encoder(model, device="cpu")
        with replacing(output) as draft, tempfile.TemporaryDirectory() as temporary:
            encoder.save_pretrained(str(draft), create_model_card=False)
            rewrite_for_version_5(draft, encoder.max_seq_length, named=str(model))
            made_with = _run(python, backend, draft, temporary, int8)
            shutil.copytree(Path(temporary, backend), draft / backend)
            for weights in (path for pattern in _WEIGHTS for path in draft.glob(pattern)):
                weights.unlink()
            _keep_texts(find_model(model).folder, draft)
            export = Export(
                backend=backend,
                graph=_graph(draft / backend),
                precision=f"int8 {int8}" if int8 else "float32",
                source=plain_model(str(model)),
                source_sha256=model_digest(encoder),
                made_with=made_with,
            )
            export.write(draft)
            vectors = load_encoder(draft, device="cpu", exported=True).encode(list(TERMS), show_progress_bar=False)
            cosines = _cosines(vectors, encoder.encode(list(TERMS), show_progress_bar=False))
            if not int8 and not cosines.min() >= LEAST_COSINE:
                raise InputError(
                    f"{model}: the graph gives other vectors (cosine {cosines.min():.4f} for "
                    f"{TERMS[int(cosines.argmin())]!r}; at least {LEAST_COSINE} is allowed); nothing was written"
                )
            agreement = {"names": len(TERMS), "mean": float(cosines.mean()), "min": float(cosines.min())}
            made = Export(**{**vars(export), "agreement": agreement}).write(draft)
    return made


def _own(output: Path) -> Callable[[str], bool]:
    """Whether a file belongs to the exported encoder in a folder, by its record.

    Raises:
        InputError: The record is damaged.
    """
    files = read_object(output / HEADER).get("files", {})
    if not isinstance(files, dict):
        raise InputError(
            f"{output / HEADER}: files must be an object, {{...}}, found {shown(files)}; choose another folder"
        )
    return {HEADER, *TEXTS, *files}.__contains__


def _run(python: str | Path, backend: str, *words: str | Path) -> dict[str, str]:
    """Run the script of the exporter in its environment.

    Args:
        python: The interpreter.
        backend: ``onnx`` or ``openvino``.
        *words: Folder, output and instruction set; nothing for a check of the environment.

    Returns:
        Versions of its packages.

    Raises:
        InputError: It has no interpreter or packages, or fails.
    """
    # -I: neither the folder of the script nor PYTHONPATH, which belong to this environment, is searched for modules
    script = Path(__file__).with_name("export_script.py")
    command = [str(python), "-I", str(script), backend, *(str(word) for word in words if word)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        raise InputError(f"--python {python}: cannot be started ({error.strerror or error})") from error
    if done.returncode == 0:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1].removeprefix("error: ")
    raise InputError(
        f"--python {python}: cannot export to {backend}: {reason:.{_SHOWN}}; an environment that can is made by {INSTALL}"
    )


def _graph(folder: Path) -> str:
    """The file of the graph among those of the exporter.

    Raises:
        InputError: The exporter wrote none, or several.
    """
    found = sorted(path.name for path in folder.iterdir() if path.suffix in (".onnx", ".xml"))
    if len(found) != 1:
        raise InputError(f"the exporter wrote {', '.join(found) or 'no graph'}; expected one graph")
    return found[0]


def _keep_texts(source: Path, draft: Path) -> None:
    """Copy the card and the license of the encoder."""
    for name in TEXTS:
        if (source / name).is_file():
            shutil.copyfile(source / name, draft / name)


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of two matrices ``[N, D]``, row by row ``[N]``."""
    return np.sum(unit_rows(left) * unit_rows(right), axis=1)
