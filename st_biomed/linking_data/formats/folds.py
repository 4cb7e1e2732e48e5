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
    names: str = "",
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
        names: Where a fold has the names to link to, with ``{fold}``: lines of an id and a name.
        encoding: Of the files.

    Raises:
        InputError: No such fold, an unknown column, none for the mention or the id, a line with another number of
            cells, an empty mention or name, or bytes of another encoding.
    """
    cells_of = [name.strip() for name in (columns.split(",") if isinstance(columns, str) else columns)]
    listed("column", cells_of, COLUMNS)
    for needed in ("mention", "id"):
        if cells_of.count(needed) != 1:
            raise InputError(f"columns: one of them has to be {needed!r}, found {', '.join(cells_of)}")
    corpus = Corpus(variant=f"fold-{fold}")
    if names:
        file = path / names.replace("{fold}", str(fold))
        for line, row in _rows(file, ["id", "name"], encoding):
            if not row["id"] or not row["name"]:
                raise InputError(f"{file}:{line}: the {'name' if row['id'] else 'id'} is empty")
            corpus.add_name(row["name"], row["id"])
    for split, file in split_files(path, [pattern.replace("{fold}", str(fold))]).items():
        corpus.mentions[split] = []
        for line, row in _rows(file, cells_of, encoding):
            tally.read()
            if not row["mention"]:
                raise InputError(f"{file}:{line}: the mention is empty")
            gold = gold_groups(row["id"])
            if len(gold) == 1 and len(gold[0]) == 1:
                corpus.add_name(row.get("name", ""), *gold[0])
            corpus.add(split, Mention(row["mention"], gold))
            tally.keep()
    return corpus


def _rows(file: Path, columns: list[str], encoding: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines that are not blank: number, and cell by column."""
    try:
        text = check_file(file).read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not {encoding}; encoding= names another") from error
    except LookupError as error:
        raise InputError(f"encoding: {encoding!r} is none that Python knows, e.g. 'utf-8' or 'latin-1'") from error
    for line, content in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not content.strip():
            continue
        cells = [cell.strip() for cell in content.split("\t")]
        if len(cells) != len(columns):
            raise InputError(
                f"{file}:{line}: {len(cells)} cells, expected {len(columns)} ({', '.join(columns)}), split at tabs"
            )
        yield line, dict(zip(columns, cells))
