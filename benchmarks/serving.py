"""Encoders for serving on a CPU: exported graphs and a static table, against torch in float32.

The forms are made from all-MiniLM-L6-v2 by the exporter's environment (docs/serving.md), once::

    pip install '.[onnx,openvino,quickstart]'
    ST_BIOMED_EXPORT_PYTHON=export-env/bin/python ST_BIOMED_DATA=/path OMP_NUM_THREADS=1 python -m benchmarks serving
"""

from __future__ import annotations

import importlib
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Table, interleaved
from st_biomed.encoder import PACKAGED, computes_bf16, load_encoder, model_folder
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.linking.encoding import NameEncoder
from st_biomed.metrics.cosine import unit_rows
from st_biomed.release.export import export_encoder

FORMS: dict[str, dict[str, Any]] = {
    "ONNX float32": {"backend": "onnx"},
    "ONNX int8, avx512_vnni": {"backend": "onnx", "int8": "avx512_vnni"},
    "ONNX int8, avx2": {"backend": "onnx", "int8": "avx2"},
    "OpenVINO float32": {"backend": "openvino"},
}
STATIC = "static, 256 dimensions"
_DISTILL = (
    "import sys; from model2vec.distill import distill; "
    "distill(model_name=sys.argv[1], pca_dims=256).save_pretrained(sys.argv[2])"
)
QUICK = 200
"""Names of the dictionary that are encoded where only the code is tried."""


def main(quick: bool = False) -> Table:
    """Every form: names per second of processor time, agreement with torch, and accuracy on NCBI disease.

    Raises:
        ModuleNotFoundError: The runtimes or the exporter's environment are not there.
    """
    for runtime in ("onnxruntime", "openvino"):
        importlib.import_module(runtime)
    if "ST_BIOMED_DATA" not in os.environ:
        raise ModuleNotFoundError("ST_BIOMED_DATA names no folder with NCBI disease")
    evaluator = ncbi_disease()
    mentions, names = evaluator.queries.texts, evaluator.names.texts[: QUICK if quick else None]
    n_timed, repeats = (16, 1) if quick else (128, 5)
    some = np.random.default_rng(0).choice(len(names), n_timed, replace=False)
    timed = [names[i] for i in some]
    with tempfile.TemporaryDirectory() as made_here:
        encoders = forms(Path(os.environ.get("ST_BIOMED_EXPORTS", made_here)))
        times = interleaved(
            {form: partial(encoder.encode, timed, task="document") for form, encoder in encoders.items()},
            repeats,
            clock=time.process_time,
        )
        torch_vectors: list[np.ndarray] = []
        rows = []
        for form, encoder in encoders.items():
            vectors = [unit_rows(encoder.encode(texts, task="document")) for texts in (names, mentions)]
            torch_vectors = torch_vectors or vectors
            rows.append(
                [
                    form,
                    f"{len(timed) / times[form].median:,.0f}",
                    f"{times[form].times_faster_than(next(iter(times.values()))):.1f}",
                    *agreement(vectors, torch_vectors),
                    f"{together(encoder, timed[:64]):.3f}",
                    f"{accuracy(evaluator, dict(zip([*names, *mentions], np.concatenate(vectors), strict=True))):.3f}",
                ]
            )
    return Table(
        "Serving on a CPU",
        [
            "form",
            "names per second",
            "times as fast",
            "cosine to torch, mean",
            "least",
            "same nearest name",
            "alone and in a batch, least cosine",
            "acc@1",
        ],
        rows,
        notes=notes(len(names), len(mentions), n_timed, repeats),
        peers=["sentence-transformers", "transformers", "onnxruntime", "openvino"],
    )


def notes(n_names: int, n_mentions: int, n_timed: int, repeats: int) -> list[str]:
    """What the columns are."""
    return [
        "All forms are made from all-MiniLM-L6-v2: graphs by `st-biomed export`, the static table by model2vec's distillation. "
        "The forms are loaded by this package and encode through `NameEncoder`, as `st-biomed link` does, on one thread.",
        f"Speed: {n_timed} names, medians of {repeats} rounds in which the forms take turns, in seconds of processor time of the "
        "process. The ratio is the median of the ratios of each round.",
        f"Agreement: the cosine of a name's vector with that of torch in float32, over {n_names:,} names, and the share of "
        f"{n_mentions} mentions whose nearest name is the same. The vectors of dynamic int8 depend on the other texts of the "
        "batch: the last but one column is the least cosine of a name's vector alone and among 64.",
        f"acc@1: NCBI disease, test set, prepared as `ncbi_disease` is, linked to the {n_names:,} names of its dictionary.",
    ]


def ncbi_disease() -> EntityLinkingEvaluator:
    """The prepared benchmark, without bootstrap."""
    settings = Benchmark.read("ncbi_disease").evaluator_settings()
    made = settings.evaluators(as_published=False, n_bootstrap=0)
    return next(one for one in made if isinstance(one, EntityLinkingEvaluator) and one.name == "ncbi-disease")


def forms(folder: Path) -> dict[str, NameEncoder]:
    """The encoders by form; exported ones that are not in the folder are made.

    Raises:
        ModuleNotFoundError: One has to be made, and ST_BIOMED_EXPORT_PYTHON names no environment for it.
    """
    python = os.environ.get("ST_BIOMED_EXPORT_PYTHON")
    model = load_encoder(PACKAGED, device="cpu")
    encoders = {"torch float32": NameEncoder(model, bf16=False)}
    if computes_bf16():
        encoders["torch bf16 autocast"] = NameEncoder(model, bf16=True)
    for form, options in FORMS.items():
        output = folder / form.replace(", ", "-").replace(" ", "-")
        if not output.is_dir():
            if not python:
                raise ModuleNotFoundError("ST_BIOMED_EXPORT_PYTHON names no environment with the exporter")
            export_encoder(PACKAGED, output, python=python, **options)
        encoders[form] = NameEncoder(load_encoder(output, exported=True), bf16=False)
    output = folder / "static"
    if not output.is_dir() and python:
        done = subprocess.run([python, "-I", "-c", _DISTILL, str(model_folder(PACKAGED)), str(output)], check=False)
        if done.returncode:
            print("the static form is left out: the exporter's environment has no model2vec[distill]", flush=True)
    if output.is_dir():
        encoders[STATIC] = NameEncoder(load_encoder(output, device="cpu"), bf16=False)
    return encoders


def agreement(vectors: Sequence[np.ndarray], torch_vectors: Sequence[np.ndarray]) -> list[str]:
    """Mean and least cosine to torch, and the share of mentions with the same nearest name."""
    nearest = [np.argmax(mentions @ names.T, axis=1) for names, mentions in (vectors, torch_vectors)]
    same = f"{np.mean(nearest[0] == nearest[1]):.3f}"
    if vectors[0].shape != torch_vectors[0].shape:
        return ["other dimensions", "", same]
    cosines = np.sum(vectors[0] * torch_vectors[0], axis=1)
    return [f"{cosines.mean():.4f}", f"{cosines.min():.4f}", same]


def together(encoder: NameEncoder, names: list[str]) -> float:
    """The least cosine between the vectors of names alone and in one batch."""
    batch = unit_rows(encoder.encode(names, task="document"))
    alone = np.concatenate([unit_rows(encoder.encode([name], task="document")) for name in names])
    return float(np.sum(batch * alone, axis=1).min())


def accuracy(evaluator: EntityLinkingEvaluator, vectors: dict[str, np.ndarray]) -> float:
    """acc@1 with the vectors of names and mentions; a text without one has a zero vector."""
    zero = np.zeros_like(next(iter(vectors.values())))
    measured = evaluator.measure(
        lambda texts: np.stack([vectors.get(text, zero) for text in texts]).astype(np.float32)
    )
    return measured[evaluator.primary_metric]
