"""CodiEsp: Spanish clinical cases, diagnoses linked to ICD-10-CM and procedures to ICD-10-PCS.

The unpacked corpus: ``train/trainX.tsv`` (and ``dev``, ``test``) with the cells document, label, code, text and
positions, without a header, and the texts in ``train/text_files``. Codes are upper-cased; those of a dictionary have to
be in upper case.
"""

from __future__ import annotations

import re
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import read_lines, read_table
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.linking_data.annotated import OFFSET, Corpus, require_folder
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="CODIESP",
    title="CodiEsp (Miranda-Escalada et al., CLEF eHealth 2020)",
    license="CC-BY-4.0",
    url="https://zenodo.org/records/3837305",
    redistributable=True,
)
DICTIONARY = "names"
PREFIX = "ICD10CM"

LABELS = {"DIAGNOSTICO": "ICD10CM", "PROCEDIMIENTO": "ICD10PCS"}
"""Label to the prefix of its codes."""
SPLITS = ("train", "dev", "test")
CELLS = ("document", "label", "code", "text", "positions")
_POSITIONS = re.compile(rf"{OFFSET} {OFFSET}(;{OFFSET} {OFFSET})*")


def read(path: Path, *, tally: Tally, label: str = "DIAGNOSTICO") -> Corpus:
    """Read the existing splits.

    Args:
        tally: Counts rows.
        label: ``DIAGNOSTICO`` or ``PROCEDIMIENTO``: they are measured separately.

    Raises:
        InputError: Another label, no table, an invalid row.
    """
    check_name("label", label, LABELS)
    corpus = Corpus(variant=label.lower(), prefix=LABELS[label])
    for split in SPLITS:
        if file := plain_or_gzipped(require_folder(path) / split / f"{split}X.tsv"):
            corpus.mentions[split] = []
            _read_split(corpus, split, file, tally, label)
    if not corpus.mentions:
        raise InputError(f"{path}: contains none of {', '.join(f'{split}/{split}X.tsv' for split in SPLITS)}")
    return corpus


def _read_split(corpus: Corpus, split: str, file: Path, tally: Tally, label: str) -> None:
    for line, cells in read_table(file, dialect="tsv", header=CELLS):
        tally.read()
        document, kind, code, text, positions = (cell.strip() for cell in cells)
        if kind not in LABELS:
            raise InputError(f"{file}:{line}: the label must be {' or '.join(LABELS)}, found {kind[:30]!r}")
        if not text or not _POSITIONS.fullmatch(positions):
            raise InputError(
                f"{file}:{line}: expected a text and its positions 'start end;start end', found {cells[3:]}"[:200]
            )
        if kind != label:
            tally.drop(f"rows of {kind}")
            continue
        if document not in corpus.documents:
            source = plain_or_gzipped(file.parent / "text_files" / f"{document}.txt")
            corpus.documents[document] = "\n".join(content for _, content in read_lines(source)) if source else ""
        offsets = [int(number) for number in re.findall(r"\d+", positions)]
        gold = frozenset(code_.upper() for code_ in known_ids([code]))
        groups = (gold,) if gold else ()
        corpus.add(split, Mention(text, groups, document=document, start=min(offsets), end=max(offsets), type=kind))
        tally.keep()
