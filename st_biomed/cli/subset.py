"""``st-biomed subset``: a part of a terminology."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import (
    NewTerminology,
    Normalize,
    ReplaceTerminology,
    TerminologyName,
    WithoutCycles,
    conditions_of,
)
from st_biomed.cli.read import echo_definitions, tally_table
from st_biomed.errors import InputError
from st_biomed.settings.checks import check_value, one_of


def run(
    terminology: TerminologyName,
    output: NewTerminology,
    sources: Annotated[str | None, typer.Option("--sources", help="Sources to keep, e.g. ICD10CM,MSH.")] = None,
    languages: Annotated[str | None, typer.Option("--languages", help="Languages to keep, e.g. en,it.")] = None,
    types: Annotated[str | None, typer.Option("--types", help="Semantic types to keep, e.g. T047,T048.")] = None,
    below: Annotated[
        str | None, typer.Option("--below", help="Codes of the sub-trees to keep, roots included.")
    ] = None,
    codes: Annotated[
        Path | None, typer.Option("--codes", help="Text file with the codes to keep, one a line.")
    ] = None,
    normalize: Normalize = "none",
    without_cycles: WithoutCycles = False,
    overwrite: ReplaceTerminology = False,
) -> None:
    """Keep what meets every condition that is given."""
    from st_biomed.files import lock
    from st_biomed.files.delimited import read_lines
    from st_biomed.readers._normalizers import NORMALIZERS
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.normalization import normalized
    from st_biomed.terminology.stages import added_stages
    from st_biomed.terminology.storage import check_folder

    conditions = conditions_of(sources=sources, languages=languages, types=types, below=below)
    if codes is not None:
        conditions["codes"] = tuple(text.strip() for _, text in read_lines(codes) if text.strip())
    check_value("--normalize", normalize, one_of(*NORMALIZERS, called="normalizer"))
    if not conditions and not without_cycles and normalize == "none":
        raise InputError(
            "subset needs a condition: --sources, --languages, --types, --below, --codes, --normalize or --without-cycles"
        )
    with lock(output):
        check_folder(output, overwrite=overwrite)
        whole = Terminology.open(terminology)
        part = whole.subset(**conditions) if conditions else whole
        part = normalized(part, normalize)
        if without_cycles:
            part = part.without_cycles()
        part.save(output)
    typer.echo(tally_table(added_stages(part.tallies, [whole.tallies])))
    echo_definitions(part)
    typer.echo(f"{part!r} saved to {output}")
