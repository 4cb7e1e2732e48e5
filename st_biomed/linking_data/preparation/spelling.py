"""Corrects words that annotators and authors misspell, by a list."""

from __future__ import annotations

import re
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.preparation.record import StepTally, record_step, with_mentions, with_parts
from st_biomed.linking_data.records import LinkingDataset


def correct_spelling(dataset: LinkingDataset, *, path: str | Path) -> LinkingDataset:
    """Replace misspelled words in the parts of the mentions; the dictionary stays unchanged.

    A word of the list matches whole words in any case, and is replaced by its spelling in the list.

    Args:
        path: Lines ``wrong||right``, e.g. ``ncbi-spell-check.txt``.

    Raises:
        InputError: See :func:`read_spelling`.
    """
    right = read_spelling(path)
    pattern = re.compile(
        rf"\b({'|'.join(map(re.escape, sorted(right, key=lambda w: (-len(w), w))))})\b", re.IGNORECASE
    )

    def correct(text: str) -> str:
        # A pattern without case also takes letters for equal that are none in lower case, such as the two signs for mu.
        return pattern.sub(lambda match: right.get(match[0].lower()) or right.get(match[0].casefold(), match[0]), text)

    tally = StepTally()
    mentions = with_mentions(dataset, lambda mention: with_parts(mention, correct), tally, "corrected")
    return record_step(dataset, f"correct_spelling({Path(path).name})", tally, mentions=mentions)


def read_spelling(path: str | Path) -> dict[str, str]:
    """Misspelt word, in lower case, to the right one.

    Raises:
        InputError: An invalid line, a word with two corrections, or an empty list.
    """
    right: dict[str, str] = {}
    for line, content in read_lines(path):
        if not content.strip():
            continue
        wrong, separator, corrected = (cell.strip() for cell in content.partition("||"))
        if not separator or not wrong or not corrected:
            raise InputError(f"{path}:{line}: expected wrong||right, found {content[:60]!r}")
        if right.setdefault(wrong.lower(), corrected) != corrected:
            raise InputError(f"{path}:{line}: {wrong!r} already has the correction {right[wrong.lower()]!r}")
    if not right:
        raise InputError(f"{path}: is empty, expected at least one wrong||right")
    return right
