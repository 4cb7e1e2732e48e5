"""``st-biomed mentions``: a terminology's terms in raw text, each with the words around it."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.errors import InputError

COVERAGE = "coverage.json"


class Keep(StrEnum):
    """Which mentions are kept within the caps."""

    random = "random"
    first = "first"


def run(
    terminology: Annotated[str, typer.Argument(help="A folder, a reader's name, or reader:path.")],
    texts: Annotated[list[Path], typer.Argument(help="Files and folders: .txt, .jsonl, XMI; .gz, .tar.gz.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the dataset: new or empty.")],
    language: Annotated[str, typer.Option(help="Language of the terms, e.g. it; all by default.")] = "",
    form: Annotated[str, typer.Option(help="auto, lines, paragraphs, files, jsonl or xmi.")] = "auto",
    field: Annotated[str, typer.Option(help="Key of the text in JSON lines.")] = "text",
    window: Annotated[int, typer.Option(help="Tokens of a context, the mention's included.")] = 32,
    sequences: Annotated[
        int, typer.Option(help="Rows are sequences of at most so many tokens with all their mentions instead.")
    ] = 0,
    tokenizer: Annotated[str, typer.Option(help="Model whose tokenizer counts the tokens; by default words.")] = "",
    per_term: Annotated[int | None, typer.Option(help="Most contexts of a term.")] = None,
    per_concept: Annotated[int | None, typer.Option(help="Most contexts of a concept.")] = None,
    keep: Annotated[Keep, typer.Option(help="Which contexts are kept: any or the first.")] = Keep.random,
    seed: Annotated[int, typer.Option(help="Seed of the contexts that are kept.")] = 0,
    stop_words: Annotated[
        Path | None, typer.Option(help="Text file of further terms not to look for, one a line.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes that work; the result is the same.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the dataset in the output folder.")] = False,
) -> None:
    """Find a terminology's terms in raw text and save them in context, with a report of what was found.

    A row has the text, the mention's characters in its document (start, end: of the document in Unicode's form NFC), the
    document, the text id of the term (label) and its concepts (numbers of the terminology's codes).
    """
    from st_biomed.corpus.caps import Caps
    from st_biomed.corpus.matching import TermMatcher
    from st_biomed.corpus.mentions import mention_contexts
    from st_biomed.corpus.policy import policy_of
    from st_biomed.corpus.raw_text import documents
    from st_biomed.corpus.windows import mention_windows
    from st_biomed.readers.records import Tally
    from st_biomed.readers.tables import read_lines
    from st_biomed.terminology import Terminology

    _check_output(output, overwrite)
    caps = Caps(per_term, per_concept, keep.value, seed)
    if sequences and not caps.unlimited:
        raise InputError("--sequences keeps every mention: --per-term and --per-concept are for contexts")
    policy = policy_of(language)
    if stop_words is not None:
        listed = (text.strip() for _, text in read_lines(stop_words))
        policy = replace(policy, stop_words=(*policy.stop_words, *listed))
    counted = None
    if tokenizer:
        from st_biomed.encoder import load_encoder

        counted = load_encoder(tokenizer, device="cpu").tokenizer
    opened = Terminology.open(terminology)
    matcher = TermMatcher(opened, language or None, policy)
    tally = Tally()
    read = documents(texts, form=form, field=field, tally=tally)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as scratch:
        file = Path(scratch, "rows.arrow")
        if sequences:
            found = mention_windows(matcher, read, tokens=sequences, tokenizer=counted, processes=processes, file=file)
        else:
            found = mention_contexts(
                matcher, read, window=window, tokenizer=counted, caps=caps, processes=processes, file=file
            )
        if not tally.n_kept:
            raise InputError(f"no document with text in {', '.join(map(str, texts))} ({tally})")
        found.dataset.save_to_disk(str(Path(scratch, "dataset")))
        found.coverage.save(Path(scratch, "dataset", COVERAGE))
        if output.is_dir():
            shutil.rmtree(output)
        Path(scratch, "dataset").rename(output)
    typer.echo(f"documents: {tally}\n{found.coverage}")
    if commonest := found.coverage.commonest_named(opened.strings):
        typer.echo(commonest)
    typer.echo(f"saved to {output}")


def _check_output(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something that is not to be replaced."""
    if folder.is_file():
        raise InputError(f"{folder}: is a file, a folder for the dataset is needed")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / COVERAGE).is_file():
        raise InputError(f"{folder}: holds something else than mentions; choose an empty folder")
    if not overwrite:
        raise InputError(f"{folder}: holds mentions already; --overwrite replaces them")
