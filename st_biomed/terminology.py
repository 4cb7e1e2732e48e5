"""A terminology as frozen columnar tables: concepts, their names, parents, relations and types.

Codes, texts and rows are sorted, so that the same input gives the same indices and the same digest in any process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.readers import check_options, reader
from st_biomed.readers.records import Parent, Record, Relation, SourceInfo, Tally, Term, Type

_FORMAT = 1
_TABLES = ("concepts", "texts", "terms", "parents", "relations", "types")


class Terminology:
    """Concepts and what is known of them.

    A concept is its index ``0..C-1`` (codes sorted); a text id is the row of a distinct string ``0..T-1`` (strings
    sorted). A string that names several concepts is one text with several concepts.

    Attributes:
        concepts: ``code`` (CURIE), one row per concept.
        texts: ``text``, every distinct string once.
        terms: ``concept, text, language, kind, source``, sorted; ``kind`` is ``preferred`` or ``synonym``.
        parents: ``child, parent, source``.
        relations: ``head, relation, tail, source``.
        types: ``concept, type``.
        sources: Source name to :class:`SourceInfo`.
        tallies: Stage name to :class:`Tally`: one for each reader's rows, one for the records made from them.

    Make one with :meth:`read`, :meth:`from_records`, :meth:`merge`, :meth:`subset` or :meth:`load`.
    """

    def __init__(
        self, tables: Mapping[str, pa.Table], sources: Mapping[str, SourceInfo], tallies: Mapping[str, Tally]
    ) -> None:
        self.concepts, self.texts, self.terms, self.parents, self.relations, self.types = (
            tables[name].combine_chunks() for name in _TABLES
        )
        self.sources = dict(sorted(sources.items()))
        self.tallies = dict(tallies)

    # ------------------------------------------------------------------ making one

    @classmethod
    def read(cls, source: str, path: str | Path | None = None, **options: Any) -> Terminology:
        """Read a source with the reader of that name.

        Args:
            source: A reader's name, e.g. ``"icd10cm"``; ``st_biomed.readers.reader_names()`` lists them.
            path: The file or folder to read; ``None`` where the reader brings its source along.
            **options: The reader's own options.

        Raises:
            InputError: Unknown reader or option, or whatever the reader finds wrong, with file and line.
        """
        module = reader(source)
        check_options(source, options)
        tally = Tally()
        records = module.records(None if path is None else Path(path), tally=tally, **options)
        terminology = cls.from_records(records, module.SOURCE)
        if terminology.n_texts == 0:
            raise InputError(f"{path or source}: no term was read ({tally})")
        terminology.tallies = {f"{source} rows": tally, **terminology.tallies}
        return terminology

    @classmethod
    def from_records(cls, records: Iterable[Record], source: SourceInfo) -> Terminology:
        """Build the tables from a stream of records.

        A parent, relation or type that points at a concept without any term is dropped and counted, and so are
        repeated records, self-loops and empty texts.

        Args:
            records: Terms, parents, relations, types and source descriptions in any order.
            source: The source of records that name none.
        """
        sources = {source.name: source}
        tally = Tally()
        rows: dict[str, set[tuple[str, ...]]] = {"terms": set(), "parents": set(), "relations": set(), "types": set()}

        def add(table: str, row: tuple[str, ...]) -> None:
            tally.read()
            before = len(rows[table])
            rows[table].add(row)
            if len(rows[table]) == before:
                tally.drop(f"repeated {table}")
            else:
                tally.keep()

        for record in records:
            if isinstance(record, Term):
                text = record.text.strip()
                if text:
                    add("terms", (record.code, text, record.language, record.kind, record.source or source.name))
                else:
                    tally.read()
                    tally.drop("empty terms")
            elif isinstance(record, Parent):
                if record.child != record.parent:
                    add("parents", (record.child, record.parent, record.source or source.name))
                else:
                    tally.read()
                    tally.drop("parents equal to their child")
            elif isinstance(record, Relation):
                add("relations", (record.head, record.relation, record.tail, record.source or source.name))
            elif isinstance(record, Type):
                add("types", (record.code, record.type))
            else:
                sources[record.name] = record

        codes = sorted({row[0] for row in rows["terms"]})
        texts = sorted({row[1] for row in rows["terms"]})
        concept_of = {code: i for i, code in enumerate(codes)}
        text_of = {text: i for i, text in enumerate(texts)}
        named: dict[str, list[tuple[str, ...]]] = {"terms": sorted(rows["terms"])}
        for table, ends in (("parents", (0, 1)), ("relations", (0, 2)), ("types", (0,))):
            named[table] = sorted(row for row in rows[table] if all(row[end] in concept_of for end in ends))
            lost = len(rows[table]) - len(named[table])
            tally.n_kept -= lost
            tally.drop(f"{table} of a concept without a term", lost)

        def column(table: str, i: int) -> list[str]:
            return [row[i] for row in named[table]]

        def indices(table: str, i: int, index: dict[str, int]) -> pa.Array:
            return pa.array(np.fromiter((index[row[i]] for row in named[table]), dtype=np.int32))

        def names(table: str, i: int) -> pa.Array:
            return pa.array(column(table, i), type=pa.string()).dictionary_encode()

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
        return cls(tables, sources, {"records": tally})

    def records(self) -> Iterable[Record]:
        """The tables as records again, in order."""
        yield from self.sources.values()
        codes, texts = self.codes, self.strings
        for row in self.terms.to_pylist():
            yield Term(codes[row["concept"]], texts[row["text"]], row["kind"], row["language"], row["source"])
        for row in self.parents.to_pylist():
            yield Parent(codes[row["child"]], codes[row["parent"]], row["source"])
        for row in self.relations.to_pylist():
            yield Relation(codes[row["head"]], row["relation"], codes[row["tail"]], row["source"])
        for row in self.types.to_pylist():
            yield Type(codes[row["concept"]], row["type"])

    @classmethod
    def merge(cls, *terminologies: Terminology) -> Terminology:
        """All concepts of several terminologies; equal codes are one concept, equal strings one text.

        Raises:
            InputError: No terminology was given.
        """
        if not terminologies:
            raise InputError("merge needs at least one terminology, found none")
        records = (record for terminology in terminologies for record in terminology.records())
        merged = cls.from_records(records, next(iter(terminologies[0].sources.values())))
        stages = {}
        for terminology in terminologies:
            for stage, tally in terminology.tallies.items():
                name = stage
                while name in stages:
                    name += "'"
                stages[name] = tally
        merged.tallies = {**stages, "merge": merged.tallies["records"]}
        return merged

    def subset(
        self,
        concepts: np.ndarray | Sequence[int] | None = None,
        *,
        texts: np.ndarray | None = None,
        languages: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
    ) -> Terminology:
        """The part of the terminology that meets every given condition; concepts left without a term go.

        Args:
            concepts: Concept indices, or a boolean mask ``[C]``.
            texts: Text ids, or a boolean mask ``[T]``.
            languages: Languages of the terms to keep.
            sources: Sources of the terms, parents and relations to keep.

        Raises:
            InputError: An index, language or source that is not there, or nothing is left.
        """
        keep = np.ones(self.terms.num_rows, dtype=bool)
        keep &= _mask(concepts, self.n_concepts, "concepts")[self.terms["concept"].to_numpy()]
        keep &= _mask(texts, self.n_texts, "texts")[self.terms["text"].to_numpy()]
        for column, allowed in (("language", languages), ("source", sources)):
            if allowed is not None:
                present = set(self.terms[column].unique().to_pylist())
                for name in allowed:
                    if name not in present:
                        raise InputError(f"subset: no term has {column} {name!r}; there are {sorted(present)}")
                keep &= np.isin(np.array(self.terms[column].to_pylist(), dtype=object), list(allowed))
        if not keep.any():
            raise InputError("subset: no term is left")
        part = {name: getattr(self, name) for name in _TABLES}
        part["terms"] = self.terms.filter(pa.array(keep))
        if sources is not None:
            for table in ("parents", "relations"):
                of = np.array(part[table]["source"].to_pylist(), dtype=object)
                part[table] = part[table].filter(pa.array(np.isin(of, list(sources)), type=pa.bool_()))
        return self._renumbered(part)

    def _renumbered(self, part: dict[str, pa.Table]) -> Terminology:
        """Drop unused concepts and texts and number the rest anew; the order stays."""
        tables, tally = dict(part), Tally()
        new = {}
        for column, table, size in (("concept", "concepts", self.n_concepts), ("text", "texts", self.n_texts)):
            used = np.zeros(size, dtype=bool)
            used[part["terms"][column].to_numpy()] = True
            new[column] = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
            tables[table] = part[table].filter(pa.array(used))
        columns = {
            "terms": {"concept": "concept", "text": "text"},
            "parents": {"child": "concept", "parent": "concept"},
            "relations": {"head": "concept", "tail": "concept"},
            "types": {"concept": "concept"},
        }
        for table, ends in columns.items():
            rows = part[table]
            before = getattr(self, table).num_rows
            known = np.ones(rows.num_rows, dtype=bool)
            for name, index in ends.items():
                renumbered = new[index][rows[name].to_numpy()]
                known &= renumbered >= 0
                rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(renumbered))
            tables[table] = rows.filter(pa.array(known))
            tally.read(before)
            tally.keep(tables[table].num_rows)
            tally.drop(f"{table} outside the subset", before - tables[table].num_rows)
        return Terminology(tables, self.sources, {**self.tallies, "subset": tally})

    # ------------------------------------------------------------------ on disk

    def save(self, folder: str | Path) -> Path:
        """Write the tables as parquet and everything else as ``terminology.json``; an older copy there is replaced.

        Raises:
            InputError: The folder holds something that is not a terminology.
        """
        folder = Path(folder)
        if folder.is_file():
            raise InputError(f"{folder}: is a file, a folder for the terminology is needed")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / "terminology.json").is_file():
            raise InputError(f"{folder}: holds files that are not a terminology; choose an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name in _TABLES:
            pq.write_table(getattr(self, name), folder / f"{name}.parquet")
        header = {
            "format": _FORMAT,
            "digest": self.digest,
            "sources": [info.to_dict() for info in self.sources.values()],
            "tallies": {stage: tally.to_dict() for stage, tally in self.tallies.items()},
        }
        (folder / "terminology.json").write_text(json.dumps(header, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = False) -> Terminology:
        """Read a saved terminology.

        Args:
            folder: What :meth:`save` wrote.
            verify: Whether to recompute the digest and compare it.

        Raises:
            InputError: No saved terminology there, a newer format, or (with ``verify``) other content.
        """
        folder = Path(folder)
        header_file = folder / "terminology.json"
        if not header_file.is_file():
            what = "no such folder" if not folder.exists() else "no terminology.json in it"
            raise InputError(f"{folder}: {what}; expected a folder written by Terminology.save or `st-biomed read`")
        header = json.loads(header_file.read_text("utf-8"))
        if header["format"] != _FORMAT:
            raise InputError(f"{header_file}: format {header['format']}, this version reads format {_FORMAT}")
        tables = {}
        for name in _TABLES:
            if not (folder / f"{name}.parquet").is_file():
                raise InputError(f"{folder}: {name}.parquet is missing; save the terminology again")
            tables[name] = pq.read_table(folder / f"{name}.parquet")
        sources = {info["name"]: SourceInfo(**info) for info in header["sources"]}
        tallies = {stage: Tally.from_dict(counts) for stage, counts in header["tallies"].items()}
        terminology = cls(tables, sources, tallies)
        if verify and terminology.digest != header["digest"]:
            raise InputError(
                f"{folder}: content has digest {terminology.digest}, {header_file.name} says {header['digest']}"
            )
        terminology.__dict__["digest"] = header["digest"]
        return terminology

    # ------------------------------------------------------------------ looking at it

    @property
    def n_concepts(self) -> int:
        return self.concepts.num_rows

    @property
    def n_texts(self) -> int:
        return self.texts.num_rows

    @cached_property
    def codes(self) -> list[str]:
        """The code of each concept, ``[C]``."""
        return self.concepts["code"].to_pylist()

    @cached_property
    def strings(self) -> list[str]:
        """The string of each text id, ``[T]``."""
        return self.texts["text"].to_pylist()

    def concept(self, code: str) -> int:
        """The index of a code.

        Raises:
            InputError: No concept has this code.
        """
        i = int(np.searchsorted(self._code_array, code))
        if i == self.n_concepts or self.codes[i] != code:
            raise InputError(f"no concept has code {code!r}; codes look like {self.codes[0]!r}")
        return i

    @cached_property
    def _code_array(self) -> np.ndarray:
        return np.array(self.codes, dtype=object)

    @cached_property
    def concept_texts(self) -> CSR:
        """Concept to its text ids."""
        return CSR.from_pairs(self.terms["concept"].to_numpy(), self.terms["text"].to_numpy(), self.n_concepts)

    @cached_property
    def text_concepts(self) -> CSR:
        """Text id to its concepts; more than one where the string is ambiguous."""
        return CSR.from_pairs(self.terms["text"].to_numpy(), self.terms["concept"].to_numpy(), self.n_texts)

    @cached_property
    def preferred_texts(self) -> np.ndarray:
        """One text id per concept, int32 ``[C]``: its first preferred term, else its shortest, then its first."""
        preferred = np.array([kind == "preferred" for kind in self.terms["kind"].to_pylist()])
        concept, text = self.terms["concept"].to_numpy(), self.terms["text"].to_numpy()
        length = np.array([len(string) for string in self.strings])[text]
        order = np.lexsort((text, length, ~preferred, concept))
        first = np.r_[True, concept[order][1:] != concept[order][:-1]]
        return text[order][first]

    @cached_property
    def ambiguous_texts(self) -> np.ndarray:
        """Text ids that name more than one concept."""
        return np.flatnonzero(self.text_concepts.counts > 1)

    def concept_names(self, code: str) -> list[str]:
        """All names of a concept, given its code."""
        return [self.strings[text] for text in self.concept_texts.row(self.concept(code))]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tables and the sources' descriptions: equal for equal content, in any process."""
        sha = hashlib.sha256()
        for name in _TABLES:
            table = getattr(self, name)
            sha.update(f"{name}:{table.num_rows}".encode())
            for column in table.column_names:
                sha.update(column.encode())
                values = table[column].combine_chunks()
                if isinstance(values, pa.ChunkedArray):
                    values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
                if pa.types.is_integer(values.type):
                    sha.update(values.to_numpy().astype("<i4").tobytes())
                else:
                    for string in values.to_pylist():
                        sha.update(string.encode() + b"\0")
        sha.update(json.dumps([info.to_dict() for info in self.sources.values()]).encode())
        return sha.hexdigest()

    def stats(self) -> dict[str, Any]:
        """Counts that describe the terminology, ready to print or to save."""
        names = self.concept_texts.counts
        count = {
            column: {
                entry["values"]: entry["counts"]
                for entry in sorted(self.terms[column].value_counts().to_pylist(), key=lambda entry: entry["values"])
            }
            for column in ("language", "kind", "source")
        }
        return {
            "concepts": self.n_concepts,
            "texts": self.n_texts,
            "terms": self.terms.num_rows,
            "parents": self.parents.num_rows,
            "relations": self.relations.num_rows,
            "types": self.types.num_rows,
            "concepts with synonyms": int((names > 1).sum()),
            "ambiguous texts": len(self.ambiguous_texts),
            "most names of a concept": int(names.max()) if len(names) else 0,
            "terms by language": count["language"],
            "terms by kind": count["kind"],
            "terms by source": count["source"],
            "digest": self.digest,
        }

    def __len__(self) -> int:
        return self.n_concepts

    def __repr__(self) -> str:
        return (
            f"Terminology({', '.join(self.sources)}: {self.n_concepts:,} concepts, {self.n_texts:,} texts, "
            f"{self.parents.num_rows:,} parents, {self.relations.num_rows:,} relations)"
        )


def _mask(selected: np.ndarray | Sequence[int] | None, size: int, name: str) -> np.ndarray:
    """A boolean mask ``[size]`` from a mask, indices or nothing."""
    if selected is None:
        return np.ones(size, dtype=bool)
    selected = np.asarray(selected)
    if selected.dtype == bool:
        if selected.shape != (size,):
            raise InputError(f"subset: {name} mask has shape {selected.shape}, expected ({size},)")
        return selected
    if selected.size and (selected.min() < 0 or selected.max() >= size):
        raise InputError(f"subset: {name} go from 0 to {size - 1}, found {selected.min()} to {selected.max()}")
    mask = np.zeros(size, dtype=bool)
    mask[selected.astype(np.int64)] = True
    return mask
