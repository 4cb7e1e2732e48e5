"""Rows of measurements in a CSV file, as sentence-transformers' evaluators write them."""

from __future__ import annotations

import csv
import io
import itertools
import logging
from collections.abc import Mapping
from pathlib import Path

from st_biomed.files import replace_text

logger = logging.getLogger(__name__)


def append_row(path: Path, row: Mapping[str, object]) -> None:
    """Append a row to a CSV file; a new file gets a header.

    A file with other columns stays, with a warning, and ``name.1.csv`` or the next number that fits gets the row: a
    training does not end because an option of its evaluator changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    header, first = list(row), path
    for number in itertools.count(1):
        kept = path.read_text("utf-8") if path.is_file() else ""
        whole, last = kept[: kept.rfind("\n") + 1], kept[kept.rfind("\n") + 1 :]
        if last:  # a row that a full disk cut off is none; an editor may have left out the last line break
            kept = f"{kept}\n" if len(next(csv.reader([last]))) == len(row) else whole
        found = next(csv.reader([kept.partition("\n")[0]]), [])
        if not kept or found == header:
            break
        differing = ", ".join(
            [
                *(f"-{name}" for name in found if name not in header),
                *(f"+{name}" for name in header if name not in found),
            ]
        )
        path = first.with_suffix(f".{number}{first.suffix}")
        logger.warning(
            "%s: has other columns (%s); the row goes to %s", first, differing or "in another order", path.name
        )
    rows = io.StringIO(newline="")
    writer = csv.writer(rows, lineterminator="\n")
    if not kept:
        writer.writerow(header)
    writer.writerow(row.values())
    replace_text(path, kept + rows.getvalue())
