"""``st-biomed stats``: what a saved terminology holds and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli.read import tally_table
from st_biomed.errors import InputError
from st_biomed.settings.checks import PATH

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology


def run(
    terminology: Annotated[
        str, typer.Argument(help="A folder written by `st-biomed read`, or a reader's name."), PATH
    ],
) -> None:
    """Count concepts, names, parents and relations; depths, what became of each row, sources and licenses."""
    from st_biomed.terminology import Terminology

    opened = Terminology.open(terminology)
    for name, value in opened.stats().items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count:,}" for key, count in value.items())
        typer.echo(f"{name:24}{value:,}" if isinstance(value, int) else f"{name:24}{value}")
    typer.echo(f"{'concepts by depth':24}{_depths(opened)}")
    for reading in opened.readings:
        options = " ".join(f"{name}={value}" for name, value in reading["options"].items())
        reading_text = " ".join(part for part in (reading["reader"], reading["path"], options) if part)
        typer.echo(f"{'read from':24}{reading_text} (st-biomed {reading['version']})")
    typer.echo(tally_table(opened.tallies))
    for source in opened.sources.values():
        edition = " ".join(part for part in (source.title, source.version) if part)
        may = "may be redistributed" if source.redistributable else "may not be redistributed"
        typer.echo(f"{source.name:23} {edition}; license: {source.license or 'not stated'}; {may}; {source.url}")


def _depths(terminology: Terminology) -> str:
    """How many concepts stand at each depth, roots first; concepts without a parent or a child are left out."""
    import numpy as np

    from st_biomed.hierarchy.ancestors import AncestorGraph

    child, parent = (terminology.parents[end].to_numpy() for end in ("child", "parent"))
    if not len(child):
        return "no hierarchy"
    try:
        depth = AncestorGraph(child, parent, terminology.concepts["code"]).depth
    except InputError as error:
        return f"no hierarchy ({error})"
    placed = np.unique(np.concatenate([child, parent]))
    return ", ".join(f"{at} {count:,}" for at, count in enumerate(np.bincount(depth[placed])))
