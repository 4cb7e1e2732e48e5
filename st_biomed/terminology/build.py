"""From a stream of records to the columnar tables of a terminology.

Everything is done by columns, so that tens of millions of rows take seconds and no more memory than their values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, check_name, shown
from st_biomed.readers._normalizers import single_spaced_column
from st_biomed.records import COLUMNS, KINDS, TABLE_OF, Record, Rows, SourceInfo, Tally
from st_biomed.terminology.distinct_rows import (
    ConceptIndices,
    distinct_rows,
    equal_to_previous,
    one_column,
    sorted_values,
)
from st_biomed.terminology.groupings import with_groupings

_BLOCK = 1 << 16  # single records that are put into columns together
_ENCODED = pa.dictionary(pa.int32(), pa.string())

_CODE_COLUMNS = {
    "parents": {"child": "child", "parent": "parent"},
    "relations": {"head": "head", "tail": "tail"},
    "types": {"code": "concept"},
    "xrefs": {"code": "concept"},
    "definitions": {"code": "concept"},
}
"""The columns of a table that hold codes, and what they are called once these are indices."""

_TO_ITSELF = {"parents": "parents equal to their child", "relations": "relations of a concept to itself"}
_ORDER = {
    "parents": ("child", "parent", "source"),
    "relations": ("head", "relation", "tail", "source"),
    "types": ("concept", "type"),
    "xrefs": ("concept", "predicate", "target", "source"),
    "definitions": ("concept", "text", "language", "source"),
}
"""The columns of a finished table; its rows are sorted by them from left to right."""


def assemble(
    records: Iterable[Record], source: SourceInfo, of_codes: Collection[str] = ()
) -> tuple[dict[str, pa.Table], dict[str, SourceInfo], dict[str, Tally]]:
    """Sort codes, texts and rows, and replace codes and texts by their indices.

    A parent, relation, type, cross-reference or definition of a concept without any term is dropped and counted, except
    parents of grouping nodes that have a concept with a term below them. Repeated records, a synonym that equals its
    concept's preferred term, self-loops, empty texts and empty definitions are dropped and counted, too. White space
    within a definition becomes one space, as sources break its lines.

    Args:
        records: Records and columns of records in any order.
        source: The source of records that name none.
        of_codes: Further sources that stay as long as codes have their prefix, though no row may come from them, where
            they must not be redistributed; the default source does.

    Returns:
        The tables by name, the sources that rows come from, and the tally of the records.

    Raises:
        InputError: A record of another class, a field that is not a string, or an unknown kind of term.
    """
    tally = Tally()
    columns, sources = _collect(records, source, tally)
    _release()
    tables = _names(columns.pop("terms"), tally)
    _release()
    named = codes = tables["concepts"]["code"].combine_chunks()
    groupings = columns.pop("groupings")["code"]
    if len(groupings):
        tables = with_groupings(tables, groupings, columns["parents"], tally)
        codes = tables["concepts"]["code"].combine_chunks()
    has_name = pc.is_in(codes, value_set=named).to_numpy(zero_copy_only=False)
    concepts = ConceptIndices(codes)
    for name in _CODE_COLUMNS:
        may_point_at = np.ones_like(has_name) if name == "parents" else has_name
        if any(len(column) for column in columns[name].values()):
            tables[name] = _links(name, columns.pop(name), concepts, may_point_at, tally)
            _release()
        else:
            tables[name] = _no_links(name)
    return tables, sources_of(tables, sources, {source.name, *of_codes}), {"records": tally}


def _release() -> None:
    """Return to the system what Arrow has freed; it keeps several times the size of the tables otherwise."""
    pa.default_memory_pool().release_unused()


def sources_of(
    tables: Mapping[str, pa.Table], described: Mapping[str, SourceInfo], of_codes: Collection[str]
) -> dict[str, SourceInfo]:
    """The sources that rows come from, and those that must not be redistributed and whose codes are used.

    A source that nobody describes may not be redistributed: whose names it has is not known.

    Args:
        of_codes: Those that count where a code has their prefix.
    """
    used = {
        name
        for table in tables.values()
        if "source" in table.column_names
        for name in table["source"].unique().to_pylist()
    }
    codes = tables["concepts"]["code"]
    closed = [name for name in of_codes if name in described and not described[name].redistributable]
    used |= {name for name in closed if pc.any(pc.starts_with(codes, f"{name}:")).as_py()}
    unknown = {name: SourceInfo(name, title=name, license="not stated") for name in used - described.keys()}
    return {name: info for name, info in sorted({**described, **unknown}.items()) if name in used}


def _collect(
    records: Iterable[Record], source: SourceInfo, tally: Tally
) -> tuple[dict[str, dict[str, pa.ChunkedArray]], dict[str, SourceInfo]]:
    """The columns of each table as they came, and every source that is described."""
    sources = {source.name: source}
    chunks: dict[str, list[dict[str, pa.Array]]] = {table: [] for table in COLUMNS}
    waiting: dict[str, list[tuple[str, ...]]] = {table: [] for table in COLUMNS}

    def flush(table: str) -> None:
        rows = waiting[table]
        if rows:
            n_before = sum(len(columns[COLUMNS[table][0]]) for columns in chunks[table])
            columns = {
                name: _column(table, name, values, n_before) for name, values in zip(COLUMNS[table], zip(*rows))
            }
            chunks[table].append(_encoded(table, columns, source.name))
            rows.clear()

    for n, record in enumerate(records, start=1):
        if isinstance(record, SourceInfo):
            sources[record.name] = record
        elif isinstance(record, Rows):
            tally.read(len(next(iter(record.columns.values()))))
            chunks[record.table].append(_encoded(record.table, record.columns, source.name))
        else:
            tally.read()
            table = TABLE_OF.get(type(record))
            if table is None:
                kinds = ", ".join(kind.__name__ for kind in TABLE_OF)
                raise InputError(f"record {n:,} must be one of {kinds}, Rows and SourceInfo, found {shown(record)}")
            waiting[table].append(record)
            if len(waiting[table]) >= _BLOCK:
                flush(table)
    for table in COLUMNS:
        flush(table)
    return {
        table: {
            name: one_column([columns[name] for columns in chunks[table]], pa.string() if name == "text" else _ENCODED)
            for name in COLUMNS[table]
        }
        for table in COLUMNS
    }, sources


def _column(table: str, name: str, values: Sequence[str | None], n_before: int) -> pa.Array:
    """The strings of one field of consecutive records; only a text may be ``None``.

    Args:
        n_before: Rows of the table before these.

    Raises:
        InputError: A value of another type, or a string that is no valid Unicode.
    """
    may_be_none = name == "text"
    try:
        column = pa.array(values, type=pa.string())
    except (pa.ArrowException, UnicodeError):
        column = None
    if column is None or (column.null_count and not may_be_none):
        for row, value in enumerate(values, start=n_before + 1):
            valid = isinstance(value, str) and value.encode(errors="ignore").decode() == value
            if not valid and not (may_be_none and value is None):
                raise InputError(
                    f"row {row:,} of the {table}: {name} must be a string of valid Unicode, found {shown(value)}"
                )
    return column


def _encoded(table: str, columns: Mapping[str, pa.Array], source: str) -> dict[str, pa.Array]:
    """The columns of some rows: texts stripped, everything else dictionary-encoded; the default source filled in.

    White space within a definition becomes one space.

    Raises:
        InputError: A kind of term that there is not.
    """
    out = {}
    for name in COLUMNS[table]:
        column = columns[name]
        if name == "text":
            stripped = single_spaced_column if table == "definitions" else pc.utf8_trim_whitespace
            out[name] = stripped(column.cast(pa.string()))
            continue
        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = column.dictionary.cast(pa.string())
        if name == "kind":
            for kind in values.to_pylist():
                check_name("kind of term", kind, KINDS)
        if name == "source":
            values = pc.replace_with_mask(values, pc.equal(values, ""), pa.scalar(source))
        out[name] = pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), values)
    return out


def _names(columns: dict[str, pa.ChunkedArray], tally: Tally) -> dict[str, pa.Table]:
    """Concepts, texts and terms."""
    columns = _filled("terms", columns, tally)
    n_filled = len(columns["text"])
    # By kind last, so that of two equal names of a concept the preferred one comes first.
    values, index = sorted_values(columns, ("code", "text", "language", "source", "kind"))
    concept, text, language, source, kind = distinct_rows(index, [len(column_values) for column_values in values])
    tally.drop("repeated terms", n_filled - len(concept))
    twice = np.zeros(len(concept), dtype=bool)
    twice[1:] = equal_to_previous(concept, text, language, source)
    tally.drop("synonyms equal to the preferred term", int(twice.sum()))
    tally.keep(int((~twice).sum()))
    once = [column[~twice] for column in (concept, text, language, kind, source)]
    codes, texts, languages, sources, kinds = values
    concept, text, language, kind, source = distinct_rows(
        once, [len(v) for v in (codes, texts, languages, kinds, sources)]
    )
    return {
        "concepts": pa.table({"code": codes}),
        "texts": pa.table({"text": texts}),
        "terms": pa.table(
            {
                "concept": concept,
                "text": text,
                "language": pa.DictionaryArray.from_arrays(language, languages),
                "kind": pa.DictionaryArray.from_arrays(kind, kinds),
                "source": pa.DictionaryArray.from_arrays(source, sources),
            }
        ),
    }


def _filled(table: str, columns: dict[str, pa.ChunkedArray], tally: Tally) -> dict[str, pa.ChunkedArray]:
    """The rows with a text, which is dictionary-encoded then; others are dropped and counted."""
    filled = pc.not_equal(columns["text"], "")
    n_empty = len(filled) - (pc.sum(filled).as_py() or 0)
    if n_empty:
        columns = {name: column.filter(filled) for name, column in columns.items()}
        tally.drop(f"empty {table}", n_empty)
    return {**columns, "text": columns["text"].dictionary_encode()}


def _links(
    table: str, columns: dict[str, pa.ChunkedArray], concepts: ConceptIndices, may_point_at: np.ndarray, tally: Tally
) -> pa.Table:
    """A table whose rows point at concepts: those that do, each once; the mask ``[C]`` has the concepts they may point at."""
    ends, order = _CODE_COLUMNS[table], _ORDER[table]
    if "text" in columns:
        columns = _filled(table, columns, tally)
    rows = {final: concepts.of(columns.pop(name)) for name, final in ends.items()}
    sizes = dict.fromkeys(rows, len(may_point_at))
    known = np.logical_and.reduce([np.append(may_point_at, False)[concept] for concept in rows.values()])
    others = [name for name in COLUMNS[table] if name in columns]
    values, index = sorted_values(columns, others)
    names = dict(zip(others, values))
    rows.update(zip(others, index))
    sizes.update({name: len(column_values) for name, column_values in names.items()})
    tally.drop(f"{table} of a concept without a term", int((~known).sum()))
    if len(ends) == 2:
        first, second = (rows[final] for final in ends.values())
        itself = known & (first == second)
        tally.drop(_TO_ITSELF[table], int(itself.sum()))
        known &= ~itself
    distinct = distinct_rows([rows[name][known] for name in order], [sizes[name] for name in order])
    tally.drop(f"repeated {table}", int(known.sum()) - len(distinct[0]))
    tally.keep(len(distinct[0]))
    columns_of_table = {}
    for name, column in zip(order, distinct):
        if name == "text":
            column = names[name].take(pa.array(column))
        elif name not in ends.values():
            column = pa.DictionaryArray.from_arrays(column, names[name])
        columns_of_table[name] = column
    return pa.table(columns_of_table)


@cache
def _no_links(table: str) -> pa.Table:
    """The table without a row; most small terminologies lack some."""
    columns = {name: pa.chunked_array([], pa.string() if name == "text" else _ENCODED) for name in COLUMNS[table]}
    return _links(table, columns, ConceptIndices(pa.array([], pa.string())), np.empty(0, dtype=bool), Tally())
