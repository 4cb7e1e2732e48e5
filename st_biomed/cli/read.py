"""``st-biomed read``: a source to a saved terminology, and what became of each of its rows."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import ReplaceTerminology
from st_biomed.errors import InputError
from st_biomed.readers import parse_options, reader, reader_names, reader_options
from st_biomed.records import Tally
from st_biomed.settings.checks import FOLDER

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology


def run(
    source: Annotated[str, typer.Argument(help=f"The reader: {', '.join(reader_names())}.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to save to: new, empty or a terminology."), FOLDER
    ] = None,
    path: Annotated[Path | None, typer.Argument(help="What to read; some readers bring their source along.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="key=value for the reader, once for each option.")
    ] = None,
    describe: Annotated[bool, typer.Option("--describe", help="Say what the reader reads and its options.")] = False,
    overwrite: ReplaceTerminology = False,
) -> None:
    """Read a source and save it as a terminology."""
    if describe:
        typer.echo(_description(source))
        return
    if output is None:
        raise InputError("read needs a folder to save to: --output FOLDER")
    start = time.perf_counter()
    options = parse_options(source, option or [], "--option")

    from st_biomed.files import lock
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.storage import check_folder

    with lock(output):
        check_folder(output, overwrite=overwrite)
        terminology = Terminology.read(source, path, **options)
        terminology.save(output)
    typer.echo(tally_table(terminology.tallies))
    echo_definitions(terminology)
    typer.echo(f"{terminology!r} saved to {output} after {time.perf_counter() - start:.0f} s")


def _description(source: str) -> str:
    """What a reader reads and its options with their defaults."""
    lines = (inspect.getdoc(reader(source).records) or "").splitlines()
    shown, tally_depth = [], None
    for line in lines:  # the tally is no option; its lines go on where they stand deeper than its name
        depth = len(line) - len(line.lstrip())
        if line.strip().startswith("tally: "):
            tally_depth = depth
        elif tally_depth is None or depth <= tally_depth:
            tally_depth = None
            shown.append(line)
    options = ", ".join(f"{name}={option.default}" for name, option in reader_options(source).items())
    return "\n".join(
        [*shown, "", f"Options as --option key=value; by default {options}." if options else "No options."]
    )


def echo_definitions(terminology: Terminology) -> None:
    """How many definitions there are, where there are any."""
    if terminology.n_definitions:
        n_defined = int((terminology.concept_definitions.counts > 0).sum())
        typer.echo(f"{terminology.n_definitions:,} definitions of {n_defined:,} concepts")


def tally_table(tallies: Mapping[str, Tally]) -> str:
    """Rows read, kept and dropped by reason, stage after stage; what is dropped most comes first, then notes."""
    rows: list[tuple[str, int | None]] = []
    for stage, tally in tallies.items():
        rows += [(f"{stage} read", tally.n_read), ("  kept", tally.n_kept)]
        reasons = sorted(tally.dropped.items(), key=lambda reason: (-reason[1], reason[0]))
        rows += [(f"  dropped: {reason}", n) for reason, n in reasons]
        rows += [(f"  {note}", None) for note in tally.notes]
    width = max((len(name) for name, n in rows if n is not None), default=0)
    digits = max((len(f"{n:,}") for _, n in rows if n is not None), default=0)
    return "\n".join(name if n is None else f"{name:{width}}  {n:>{digits},}" for name, n in rows)
