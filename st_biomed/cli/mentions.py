"""``st-biomed mentions``: find a terminology's terms in raw text, each with the words around it."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from st_biomed.cli._options import TerminologyName, TrustRemoteCode
from st_biomed.errors import InputError
from st_biomed.files import check_output, lock, replacing
from st_biomed.settings.checks import FOLDER, PROCESSES, SEED

COVERAGE = "coverage.json"


class Keep(StrEnum):
    """Which mentions are kept within the caps."""

    random = "random"
    first = "first"


def run(
    terminology: TerminologyName,
    texts: Annotated[
        list[Path], typer.Argument(help="Files and folders of raw text: .txt, .jsonl, XMI; also .gz and .tar.gz.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the dataset, new or empty."), FOLDER],
    language: Annotated[str, typer.Option(help="Language of the terms, e.g. it; all languages by default.")] = "",
    form: Annotated[
        str, typer.Option(help="Unit of a document: auto, lines, paragraphs, files, jsonl or xmi.")
    ] = "auto",
    field: Annotated[str, typer.Option(help="Key of the text, for JSON lines.")] = "text",
    window: Annotated[int, typer.Option(help="Tokens of a context, including the mention.", min=1)] = 32,
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
        Keep, typer.Option(help="Contexts to keep above these limits: random ones, or the first.")
    ] = Keep.random,
    seed: Annotated[int, typer.Option(help="Random seed of the contexts to keep.", min=0), SEED] = 0,
    stop_words: Annotated[Path | None, typer.Option(help="Text file of terms to ignore, one per line.")] = None,
    processes: Annotated[
        int, typer.Option(help="Number of processes; the result does not depend on it.", min=1), PROCESSES
    ] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the dataset in the output folder.")] = False,
) -> None:
    """Find a terminology's terms in raw text and save them in context, with a report.

    Each row has the text, the character positions of the mention in its document (start, end; the document is in
    Unicode NFC), the document, the text id of the term (label) and its concepts (indices of the terminology's codes).
    """
    from st_biomed.corpus.matching import TermMatcher
    from st_biomed.corpus.matching_rules import policy_of
    from st_biomed.corpus.mention_limits import Caps
    from st_biomed.corpus.mentions import mention_contexts
    from st_biomed.corpus.raw_text import documents, files_of
    from st_biomed.corpus.windows import mention_windows
    from st_biomed.files.delimited import read_lines
    from st_biomed.records import Tally
    from st_biomed.terminology import Terminology

    files_of(texts, form)
    caps = Caps(per_term, per_concept, keep.value, seed)
    if sequences and not caps.unlimited:
        raise InputError("--sequences cannot be combined with --per-term or --per-concept, which limit contexts")
    policy = policy_of(language)
    if stop_words is not None:
        listed = (text.strip() for _, text in read_lines(stop_words))
        policy = replace(policy, stop_words=(*policy.stop_words, *listed))
    with lock(output):
        _check_output(output, overwrite)
        counted = None
        if tokenizer:
            from st_biomed.encoder import load_encoder

            counted = load_encoder(tokenizer, device="cpu", trust_remote_code=trust_remote_code).tokenizer
        opened = Terminology.open(terminology)
        matcher = TermMatcher(opened, language or None, policy)
        tally = Tally()
        read = documents(texts, form=form, field=field, tally=tally)
        with replacing(output) as draft:
            scratch = draft / "scratch"
            scratch.mkdir()
            rows = scratch / "rows.arrow"
            if sequences:
                found = mention_windows(
                    matcher, read, tokens=sequences, tokenizer=counted, processes=processes, file=rows
                )
            else:
                found = mention_contexts(
                    matcher, read, window=window, tokenizer=counted, caps=caps, processes=processes, file=rows
                )
            if not tally.n_kept:
                raise InputError(f"no document with text in {', '.join(map(str, texts))} ({tally})")
            found.dataset.save_to_disk(str(draft))
            found.coverage.save(draft / COVERAGE)
            shutil.rmtree(scratch)
    typer.echo(f"documents: {tally}\n{found.coverage}")
    if commonest := found.coverage.commonest_named(opened.strings):
        typer.echo(commonest)
    typer.echo(f"saved to {output}")


def _check_output(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something that is not to be replaced."""
    own = re.compile(r"dataset_info\.json|state\.json|data-\d+-of-\d+\.arrow|" + re.escape(COVERAGE))
    check_output(
        folder,
        what="a dataset of mentions",
        is_own=lambda name: own.fullmatch(name) is not None,
        marker=COVERAGE,
        overwrite=overwrite,
    )
