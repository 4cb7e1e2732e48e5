"""Folds for cross-validation, such as those of CADEC and PsyTAR: one text file for each fold and split, tabs between cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.linking_data.corpus import Corpus, split_files
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.readers import SourceInfo, Tally
from st_biomed.readers.options import listed
from st_biomed.readers.tables import check_file

SOURCE = SourceInfo(
    name="FOLDS",
    title="Folds of mentions with their concepts",
    licence="that of the corpus",
    url="https://data.csiro.au/collection/csiro:10948",
)
DICTIONARY = "names"
PREFIX = ""

COLUMNS = ("mention", "id", "name", "ignored")


def read(
    path: Path,
    *,
    tally: Tally,
    fold: int = 0,
    columns: str | Iterable[str] = "mention,id",
    pattern: str = "*fold[-_]{fold}[._]{split}.*",
    encoding: str = "utf-8",
) -> Corpus:
    """Read one fold.

    Args:
        path: The folder of all folds.
        tally: Counts lines.
        fold: Its number.
        columns: What the cells of a line are, in order: ``mention``, ``id``, ``name`` (the concept's, for the
            dictionary) or ``ignored``.
        pattern: Where the files are, with ``{fold}`` and ``{split}``; ``fold_{fold}/{split}.tsv`` for folders.
        encoding: Of the files.

    Raises:
        InputError: No such fold, an unknown column, none for the mention or the id, a line with another number of
            cells, an empty mention, or bytes of another encoding.
    """
    names = [name.strip() for name in (columns.split(",") if isinstance(columns, str) else columns)]
    listed("column", names, COLUMNS)
    for needed in ("mention", "id"):
        if names.count(needed) != 1:
            raise InputError(f"columns: one of them has to be {needed!r}, found {', '.join(names)}")
    corpus = Corpus(variant=f"fold-{fold}")
    for split, file in split_files(path, [pattern.replace("{fold}", str(fold))]).items():
        corpus.mentions[split] = []
        for line, content in _lines(file, encoding):
            tally.read()
            cells = [cell.strip() for cell in content.split("\t")]
            if len(cells) != len(names):
                raise InputError(
                    f"{file}:{line}: {len(cells)} cells, expected {len(names)} ({', '.join(names)}), split at tabs"
                )
            row = dict(zip(names, cells))
            if not row["mention"]:
                raise InputError(f"{file}:{line}: the mention is empty")
            gold = gold_groups(row["id"])
            if len(gold) == 1 and len(gold[0]) == 1:
                corpus.add_name(row.get("name", ""), *gold[0])
            corpus.add(split, Mention(row["mention"], gold))
            tally.keep()
    return corpus


def _lines(file: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that are not blank."""
    try:
        text = check_file(file).read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not {encoding}; encoding= names another") from error
    except LookupError as error:
        raise InputError(f"encoding: {encoding!r} is none that Python knows, e.g. 'utf-8' or 'latin-1'") from error
    for line, content in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if content.strip():
            yield line, content.rstrip("\r")
