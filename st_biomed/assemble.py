"""From a stream of records to the columnar tables of a terminology."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from st_biomed.readers.records import Parent, Record, Relation, SourceInfo, Tally, Term, Type

_ENDS = {"terms": (0,), "parents": (0, 1), "relations": (0, 2), "types": (0,)}
"""Where the rows of a table hold codes."""


def assemble(
    records: Iterable[Record], source: SourceInfo
) -> tuple[dict[str, pa.Table], dict[str, SourceInfo], dict[str, Tally]]:
    """Sort codes, texts and rows, and replace codes and texts by their indices.

    A parent, relation or type that points at a concept without any term is dropped and counted, and so are repeated
    records, a synonym that equals its concept's preferred term, self-loops and empty texts.

    Args:
        records: Terms, parents, relations, types and source descriptions in any order.
        source: The source of records that name none.

    Returns:
        The tables by name, the sources that rows come from, and the tally of the records.
    """
    rows, sources, tally = _collect(records, source)
    codes = sorted({row[0] for row in rows["terms"]})
    texts = sorted({row[1] for row in rows["terms"]})
    concept_of = {code: i for i, code in enumerate(codes)}
    text_of = {text: i for i, text in enumerate(texts)}
    kept = {}
    for table, ends in _ENDS.items():
        kept[table] = sorted(row for row in rows[table] if all(row[end] in concept_of for end in ends))
        lost = len(rows[table]) - len(kept[table])
        tally.n_kept -= lost
        tally.drop(f"{table} of a concept without a term", lost)

    def indices(table: str, column: int, index: dict[str, int]) -> pa.Array:
        return pa.array(np.fromiter((index[row[column]] for row in kept[table]), dtype=np.int32))

    def names(table: str, column: int) -> pa.Array:
        return pa.array([row[column] for row in kept[table]], type=pa.string()).dictionary_encode()

    tables = {
        "concepts": pa.table({"code": pa.array(codes, type=pa.string())}),
        "texts": pa.table({"text": pa.array(texts, type=pa.string())}),
        "terms": pa.table(
            {
                "concept": indices("terms", 0, concept_of),
                "text": indices("terms", 1, text_of),
                "language": names("terms", 2),
                "kind": names("terms", 3),
                "source": names("terms", 4),
            }
        ),
        "parents": pa.table(
            {
                "child": indices("parents", 0, concept_of),
                "parent": indices("parents", 1, concept_of),
                "source": names("parents", 2),
            }
        ),
        "relations": pa.table(
            {
                "head": indices("relations", 0, concept_of),
                "relation": names("relations", 1),
                "tail": indices("relations", 2, concept_of),
                "source": names("relations", 3),
            }
        ),
        "types": pa.table({"concept": indices("types", 0, concept_of), "type": names("types", 1)}),
    }
    used = {row[-1] for table in ("terms", "parents", "relations") for row in kept[table]}
    return tables, {name: info for name, info in sources.items() if name in used}, {"records": tally}


def _collect(
    records: Iterable[Record], source: SourceInfo
) -> tuple[dict[str, set[tuple[str, ...]]], dict[str, SourceInfo], Tally]:
    """Distinct rows of each table, every source that is described, and the tally."""
    sources = {source.name: source}
    tally = Tally()
    rows: dict[str, set[tuple[str, ...]]] = {table: set() for table in _ENDS}

    def add(table: str, row: tuple[str, ...]) -> None:
        if row in rows[table]:
            tally.drop(f"repeated {table}")
        else:
            rows[table].add(row)
            tally.keep()

    for record in records:
        if isinstance(record, SourceInfo):
            sources[record.name] = record
            continue
        tally.read()
        if isinstance(record, Term):
            text = record.text.strip()
            if text:
                add("terms", (record.code, text, record.language, record.kind, record.source or source.name))
            else:
                tally.drop("empty terms")
        elif isinstance(record, Parent):
            if record.child != record.parent:
                add("parents", (record.child, record.parent, record.source or source.name))
            else:
                tally.drop("parents equal to their child")
        elif isinstance(record, Relation):
            if record.head != record.tail:
                add("relations", (record.head, record.relation, record.tail, record.source or source.name))
            else:
                tally.drop("relations of a concept to itself")
        elif isinstance(record, Type):
            add("types", (record.code, record.type))
    # A name is preferred or a synonym of its concept, not both.
    twice = {row for row in rows["terms"] if row[3] == "synonym" and (*row[:3], "preferred", row[4]) in rows["terms"]}
    rows["terms"] -= twice
    tally.n_kept -= len(twice)
    tally.drop("synonyms equal to the preferred term", len(twice))
    return rows, sources, tally
