"""``st-biomed index``: encode and index the names of a terminology for ``st-biomed link``."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import Device, TerminologyName, TrustRemoteCode, check_used
from st_biomed.settings.checks import FOLDER, PATH, PROCESSES, within


class Kind(StrEnum):
    """How names are searched."""

    auto = "auto"
    exact = "exact"
    hnsw = "hnsw"
    ivfpq = "ivfpq"


class Dtype(StrEnum):
    """Type of the matrix."""

    float32 = "float32"
    float16 = "float16"


class Engine(StrEnum):
    """Where names are encoded."""

    local = "local"
    ray = "ray"


def run(
    terminology: TerminologyName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the index, new or empty."), FOLDER],
    model: Annotated[str, typer.Option(help="The encoder: a folder, or an id on the Hub."), PATH],
    kind: Annotated[
        Kind, typer.Option(help="Kind of index; auto chooses by the number of names, their size and the recall.")
    ] = Kind.auto,
    recall: Annotated[float, typer.Option(help="Target recall@1 of an approximate index."), within("(0, 1]")] = 0.99,
    dtype: Annotated[
        Dtype, typer.Option(help="Precision of the stored vectors; float16 takes half the space.")
    ] = Dtype.float32,
    bf16: Annotated[
        bool | None,
        typer.Option(
            "--bf16/--no-bf16", help="Use bfloat16 autocast; by default if the machine supports it, or as --earlier."
        ),
    ] = None,
    tokens: Annotated[int | None, typer.Option(help="Tokens in a forward pass, including padding.", min=1)] = None,
    rows_per_commit: Annotated[
        int, typer.Option(help="Names between two checkpoints; an interrupted run loses at most these.", min=1)
    ] = 1 << 12,
    device: Device = None,
    engine: Annotated[
        Engine, typer.Option(help="Where to encode; ray uses the Ray cluster at RAY_ADDRESS.")
    ] = Engine.local,
    workers: Annotated[
        int | None, typer.Option(help="Number of encoders of the Ray engine; 1 by default.", min=1), PROCESSES
    ] = None,
    gpus_per_worker: Annotated[
        float | None, typer.Option(help="GPUs of each Ray encoder; none by default.", min=0)
    ] = None,
    trust_remote_code: TrustRemoteCode = False,
    earlier: Annotated[
        Path | None,
        typer.Option(help="An index of the same encoder, whose vectors are taken for the names that it has."),
        PATH,
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the index in the output folder.")] = False,
) -> None:
    """Encode and index the names of a terminology. Repeat an interrupted run to continue it."""
    from st_biomed.files import begun_in, lock
    from st_biomed.linking import ConceptIndex, EncodingOptions
    from st_biomed.linking.earlier import earlier_manifest
    from st_biomed.linking.manifest import check_folder
    from st_biomed.linking.vectors import read_progress
    from st_biomed.terminology import Terminology

    of_ray: dict[str, object] = {"--workers": workers, "--gpus-per-worker": gpus_per_worker}
    check_used(of_ray, "with --engine ray", used=engine is Engine.ray)
    start = time.perf_counter()
    options = EncodingOptions(
        dtype=dtype.value,
        bf16=bf16,
        tokens_per_forward=tokens,
        rows_per_commit=rows_per_commit,
        engine=engine.value,
        workers=1 if workers is None else workers,
        gpus_per_worker=0.0 if gpus_per_worker is None else gpus_per_worker,
        device=device,
        show_progress=True,
        trust_remote_code=trust_remote_code,
        earlier=earlier,
    )
    if earlier is not None:
        earlier_manifest(earlier)
    with lock(output):
        check_folder(output, overwrite=overwrite)
        opened = Terminology.open(terminology)
        typer.echo(f"{opened!r}", err=True)
        try:
            index = ConceptIndex.build(
                opened, model, output, kind=kind.value, recall=recall, encoding=options, overwrite=overwrite
            )
        except KeyboardInterrupt:
            begun = read_progress(begun_in(output))
            kept = 0 if begun is None else begun.done
            typer.echo(
                f"interrupted: {kept:,} names are kept in {begun_in(output)}; repeat the command to go on", err=True
            )
            raise typer.Exit(130) from None
    typer.echo(index.summary)
    reached, wanted = index.manifest.recall["recall_at_1"], f"--recall {recall}"
    if reached < recall:
        typer.echo(f"warning: {wanted} was not reached; --kind exact finds every name", err=True)
    typer.echo(f"saved to {output} after {time.perf_counter() - start:.0f} s")
