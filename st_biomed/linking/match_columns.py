"""Mentions out of a column of any library, and matches as columns: what stands between a data frame and a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from st_biomed.errors import InputError, check_several, shown
from st_biomed.linking.concept_search import Match
from st_biomed.linking.mention_files.lines import is_valid_utf8

COLUMNS = ("concept", "label", "name", "score")
"""The fields of a match that become columns."""

_TYPES = {"score": pa.float64()}
"""Types of columns that are not strings."""

_BATCHES = ("LazyBatch", "LazyRow")
"""What `Dataset.map` passes where no column is named."""

_MISSING = ("NAType", "NaTType")
"""Types of pandas for a missing value, which compare with nothing."""


class Column(list[Any]):
    """A list that tells arrow its type where all values are missing: ``Dataset.map`` goes on to rows with others.

    Args:
        values: The values.
        kind: Their type.
    """

    def __init__(self, values: Iterable[Any], kind: pa.DataType) -> None:
        super().__init__(values)
        self._kind = kind

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:
        array = pa.array(list(self), type)
        return array.cast(self._kind) if array.type in (pa.null(), pa.list_(pa.null())) else array


def missing_texts(missing: Iterable[str]) -> frozenset[str]:
    """Texts that stand for a missing mention, without the spaces around them.

    Raises:
        InputError: A string in place of a list, or a member that is none.
    """
    check_several("missing", missing, "texts")
    texts = list(missing)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"missing: expected texts, found {shown(text)}")
    return frozenset(text.strip() for text in texts)


def mentions_of(texts: Iterable[Any], errors: dict[int, str] | None = None, name: str = "texts") -> list[str | None]:
    """The texts of a column without the spaces around them; ``None`` for a missing or blank one.

    Args:
        texts: A list, or a column of pandas, arrow, numpy, polars or datasets.
        errors: Gets the reason for each row whose value is not a text, and which is then ``None``; if ``None``, the
            first such value is an error.
        name: The argument, for errors.

    Raises:
        InputError: A table or a string in place of a column, or a value that is not a text.
    """
    if isinstance(texts, str | bytes | Mapping) or hasattr(texts, "columns") or hasattr(texts, "column_names"):
        what = shown(texts) if isinstance(texts, str | bytes) else f"a {type(texts).__name__}"
        hint = "; Dataset.map needs batched=True" if isinstance(texts, str) else ""
        hint = '; Dataset.map needs input_columns="term"' if type(texts).__name__ in _BATCHES else hint
        raise InputError(f'{name}: expected one column of strings, e.g. frame["term"], found {what}{hint}')
    listed = next((method for name in ("to_pylist", "tolist") if (method := getattr(texts, name, None))), None)
    values = list(texts) if listed is None else listed()
    wrong = {row: reason for row, value in enumerate(values) if (reason := _flaw(value))}
    if wrong and errors is None:
        row, reason = next(iter(wrong.items()))
        raise InputError(f"{name}: {reason} in row {row}")
    if errors is not None:
        errors.update({row: f"{name}: {reason}" for row, reason in wrong.items()})
    return [
        value.strip() or None if isinstance(value, str) and row not in wrong else None
        for row, value in enumerate(values)
    ]


def _flaw(value: Any) -> str:
    """Why a value is neither a text nor missing; empty if it is."""
    if isinstance(value, str):
        return (
            ""
            if is_valid_utf8(value)
            else f"expected UTF-8, found half a character (a lone surrogate), {shown(value)}"
        )
    if value is None or type(value).__name__ in _MISSING:
        return ""
    if isinstance(value, float | np.floating) and np.isnan(value):
        return ""
    return f"expected strings, None or NaN, found {shown(value)}"


def matches_to_columns(
    found: Sequence[Sequence[Match] | None], k: int, prefix: str = "", errors: Sequence[str | None] | None = None
) -> dict[str, list[Any]]:
    """Matches as columns, one row per text.

    Args:
        found: The matches of each text; ``None`` for a text that is missing.
        k: If 1, a cell is a value; otherwise the list of the values of all matches.
        prefix: Text before the names of the columns.
        errors: The reason of each row that was not read, for a column ``error``; ``None`` for no such column.
    """
    columns: dict[str, list[Any]] = {}
    for field in COLUMNS:
        kind = _TYPES.get(field, pa.string())
        lists = [None if matches is None else [getattr(match, field) for match in matches] for matches in found]
        if k > 1:
            columns[f"{prefix}{field}"] = Column(lists, pa.list_(kind))
        else:
            columns[f"{prefix}{field}"] = Column([values[0] if values else None for values in lists], kind)
    if errors is not None:
        columns[f"{prefix}error"] = Column(errors, pa.string())
    return columns
