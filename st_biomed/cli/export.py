"""``st-biomed export``: an encoder for serving on a CPU, as an ONNX or OpenVINO graph."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.settings.checks import FOLDER, PATH


class Backend(StrEnum):
    """What computes the graph."""

    onnx = "onnx"
    openvino = "openvino"


class Int8(StrEnum):
    """Instruction sets of int8 graphs."""

    avx2 = "avx2"
    avx512 = "avx512"
    avx512_vnni = "avx512_vnni"
    arm64 = "arm64"


def run(
    model: Annotated[str, typer.Argument(help="The encoder: a release, another folder, or an id on the Hub."), PATH],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the exported encoder, new or empty."), FOLDER
    ],
    backend: Annotated[Backend, typer.Option(help="What computes the graph.")] = Backend.onnx,
    int8: Annotated[
        Int8 | None, typer.Option(help="Write an int8 graph of ONNX for processors with these instructions.")
    ] = None,
    python: Annotated[
        str,
        typer.Option(
            help="Interpreter of the exporter's environment, made by pip install 'sentence-transformers[onnx,openvino]<6'; "
            "by default the present one.",
            show_default=False,
        ),
        PATH,
    ] = sys.executable,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the exported encoder in the output folder.")
    ] = False,
) -> None:
    """Export an encoder by sentence-transformers, for index, link and evaluate on a CPU. The graph is compared with it."""
    from st_biomed.release.export import export_encoder

    made = export_encoder(
        model,
        output,
        backend=backend.value,
        int8="" if int8 is None else int8.value,
        python=python,
        overwrite=overwrite,
    )
    agreement = made.agreement
    typer.echo(
        f"saved to {output}: {made.precision} for {backend.value}, cosine to the encoder on {agreement['names']} terms "
        f"{agreement['mean']:.4f} on average, {agreement['min']:.4f} at least"
    )
