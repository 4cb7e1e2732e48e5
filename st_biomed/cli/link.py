"""``st-biomed link``: find the nearest concepts for every mention in a file or on standard input."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from st_biomed.cli._options import Device, TrustRemoteCode, conditions_of
from st_biomed.cli.mentions import COVERAGE
from st_biomed.errors import InputError
from st_biomed.settings.checks import FILE, PATH, within

if TYPE_CHECKING:
    from st_biomed.linking import ConceptIndex, Match
    from st_biomed.linking.mention_files import MentionRow

_STREAM = Path("-")


class OnError(StrEnum):
    """What a row that cannot be read leads to."""

    stop = "stop"
    reject = "reject"


def run(
    index: Annotated[Path, typer.Argument(help="An index: a folder written by `st-biomed index`."), PATH],
    source: Annotated[
        Path | None, typer.Argument(metavar="INPUT", help="File of mentions; standard input by default, or -.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; standard output by default, or -."), FILE
    ] = None,
    model: Annotated[str | None, typer.Option(help="The encoder; by default the one recorded in the index.")] = None,
    k: Annotated[int, typer.Option("--concepts", "-k", help="Maximum number of concepts per mention.", min=1)] = 5,
    types: Annotated[
        str | None, typer.Option(help="Return only concepts of these semantic types, e.g. T047,T048.")
    ] = None,
    leaves: Annotated[
        bool,
        typer.Option(
            "--leaves", help="Return only concepts without children: the valid codes of an ICD-10-CM with extensions."
        ),
    ] = False,
    standard: Annotated[bool, typer.Option("--standard", help="Return only standard concepts of OMOP.")] = False,
    below: Annotated[
        str | None, typer.Option(help="Return only these concepts and those below them, e.g. ICD10CM:E08-E13.")
    ] = None,
    sources: Annotated[str | None, typer.Option(help="Match only names of these sources, e.g. ICD10CM,MSH.")] = None,
    languages: Annotated[str | None, typer.Option(help="Match only names in these languages, e.g. en,it.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum score (cosines are from -1 to 1); concepts below it are not returned."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Input format: text, csv, tsv, jsonl or parquet; by default from the suffix."),
    ] = None,
    output_form: Annotated[
        str | None,
        typer.Option("--output-format", help="Output format; by default from the suffix, or that of the input."),
    ] = None,
    encoding: Annotated[
        str,
        typer.Option(help="Encoding of the input, e.g. cp1252; by default UTF-8, or UTF-16 by its byte order mark."),
    ] = "",
    column: Annotated[
        str | None, typer.Option(help="Column or field that holds the mention (text by default); not for plain text.")
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="Column or field of the text in which the mention stands, for the next two options."),
    ] = None,
    abbreviations: Annotated[
        bool, typer.Option("--abbreviations", help="Replace short forms that the context defines by their long forms.")
    ] = False,
    rerank: Annotated[
        str | None,
        typer.Option(help="Model trained on marked mentions, which orders the concepts by the context."),
    ] = None,
    rerank_weight: Annotated[
        float | None,
        typer.Option(help="Weight of the context in the score, with --rerank; by default 0.5."),
        within("[0, 1]"),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(help="Concepts of a mention that --rerank orders, at least --concepts; by default 10.", min=1),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Mentions that stand for a missing one, e.g. NULL,N/A; they are not linked.")
    ] = "",
    prefix: Annotated[str, typer.Option(help="Text before the names of the added columns, e.g. linked_.")] = "",
    on_error: Annotated[
        OnError, typer.Option(help="A row that cannot be read ends the job (stop) or is left out (reject).")
    ] = OnError.stop,
    rejects: Annotated[
        Path | None,
        typer.Option(help="File for the rows left out, with line and reason, as JSON Lines; needs --on-error reject."),
        FILE,
    ] = None,
    at_once: Annotated[
        int, typer.Option(help="Mentions searched at once; 1 answers each line immediately.", min=1)
    ] = 2048,
    device: Device = None,
    trust_remote_code: TrustRemoteCode = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Verify the checksums of the index, not only its file sizes.")
    ] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files that are written.")] = False,
) -> None:
    """Link mentions in lines or in a column of a table. Rows are streamed and keep their order and their columns.

    Formats are plain text, CSV, TSV, JSON Lines and parquet, by suffix (all but parquet also with .gz). Tables get the
    columns rank, concept, score, name (the matched name) and label (the concept's preferred name), with one line per
    concept. A mention without a concept has one line of rank 0. Plain text is a TSV without a header. JSON Lines get
    the field concepts. Conditions hold before the best concepts are taken.
    """
    source, output = (None if path == _STREAM else path for path in (source, output))
    if rejects is not None and on_error == OnError.stop:
        raise InputError("--rejects: no row is left out with --on-error stop; add --on-error reject")
    _check_files(source, output, rejects, overwrite)
    if source is not None:
        _check_source(source, form)
    from tqdm import tqdm

    from st_biomed.linking import ConceptIndex, ContextRanker
    from st_biomed.linking import mention_files as files
    from st_biomed.linking.context_search import ContextSearch
    from st_biomed.settings.keyword_options import listed

    ranked: dict[str, Any] = {"weight": rerank_weight, "candidates": candidates}
    reranking = {name: value for name, value in ranked.items() if value is not None}
    _check_context(context, abbreviations, rerank, rerank_weight, candidates)
    read_as = files.format_of(source, form)
    write_as = files.output_format(output, output_form, read_as)
    _check_formats(read_as, write_as, column, context, encoding, output)
    added = files.added_columns(write_as, prefix)
    conditions = conditions_of(types=types, below=below, sources=sources, languages=languages)
    conditions.update({name: True for name, value in {"leaves": leaves, "standard": standard}.items() if value})
    counts = _Counts()
    with (
        files.byte_sink(output, typer.get_binary_stream("stdout")) as file,
        files.rejects_sink(rejects) as aside,
    ):
        lines = typer.get_binary_stream("stdin") if source is None else source
        table = files.read_mentions(
            lines,
            read_as,
            column or "text",
            added=added,
            same_fields=write_as != "jsonl",
            context=context,
            encoding=encoding,
        )
        left_out = files.Rejects(aside, lambda line: typer.echo(line, err=True))
        rows = files.stopping(table) if on_error == OnError.stop else files.rejecting(table, left_out)
        writer = files.row_writer(write_as, file, table, added)
        opened = ConceptIndex.load(index, verify=verify, trust_remote_code=trust_remote_code)
        name = _checked(opened, model, k, threshold, conditions)
        opened.use(name, device=device)
        near = None
        if context is not None:
            ranker = None
            if rerank is not None:
                ranker = ContextRanker(rerank, device=device, trust_remote_code=trust_remote_code, **reranking)
            near = ContextSearch(opened, abbreviations=abbreviations, rerank=ranker)
        given = {"threshold": threshold, **conditions}

        def search(texts: list[str], contexts: list[str]) -> list[list[Match]]:
            return opened.search(texts, k, **given) if near is None else near.search(texts, contexts, k, **given)

        start = time.perf_counter()
        nulls = listed("--missing", missing)
        linked = files.link_rows(rows, search, rows_at_once=at_once, missing=nulls)
        with writer:
            for row, matches in tqdm(linked, desc="link", unit="mention", unit_scale=True, disable=None, leave=False):
                writer.write(row, matches)
                if output is None and at_once == 1:
                    file.flush()
                counts.add(row, matches)
    seconds = time.perf_counter() - start
    parts = counts.parts()
    if table.lines is not None and table.lines.n_blank:
        parts.append(f"{table.lines.n_blank:,} blank line{'s' if table.lines.n_blank > 1 else ''}")
    if near is not None and abbreviations:
        parts.append(f"{near.n_expanded:,} expanded")
    if near is not None and rerank is not None:
        parts.append(f"{near.n_unplaced:,} not in their context")
    if on_error == OnError.reject:
        parts.append(
            f"{left_out.n:,} rows rejected{f' (see {rejects})' if rejects is not None and left_out.n else ''}"
        )
    if table.lines is not None and table.lines.misread:
        typer.echo(f"warning: {table.name} is valid UTF-8; {table.lines.misread}", err=True)
    typer.echo(f"{', '.join(parts)}; {seconds:.0f} s, {counts.n / max(seconds, 1e-9):,.0f} a second", err=True)


@dataclass
class _Counts:
    """Mentions so far: all, those without text, and those with text that no concept was found for."""

    n: int = 0
    n_without_text: int = 0
    n_without_concept: int = 0

    def add(self, row: MentionRow, matches: list[Match]) -> None:
        self.n += 1
        self.n_without_text += not row.text
        self.n_without_concept += bool(row.text) and not matches

    def parts(self) -> list[str]:
        n_linked = self.n - self.n_without_concept - self.n_without_text
        return [
            f"{self.n:,} mentions: {n_linked:,} linked",
            f"{self.n_without_concept:,} without a concept",
            f"{self.n_without_text:,} without text",
        ]


def _checked(
    index: ConceptIndex, model: str | None, k: int, threshold: float | None, conditions: dict[str, Any]
) -> str:
    """The encoder of an index; refuses what the index does not have before a mention is read."""
    name = model or index.manifest.model
    if not name:
        raise InputError(f"{index.folder}: records no model, because it was built from a model object; pass --model")
    index.check_limits(k, threshold)
    index.check(**conditions)
    return name


def _check_context(
    context: str | None,
    abbreviations: bool,
    rerank: str | None,
    rerank_weight: float | None,
    candidates: int | None,
) -> None:
    """Refuse options of the context without the others that they need."""
    if rerank is None and (rerank_weight is not None or candidates is not None):
        raise InputError(f"--{'candidates' if rerank_weight is None else 'rerank-weight'}: needs --rerank MODEL")
    if context is None and (abbreviations or rerank is not None):
        raise InputError(f"{'--abbreviations' if abbreviations else '--rerank'}: needs --context COLUMN")
    if context is not None and not abbreviations and rerank is None:
        raise InputError(f"--context {context}: is not used; add --abbreviations or --rerank MODEL")


def _check_formats(
    read_as: str, write_as: str, column: str | None, context: str | None, encoding: str, output: Path | None
) -> None:
    """Refuse what a format of the input or of the output does not have."""
    for option, named in (("--column", column), ("--context", context)):
        if read_as == "text" and named is not None:
            raise InputError(f"{option} {named}: plain text has no columns; name another --format, or leave it out")
    if encoding and read_as == "parquet":
        raise InputError(f"--encoding {encoding}: is not used for parquet; leave it out")
    if write_as == "parquet" and output is None and sys.stdout.isatty():
        raise InputError("--output: parquet is not printed on a terminal; name a file, or another --output-format")


def _check_files(source: Path | None, output: Path | None, rejects: Path | None, overwrite: bool) -> None:
    """Refuse to write what is there, what is read, or the same file twice."""
    from st_biomed.files import check_new_file

    written = {"--output": output, "--rejects": rejects}
    for option, path in written.items():
        if path is None:
            continue
        check_new_file(path, overwrite=overwrite)
        if path.exists() and source is not None and source.exists() and path.samefile(source):
            raise InputError(f"{option} {path}: is also the input file; choose another file")
    if output is not None and rejects is not None and output.resolve() == rejects.resolve():
        raise InputError(f"--rejects {rejects}: is also the output file; choose another file")
    if overwrite and not any(written.values()):
        raise InputError("--overwrite: no file is written, expected it with --output or --rejects")


def _check_source(source: Path, form: str | None) -> None:
    """Refuse a folder, and the Arrow file in one: the dataset of ``st-biomed mentions`` has no column of mentions."""
    is_dataset = (source / COVERAGE if source.is_dir() else source.with_name(COVERAGE)).is_file()
    hint = "; `st-biomed mentions ... --output FILE.jsonl` writes a table that link reads" if is_dataset else ""
    if source.is_dir():
        raise InputError(f"{source}: is a folder, expected a file{hint}")
    if form is None and source.suffix == ".arrow" and is_dataset:
        raise InputError(f"{source}: is an Arrow file of a dataset, expected another format{hint}")
