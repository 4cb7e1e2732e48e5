"""``st-biomed merge``: several terminologies as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import NewTerminology, Normalize, ReplaceTerminology, WithoutCycles, check_outside
from st_biomed.cli.read import echo_definitions, tally_table
from st_biomed.errors import InputError
from st_biomed.settings.checks import FILE, PATH, check_value, one_of


def run(
    terminologies: Annotated[
        list[str], typer.Argument(help="Folders, readers' names, or reader:path; two or more."), PATH
    ],
    output: NewTerminology,
    crosswalk: Annotated[
        str,
        typer.Option(
            "--crosswalk", help="Predicates of cross-references that make concepts one, e.g. xref,exactMatch."
        ),
    ] = "",
    through: Annotated[
        str,
        typer.Option(
            "--through", help="Prefixes over which the crosswalk links although none is merged here, e.g. UMLS."
        ),
    ] = "",
    same_name: Annotated[
        str | None,
        typer.Option("--same-name", help="Make concepts with an equal name one, after none, lower or coder."),
    ] = None,
    preferred_names: Annotated[
        bool, typer.Option("--preferred-names", help="Have --same-name compare preferred names alone.")
    ] = False,
    normalize: Normalize = "none",
    conflicts: Annotated[
        Path | None, typer.Option("--conflicts", help="Table of the links that were left out and why."), FILE
    ] = None,
    without_cycles: WithoutCycles = False,
    overwrite: ReplaceTerminology = False,
) -> None:
    """Merge terminologies by code, and by crosswalk and equal names where asked for."""
    from st_biomed.files import check_new_file, lock, write_text
    from st_biomed.readers._normalizers import NORMALIZERS
    from st_biomed.settings.keyword_options import listed
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.crosswalk import Crosswalk
    from st_biomed.terminology.normalization import normalized
    from st_biomed.terminology.stages import added_stages
    from st_biomed.terminology.storage import check_folder

    if len(terminologies) < 2:
        raise InputError(f"merge takes two terminologies or more, found {len(terminologies)}")
    if through and not crosswalk:
        raise InputError("--through needs --crosswalk: the predicates of the cross-references to follow, e.g. xref")
    if preferred_names and same_name is None:
        raise InputError("--preferred-names needs --same-name: the normalizer after which they are equal, e.g. lower")
    check_value("--same-name", same_name, one_of(*NORMALIZERS, called="normalizer"))
    check_value("--normalize", normalize, one_of(*NORMALIZERS, called="normalizer"))
    if conflicts is not None:
        check_outside("--conflicts", conflicts, output)
        check_new_file(conflicts, overwrite=overwrite)
    with lock(output):
        check_folder(output, overwrite=overwrite)
        parts = [Terminology.open(name) for name in terminologies]
        walk = Crosswalk.between(
            *parts,
            predicates=listed("--crosswalk", crosswalk),
            through=listed("--through", through),
            same_name=same_name,
            preferred=preferred_names,
        )
        merged = normalized(walk.merge(*parts), normalize)
        if without_cycles:
            merged = merged.without_cycles()
        merged.save(output)
    if conflicts is not None:
        lines = ["\t".join(conflict) for conflict in [("code", "other", "reason"), *walk.conflicts]]
        write_text(conflicts, "\n".join(lines) + "\n")
    typer.echo(tally_table(added_stages(merged.tallies, (part.tallies for part in parts))))
    if walk.codes:
        typer.echo(
            f"{len(walk.codes):,} concepts became one with another, under the code of the terminology named first"
        )
    if n_cyclic := merged.n_cyclic_parents:
        typer.echo(f"{n_cyclic:,} parents lie on cycles, which a hierarchy refuses: --without-cycles drops them")
    echo_definitions(merged)
    typer.echo(f"{merged!r} saved to {output}")
