"""``st-biomed link``: find the nearest concepts for every mention in a file or on standard input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from st_biomed.cli._options import Device
from st_biomed.encoder.foreign_code import FLAG_HELP
from st_biomed.errors import InputError
from st_biomed.settings.checks import FILE, PATH


def run(
    index: Annotated[Path, typer.Argument(help="An index: a folder written by `st-biomed index`."), PATH],
    source: Annotated[
        Path | None, typer.Argument(metavar="INPUT", help="File of mentions; standard input by default.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; standard output by default."), FILE
    ] = None,
    model: Annotated[str | None, typer.Option(help="The encoder; by default the one recorded in the index.")] = None,
    k: Annotated[int, typer.Option("--concepts", "-k", help="Maximum number of concepts per mention.", min=1)] = 5,
    types: Annotated[str, typer.Option(help="Return only concepts of these semantic types, e.g. T047,T048.")] = "",
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum score (cosines are from -1 to 1); concepts below it are not returned."),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Input format: text, tsv or jsonl; by default from the suffix.")
    ] = None,
    column: Annotated[str, typer.Option(help="Column or field that holds the mention, for tsv and jsonl.")] = "text",
    at_once: Annotated[
        int, typer.Option(help="Mentions searched at once; 1 answers each line immediately.", min=1)
    ] = 2048,
    device: Device = None,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help=FLAG_HELP)] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Verify the checksums of the index, not only its file sizes.")
    ] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file.")] = False,
) -> None:
    """Link mentions in lines, a TSV column or a JSON Lines field. Rows are streamed and keep their order.

    Text and TSV output has the columns rank, concept, score, name (the matched name) and label (the concept's
    preferred name), with one line per concept. A mention without a concept has one line of rank 0. Text has no header.
    JSON Lines output has the field concepts.
    """
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output}: already exists; --overwrite replaces it")
    from st_biomed.files import check_writable

    if output is not None:
        check_writable(output, file=True)
    from tqdm import tqdm

    from st_biomed.linking import ConceptIndex
    from st_biomed.linking.mention_rows import format_of, header_line, link_rows, read_mentions, written
    from st_biomed.settings.keyword_options import listed

    kind = format_of(source, form)
    if output is not None and source is not None and output.exists() and output.samefile(source):
        raise InputError(f"--output {output}: is also the input file; choose another file")
    n, without_text, nil = 0, 0, 0
    with _writer(output) as file:
        table = read_mentions(typer.get_binary_stream("stdin") if source is None else source, kind, column)
        opened = ConceptIndex.load(index, verify=verify, trust_remote_code=trust_remote_code)
        name = model or opened.manifest.model
        if not name:
            raise InputError(f"{index}: records no model, because it was built from a model object; pass --model")
        if threshold is not None and opened.manifest.similarity == "cosine" and not -1 <= threshold <= 1:
            raise InputError(f"--threshold {threshold:g}: the scores of {index} are cosines, from -1 to 1")
        opened.use(name, device=device)
        wanted = listed("--types", types) or None
        if wanted is not None:
            opened.catalog.of_types(wanted)  # an unknown type is refused before a mention is read

        start = time.perf_counter()
        file.write(header_line(table))
        linked = link_rows(
            table.rows, lambda texts: opened.search(texts, k, types=wanted, threshold=threshold), rows_at_once=at_once
        )
        for row, matches in tqdm(linked, desc="link", unit="mention", unit_scale=True, disable=None, leave=False):
            file.write(written(kind, row, matches))
            if output is None and at_once == 1:
                file.flush()
            n += 1
            without_text += not row.text
            nil += bool(row.text) and not matches
    seconds = time.perf_counter() - start
    typer.echo(
        f"{n:,} mentions: {n - nil - without_text:,} linked, {nil:,} without a concept, {without_text:,} without text; "
        f"{seconds:.0f} s, {n / max(seconds, 1e-9):,.0f} a second",
        err=True,
    )


@contextmanager
def _writer(output: Path | None) -> Iterator[TextIO]:
    """Standard output, or a file that is there once it is whole."""
    if output is None:
        yield typer.get_text_stream("stdout", "utf-8")
        return
    from st_biomed.files import writing

    with writing(output) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        yield file
