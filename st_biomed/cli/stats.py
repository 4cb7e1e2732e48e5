"""``st-biomed stats``: what a saved terminology holds and where it comes from."""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    terminology: Annotated[str, typer.Argument(help="A folder written by `st-biomed read`, or a reader's name.")],
) -> None:
    """Count concepts, names, parents and relations, and list the sources."""
    from st_biomed.terminology import Terminology

    opened = Terminology.open(terminology)
    for name, value in opened.stats().items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count:,}" for key, count in value.items())
        typer.echo(f"{name:24}{value:,}" if isinstance(value, int) else f"{name:24}{value}")
    for stage, tally in opened.tallies.items():
        typer.echo(f"{stage:24}{tally}")
    for source in opened.sources.values():
        edition = " ".join(part for part in (source.title, source.version) if part)
        may = "may be redistributed" if source.redistributable else "may not be redistributed"
        typer.echo(f"{source.name:24}{edition}; licence: {source.licence or 'not stated'}; {may}; {source.url}")
