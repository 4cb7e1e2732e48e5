"""``st-biomed evaluate``: how well an encoder's cosines follow the distances of a hierarchy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.errors import InputError


def run(
    model: Annotated[str, typer.Argument(help="A folder with an encoder, or an id on the Hub.")],
    terminology: Annotated[
        str | None, typer.Argument(help="A folder written by `st-biomed read`, or a reader's name.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="A file of distance||term||term lines to measure instead.")
    ] = None,
    pairs_per_class: Annotated[int, typer.Option(help="Pairs to draw at each distance.", min=1)] = 800,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", min=0)] = 0,
    batch_size: Annotated[int, typer.Option(help="Names per forward pass.", min=1)] = 128,
    device: Annotated[str | None, typer.Option(help="Where to compute; by default the best there is.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the table as CSV.")] = None,
) -> None:
    """Print the tree AUCs of an encoder on a terminology, or on a file of pairs."""
    if (pairs is None) == (terminology is None):
        raise InputError("evaluate needs a terminology or --pairs FILE, and not both")
    if output is not None and output.is_file():
        raise InputError(f"{output}: is a file, a folder for the table is needed")

    from st_biomed.encoder import load_encoder
    from st_biomed.evaluators import TreeEvaluator

    show_progress_bar = sys.stderr.isatty()
    if pairs is not None:
        evaluator = TreeEvaluator.from_file(pairs, batch_size=batch_size, show_progress_bar=show_progress_bar)
        encoder = load_encoder(model, device=device)
    else:
        from st_biomed.hierarchy import Hierarchy
        from st_biomed.terminology import Terminology

        opened = Terminology.open(str(terminology))
        if opened.parents.num_rows == 0:
            raise InputError(f"{terminology}: no concept has a parent, the hierarchy is empty")
        hierarchy = Hierarchy(opened)
        if opened.concept_texts.counts.max() < 2:
            raise InputError(f"{terminology}: no concept has a synonym, so no pair is at distance 0")
        encoder = load_encoder(model, device=device)
        evaluator = TreeEvaluator.from_hierarchy(
            hierarchy,
            pairs_per_class=pairs_per_class,
            seed=seed,
            batch_size=batch_size,
            show_progress_bar=show_progress_bar,
        )
    metrics = evaluator(encoder, None if output is None else str(output))
    typer.echo(evaluator.table(**{Path(model).name: metrics}))
    drawn = ", ".join(f"{n:,} at distance {distance}" for distance, n in evaluator.counts.items())
    typer.echo(f"pairs: {drawn}; sha256 {evaluator.pairs_digest}")
