"""``st-biomed pairs``: write a terminology in the text formats of the papers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import TerminologyName, check_used
from st_biomed.cli.read import tally_table
from st_biomed.settings.checks import FILE, SEED


class Form(StrEnum):
    """What a line is."""

    pairs = "pairs"
    names = "names"


def run(
    terminology: TerminologyName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Text file to write."), FILE],
    form: Annotated[Form, typer.Option(help="pairs: code||name1||name2 (SapBERT's); names: code||name.")] = Form.pairs,
    max_pairs_per_concept: Annotated[
        int | None, typer.Option(help="Maximum number of pairs per concept; 50 by default.", min=1)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the pairs; 0 by default.", min=0, show_default=False), SEED
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file.")] = False,
) -> None:
    """Write synonym pairs or names as text. Training does not need this file."""
    from st_biomed.files import check_new_file, writing
    from st_biomed.records import Tally
    from st_biomed.terminology import Terminology
    from st_biomed.training_data.name_pairs import name_lines, pair_lines

    of_pairs: dict[str, object] = {"--max-pairs-per-concept": max_pairs_per_concept, "--seed": seed}
    check_used(of_pairs, "with --form pairs", used=form is Form.pairs)
    n_pairs = 50 if max_pairs_per_concept is None else max_pairs_per_concept
    check_new_file(output, overwrite=overwrite)
    tally = Tally()
    with writing(output) as draft, draft.open("w", encoding="utf-8") as file:
        opened = Terminology.open(terminology)
        lines = (
            name_lines(opened, tally=tally)
            if form is Form.names
            else pair_lines(opened, max_pairs_per_concept=n_pairs, seed=seed or 0, tally=tally)
        )
        file.writelines(f"{line}\n" for line in lines)
    typer.echo(f"{tally_table({form.value: tally})}\nwritten to {output}")
