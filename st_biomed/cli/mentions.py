"""``st-biomed mentions``: find a terminology's terms in raw text, each with the words around it."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from st_biomed.cli._options import TerminologyName, TrustRemoteCode, check_used
from st_biomed.errors import InputError
from st_biomed.files import check_output, lock, replacing
from st_biomed.settings.checks import FILE, FOLDER, PROCESSES, SEED, Check

if TYPE_CHECKING:
    from st_biomed.corpus.coverage import Coverage
    from st_biomed.corpus.mentions import MentionContexts
    from st_biomed.records import Tally

COVERAGE = "coverage.json"


def _no_output(name: str, value: Path) -> str | None:
    from st_biomed.linking.mention_files import table_format

    try:
        check = FOLDER if table_format(value) is None else FILE
    except InputError as error:
        return f"{name}: {error}"
    return check.wrong(name, value)


class Keep(StrEnum):
    """Which mentions are kept within the caps."""

    random = "random"
    first = "first"


def run(
    terminology: TerminologyName,
    texts: Annotated[
        list[Path], typer.Argument(help="Files and folders of raw text: .txt, .jsonl, XMI; also .gz and .tar.gz.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the dataset, new or empty; or a table: .csv, .tsv, .jsonl (also .gz) or .parquet.",
        ),
        Check(_no_output),
    ],
    language: Annotated[str, typer.Option(help="Language of the terms, e.g. it; all languages by default.")] = "",
    form: Annotated[
        str, typer.Option(help="Unit of a document: auto, lines, paragraphs, files, jsonl or xmi.")
    ] = "auto",
    field: Annotated[str, typer.Option(help="Key of the text, for JSON lines.")] = "text",
    window: Annotated[
        int | None, typer.Option(help="Tokens of a context, including the mention; 32 by default.", min=1)
    ] = None,
    sequences: Annotated[
        int,
        typer.Option(
            help="Write sequences of at most this many tokens with all their mentions, in place of contexts.", min=0
        ),
    ] = 0,
    tokenizer: Annotated[
        str, typer.Option(help="Model whose tokenizer counts the tokens; words are counted by default.")
    ] = "",
    trust_remote_code: TrustRemoteCode = False,
    per_term: Annotated[int | None, typer.Option(help="Maximum number of contexts per term.", min=1)] = None,
    per_concept: Annotated[int | None, typer.Option(help="Maximum number of contexts per concept.", min=1)] = None,
    keep: Annotated[
        Keep | None, typer.Option(help="Contexts to keep above these limits: random ones (default), or the first.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the contexts to keep; 0 by default.", min=0), SEED
    ] = None,
    stop_words: Annotated[Path | None, typer.Option(help="Text file of terms to ignore, one per line.")] = None,
    processes: Annotated[
        int, typer.Option(help="Number of processes; the result does not depend on it.", min=1), PROCESSES
    ] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the dataset or the table.")] = False,
) -> None:
    """Find a terminology's terms in raw text and save them in context, with a report.

    Each row has the text, the character positions of the mention in its document (start, end; the document is in
    Unicode NFC), the document, the text id of the term (label) and its concepts (indices of the terminology's codes).

    A table, which `st-biomed link` reads, has the columns document, start, end, mention, term (the terminology's name),
    codes (of its concepts) and context.
    """
    from st_biomed.corpus.coverage import Coverage
    from st_biomed.corpus.matching import TermMatcher
    from st_biomed.corpus.matching_rules import policy_of
    from st_biomed.corpus.mention_limits import Caps
    from st_biomed.corpus.mentions import mention_contexts, mention_tables
    from st_biomed.corpus.raw_text import documents, files_of
    from st_biomed.corpus.windows import mention_windows
    from st_biomed.files.delimited import read_lines
    from st_biomed.linking import mention_files
    from st_biomed.records import Tally
    from st_biomed.terminology import Terminology

    table = mention_files.table_format(output)
    if table is not None and sequences:
        raise InputError(f"--sequences {sequences}: are written to a folder only, found --output {output}")
    tally = Tally()
    files = files_of(texts, form, tally)
    caps = Caps(per_term, per_concept, (keep or Keep.random).value, seed or 0)
    if sequences and not caps.unlimited:
        raise InputError("--sequences cannot be combined with --per-term or --per-concept, which limit contexts")
    check_used(
        {"--keep": keep and keep.value, "--seed": seed}, "with --per-term or --per-concept", used=not caps.unlimited
    )
    check_used({"--window": window}, "without --sequences", used=not sequences)
    window = 32 if window is None else window
    policy = policy_of(language)
    if stop_words is not None:
        listed = (text.strip() for _, text in read_lines(stop_words))
        policy = replace(policy, stop_words=(*policy.stop_words, *listed))
    with lock(output):
        if table is None:
            _check_folder(output, overwrite)
        else:
            _check_table(output, [file.path for file in files], overwrite)
        counted = None
        if tokenizer:
            from st_biomed.encoder import load_encoder

            counted = load_encoder(tokenizer, device="cpu", trust_remote_code=trust_remote_code).tokenizer
        opened = Terminology.open(terminology)
        matcher = TermMatcher(opened, language or None, policy)
        coverage = Coverage()
        read = documents(files, form=form, field=field, tally=tally)
        given: dict[str, Any] = {"tokenizer": counted, "processes": processes}
        if table is not None:
            with mention_files.byte_sink(output, io.BytesIO()) as file:
                rows = mention_tables(matcher, read, coverage, window=window, caps=caps, **given)
                mention_files.write_found_mentions(file, table, rows, opened)
                _check_read(tally, texts)
        else:
            if sequences:
                find: Callable[..., MentionContexts] = partial(
                    mention_windows, matcher, read, tokens=sequences, **given
                )
            else:
                find = partial(mention_contexts, matcher, read, window=window, caps=caps, **given)
            with replacing(output) as draft:
                coverage = _save_dataset(draft, find, tally, texts, terminology)
    typer.echo(f"documents: {tally}\n{coverage}")
    if commonest := coverage.commonest_named(opened.strings):
        typer.echo(commonest)
    typer.echo(f"saved to {output}")


def _save_dataset(
    folder: Path, find: Callable[..., MentionContexts], tally: Tally, texts: list[Path], terminology: str
) -> Coverage:
    """Find the mentions, their rows in a scratch file, and save them with their report."""
    scratch = folder / "scratch"
    scratch.mkdir()
    found = find(file=scratch / "rows.arrow")
    _check_read(tally, texts)
    _check_found(found.coverage, terminology)
    found.dataset.save_to_disk(str(folder))
    found.coverage.save(folder / COVERAGE)
    shutil.rmtree(scratch)
    return found.coverage


def _check_read(tally: Tally, texts: list[Path]) -> None:
    """Refuse texts without a document."""
    if not tally.n_kept:
        raise InputError(f"no document with text in {', '.join(map(str, texts))} ({tally})")


def _check_found(coverage: Coverage, terminology: str) -> None:
    """Refuse a dataset without rows, which datasets cannot load."""
    if coverage.rows:
        return
    within = f"{coverage.documents:,} documents, in {coverage.language or 'any language'}"
    if coverage.mentions:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in sorted(coverage.dropped.items()))
        raise InputError(f"no mention is left of {coverage.mentions:,} in {within} ({reasons})")
    raise InputError(
        f"no term of {terminology} was found in {within}; expected texts with its terms, or a table as --output, which "
        "may be empty"
    )


def _check_table(file: Path, texts: list[Path], overwrite: bool) -> None:
    """Refuse to write what is there, or what is read."""
    from st_biomed.files import check_new_file

    check_new_file(file, overwrite=overwrite)
    if file.exists() and any(file.samefile(text) for text in texts):
        raise InputError(f"--output {file}: is also an input file; choose another file")


def _check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something that is not to be replaced."""
    own = re.compile(r"dataset_info\.json|state\.json|data-\d+-of-\d+\.arrow|" + re.escape(COVERAGE))
    check_output(
        folder,
        what="a dataset of mentions",
        is_own=lambda name: own.fullmatch(name) is not None,
        marker=COVERAGE,
        overwrite=overwrite,
    )
