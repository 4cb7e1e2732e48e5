"""Folds for cross-validation, such as those of CADEC and PsyTAR: one tab-separated file for each fold and split."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.encodings import resolve_encoding
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.linking_data.annotated import Corpus, split_files
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="FOLDS",
    title="Folds of mentions with their concepts",
    license="that of the corpus",
    url="https://data.csiro.au/collection/csiro:10948",
)
DICTIONARY = "names"
PREFIX = ""

COLUMNS = ("mention", "id", "name", "ignored")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def read(
    path: Path,
    *,
    tally: Tally,
    fold: int = 0,
    columns: str | Iterable[str] = "mention,id",
    pattern: str = "*fold[-_]{fold}[._]{split}.*",
    names: str = "",
    encoding: str = "",
    quoted: bool = False,
) -> Corpus:
    """Read one fold.

    Args:
        tally: Counts lines.
        fold: Its number.
        columns: The kinds of the cells of a line, in order: ``mention``, ``id``, ``name`` (the concept's, for the
            dictionary) or ``ignored``.
        pattern: Path of the files, with ``{fold}`` and ``{split}``; ``fold_{fold}/{split}.tsv`` for folders.
        names: Path of the names to link to, with ``{fold}``: lines of an id and a name.
        encoding: Encoding of the files, e.g. ``latin-1``; by default UTF-8, or UTF-16 if a file begins with a byte
            order mark.
        quoted: Whether to undo the CSV quoting of the mentions of CADEC and PsyTAR: ``"a ""flat"" mood"`` becomes
            ``a "flat" mood``. A cell without surrounding quotes stays unchanged.

    Raises:
        InputError: No such fold, a pattern without ``{fold}`` or ``{split}``, an unknown column, no column for the
            mention or the id, a line with another number of cells, an empty mention or name, or bytes of another
            encoding.
    """
    cells_of = [name.strip() for name in (columns.split(",") if isinstance(columns, str) else columns)]
    listed("column", cells_of, COLUMNS)
    for needed in ("mention", "id"):
        if cells_of.count(needed) != 1:
            raise InputError(f"columns: one of them must be {needed!r}, found {', '.join(cells_of)}")
    if "{fold}" not in pattern or "{split}" not in pattern or Path(pattern).is_absolute():
        raise InputError(f"pattern: expected a path below the folder with {{fold}} and {{split}}, found {pattern!r}")
    corpus = Corpus(variant=f"fold-{fold}")
    form = _Form(encoding, quoted, tally)
    if names:
        file = path / names.replace("{fold}", str(fold))
        file = plain_or_gzipped(file) or file
        for line, row in form.rows(file, ["id", "name"]):
            if not row["id"] or not row["name"]:
                raise InputError(f"{file}:{line}: the {'name' if row['id'] else 'id'} is empty")
            corpus.add_name(row["name"], row["id"])
    for split, file in split_files(path, [pattern.replace("{fold}", str(fold))]).items():
        corpus.mentions[split] = []
        for line, row in form.rows(file, cells_of):
            tally.read()
            if not row["mention"]:
                raise InputError(f"{file}:{line}: the mention is empty")
            gold = gold_groups(row["id"])
            if len(gold) == 1 and len(gold[0]) == 1:
                corpus.add_name(row.get("name", ""), *gold[0])
            corpus.add(split, Mention(row["mention"], gold))
            tally.keep()
    return corpus


class _Form(NamedTuple):
    """The settings for reading the files of a fold."""

    encoding: str
    quoted: bool
    tally: Tally

    def rows(self, file: Path, columns: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """The non-blank lines: number, and cell by column."""
        encoding = resolve_encoding(check_file(file), self.encoding, self.tally)
        for line, content in read_lines(file, encoding=encoding):
            if not content.strip():
                continue
            cells = [cell.strip() for cell in content.split("\t")]
            if len(cells) != len(columns):
                raise InputError(
                    f"{file}:{line}: {len(cells)} cells, expected {len(columns)} ({', '.join(columns)}), split at tabs"
                )
            yield line, dict(zip(columns, map(_unquoted, cells) if self.quoted else cells))


def _unquoted(cell: str) -> str:
    """A cell without the quotes of a CSV, if it has any."""
    return cell[1:-1].replace('""', '"').strip() if _QUOTED.fullmatch(cell) else cell
