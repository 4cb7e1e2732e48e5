"""The part of ``st-biomed export`` that runs in the exporter's environment, which does not have this package.

It uses sentence-transformers' own export and imports nothing of this package: the exporter needs an older transformers::

    /path/to/python -I export_script.py onnx                       # only checks the environment
    /path/to/python -I export_script.py onnx FOLDER OUTPUT [avx2]
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

EXPORTERS = {"onnx": "optimum-onnx", "openvino": "optimum-intel"}
SHOWN = (
    "sentence-transformers",
    "transformers",
    "optimum",
    "optimum-onnx",
    "optimum-intel",
    "onnxruntime",
    "openvino",
)


def versions() -> dict[str, str]:
    """The installed ones among the packages that take part in an export."""
    found = {}
    for name in SHOWN:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def unmet(backend: str) -> str:
    """What this environment lacks for an export; nothing if it lacks nothing."""
    found, exporter = versions(), EXPORTERS[backend]
    for needed in ("sentence-transformers", "transformers", exporter):
        if needed not in found:
            return f"{needed} is not installed"
    from packaging.requirements import Requirement

    for line in requires(exporter) or []:
        requirement = Requirement(line)
        installed = found.get(requirement.name)
        if installed is None or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            return f"{exporter} {found[exporter]} needs {requirement.name}{requirement.specifier}, found {installed}"
    return ""


def main(backend: str, folder: str = "", output: str = "", instructions: str = "") -> None:
    """Check the environment and export the encoder in a folder. The last line on standard output has the versions.

    Args:
        backend: ``onnx`` or ``openvino``.
        folder: The encoder, in the layout of sentence-transformers 5; without it, only the environment is checked.
        output: A folder, in which the folder of the backend gets the graph.
        instructions: ``avx2``, ``avx512``, ``avx512_vnni`` or ``arm64`` for an int8 graph of ONNX.
    """
    if fault := unmet(backend):
        sys.exit(f"error: {fault}")
    if not folder:
        print(json.dumps(versions()))
        return
    from sentence_transformers import SentenceTransformer

    options: Any = {"backend": backend, "model_kwargs": {"export": True}}
    model = SentenceTransformer(folder, device="cpu", local_files_only=True, **options)
    if instructions:
        from sentence_transformers import export_dynamic_quantized_onnx_model

        export_dynamic_quantized_onnx_model(model, instructions, output)
    else:
        model.save_pretrained(output)
    print(json.dumps(versions()))


if __name__ == "__main__":
    main(*sys.argv[1:])
