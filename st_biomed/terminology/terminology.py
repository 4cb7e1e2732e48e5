"""A terminology as frozen columnar tables: concepts, their names, parents, relations, types, definitions and cross-references.

Codes, texts and rows are sorted, so that the same input gives the same indices and the same digest in any process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from st_biomed import __version__
from st_biomed.errors import InputError, check_instance
from st_biomed.readers import check_options, parse_options, reader, reader_names, resolved_options
from st_biomed.records import Record, Rows, SourceInfo, Tally
from st_biomed.settings.keyword_options import check_types
from st_biomed.terminology.build import assemble, sources_of
from st_biomed.terminology.concept_tables import TerminologyTables
from st_biomed.terminology.merged_metadata import former_codes, merged_sources
from st_biomed.terminology.stages import merged_stages, with_stage
from st_biomed.terminology.storage import read_tables, write_tables
from st_biomed.terminology.subset import and_below, having, mask, of_same, renumbered, with_codes

_CODE_OF_INDEX = {"concept": "code", "child": "child", "parent": "parent", "head": "head", "tail": "tail"}
"""Columns of concept indices, and the columns of records that they come from."""


class Terminology(TerminologyTables):
    """Concepts and what is known of them.

    A concept is its index ``0..C-1`` (codes sorted); a text id is the row of a distinct string ``0..T-1`` (strings
    sorted). A string that names several concepts is one text with several concepts.

    Attributes:
        concepts: ``code`` (CURIE), one row per concept; one without a term is a grouping node, see :attr:`has_name`.
        texts: ``text``, every distinct string once.
        terms: ``concept, text, language, kind, source``, sorted; ``kind`` is ``preferred`` or ``synonym``.
        parents: ``child, parent, source``.
        relations: ``head, relation, tail, source``.
        types: ``concept, type``.
        xrefs: ``concept, predicate, target, source``; ``target`` is a CURIE of any terminology.
        definitions: ``concept, text, language, source``, sorted; ``text`` is the definition itself, which is no name and
            has no text id.
        sources: Source name to :class:`SourceInfo`.
        tables: The eight above by name.
        tallies: Stage name to :class:`Tally`: one for each reader's rows, one for the records made from them.
        readings: What was read and how: ``reader``, ``path`` (its last part), ``options`` and ``version`` of this package.

    Make one with :meth:`open`, :meth:`read`, :meth:`from_records`, :meth:`merge`, :meth:`subset` or :meth:`load`.

    Example:
        >>> terms = Terminology.read("toy", trees=2, depth=2, branching=2)
        >>> terms
        Terminology(TOY: 10 concepts, 21 texts, 8 parents, 11 relations)
        >>> terms.concept_names("TOY:D0.1")
        ['flumpa disease, voglic type', 'voglic disease of the flumpa', 'voglic flumpa disease']
    """

    @classmethod
    def read(cls, source: str, path: str | Path | None = None, **options: Any) -> Terminology:
        """Read a source with the reader of that name.

        Args:
            source: A reader's name, e.g. ``"icd10cm"``; ``st_biomed.readers.reader_names()`` lists them.
            path: The file or folder to read; ``None`` where the reader brings its source along.
            **options: The reader's own options.

        Raises:
            InputError: Unknown reader or option, an option of another type, or whatever the reader finds wrong, with file and line.
        """
        module = reader(source)
        check_options(source, options)
        check_types(f"reader {source!r}", module.records, options)
        if path is None and (needed := getattr(module, "PATH", None)):
            raise InputError(f"reader {source!r} needs the path of {needed}")
        tally = Tally()
        records = module.records(None if path is None else Path(path), tally=tally, **options)
        terminology = cls.from_records(records, module.SOURCE)
        if terminology.n_texts == 0:
            raise InputError(f"{path or source}: no term was read ({tally})")
        terminology.tallies = {f"{source} rows": tally, **terminology.tallies}
        read_options = {name: _without_folders(value) for name, value in resolved_options(source, options).items()}
        file = {"reader": source, "path": "" if path is None else Path(path).name}
        terminology.readings = [{**file, "options": read_options, "version": __version__}]
        return terminology

    @classmethod
    def open(cls, name: str | Path) -> Terminology:
        """A saved terminology, or a source that is read.

        Args:
            name: A folder written by :meth:`save`, a reader's name (``"icd10cm"``), or ``reader:path``
                (``"phecode:phecode.csv"``), with the reader's options behind a question mark
                (``"obo:doid.obo?scopes=EXACT,RELATED&prefixes=DOID"``).

        Raises:
            InputError: None of these, or what :meth:`read` refuses.
        """
        if Path(name).is_dir():
            return cls.load(name)
        place, asked, options = str(name).partition("?")
        source, _, path = place.partition(":")
        if not path and source not in reader_names():
            if Path(name).is_file():
                suffix = Path(str(name).removesuffix(".gz")).suffix.lower()
                likely = {".obo": "obo", ".json": "obograph"}.get(suffix, "parent_child")
                raise InputError(f"terminology {str(name)!r}: is a file; say what reads it, e.g. {likely}:{name}")
            raise InputError(
                f"terminology {str(name)!r}: no such folder, and no reader of this name; readers are {', '.join(reader_names())}"
            )
        return cls.read(source, path or None, **(parse_options(source, options.split("&")) if asked else {}))

    @classmethod
    def from_records(cls, records: Iterable[Record], source: SourceInfo) -> Terminology:
        """Build the tables from a stream of records.

        A record that points at a concept without any term is dropped and counted, and so are repeated records, self-loops and
        empty texts. A :class:`~st_biomed.records.Grouping` may have parents and children without a term.

        Args:
            records: Terms, parents, relations, types, cross-references, definitions, grouping nodes and source
                descriptions in any order.
            source: The source of records that name none.

        Raises:
            InputError: A record or source of another class, a field that is not a string, or an unknown kind of term.
        """
        check_instance("source", source, SourceInfo)
        return cls(*assemble(records, source))

    def records(self, codes: Mapping[str, str] | None = None) -> Iterable[Record]:
        """The tables as records again, by columns.

        Args:
            codes: Codes that become others.
        """
        yield from self.sources.values()
        texts, names = self.texts["text"].combine_chunks(), self._code_column
        if codes:
            names = pa.array([codes.get(code, code) for code in self.codes], pa.string())
        for table in ("terms", "parents", "relations", "types", "xrefs", "definitions"):
            for batch in self.tables[table].to_batches(max_chunksize=1 << 20):
                columns = {}
                for name in batch.schema.names:
                    if name == "text" and table == "terms":
                        columns[name] = texts.take(batch[name])
                    elif name in _CODE_OF_INDEX:
                        columns[_CODE_OF_INDEX[name]] = pa.DictionaryArray.from_arrays(batch[name], names)
                    else:
                        columns[name] = batch[name]
                yield Rows(table, columns)
        if self.n_nameless:
            yield Rows("groupings", {"code": names.filter(pa.array(~self.has_name))})

    @classmethod
    def merge(cls, *terminologies: Terminology, codes: Mapping[str, str] | None = None) -> Terminology:
        """All concepts of several terminologies; equal codes are one concept, equal strings one text.

        Args:
            *terminologies: What to merge.
            codes: Codes that become others, so that two concepts become one: :attr:`Crosswalk.codes`. Each stays as a
                cross-reference ``former_code``, so that :meth:`concept` still finds it.

        Raises:
            InputError: No terminology was given, an argument that is not one, or one source in two versions.
        """
        if not terminologies:
            raise InputError("merge needs at least one terminology, found none")
        for terminology in terminologies:
            check_instance("each argument of merge", terminology, Terminology)
        if codes is not None:
            check_instance("codes", codes, Mapping)
        if len(terminologies) == 1 and not codes:
            return terminologies[0]
        sources = merged_sources(terminology.sources.values() for terminology in terminologies)
        codes = codes or {}
        records = (record for terminology in terminologies for record in terminology.records(codes))
        former = former_codes(codes, chain.from_iterable(terminology.codes for terminology in terminologies), sources)
        merged = cls(*assemble(chain(records, former), next(iter(sources.values())), sources))
        stages = merged_stages((terminology.tallies, terminology.sources) for terminology in terminologies)
        merged.tallies = with_stage(stages, "merge", merged.tallies["records"])
        merged.readings = [reading for terminology in terminologies for reading in terminology.readings]
        return merged

    def subset(
        self,
        concepts: np.ndarray | Sequence[int] | None = None,
        *,
        codes: Sequence[str] | None = None,
        below: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        texts: np.ndarray | None = None,
        languages: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
    ) -> Terminology:
        """The part of the terminology that meets every given condition; concepts left without a term go.

        A grouping node, which has no term, stays if it meets the conditions on concepts and a concept that stays is below
        it.

        Args:
            concepts: Concept indices, or a boolean mask ``[C]``.
            codes: Codes of the concepts; one that a merge replaced stands for the code that replaced it, here and below.
            below: Codes of roots: these and all concepts below them.
            types: Semantic types of the concepts.
            texts: Text ids, or a boolean mask ``[T]``.
            languages: Languages of the terms and definitions to keep.
            sources: Sources of the terms, parents, relations, cross-references and definitions to keep.

        Raises:
            InputError: An index, code, type, language or source that is not there, or nothing is left.
        """
        tally = Tally()
        chosen = mask(concepts, self.n_concepts, "concepts").copy()
        if codes is not None:
            chosen &= with_codes(self._code_column, self.present_codes(codes))
        if below is not None:
            edges = (self.parents[end].to_numpy() for end in ("child", "parent"))
            chosen &= and_below(with_codes(self._code_column, self.present_codes(below)), *edges)
        if types is not None:
            typed = self.types.filter(pa.array(having(self.types["type"], types, "concept has type")))
            chosen &= mask(typed["concept"].to_numpy(), self.n_concepts, "concepts")
        conditions = {
            "terms of concepts outside the subset": chosen[self.terms["concept"].to_numpy()],
            "terms of texts outside the subset": mask(texts, self.n_texts, "texts")[self.terms["text"].to_numpy()],
        }
        for column, allowed in (("language", languages), ("source", sources)):
            if allowed is not None:
                conditions[f"terms of another {column}"] = having(self.terms[column], allowed, f"term has {column}")
        keep = np.ones(self.terms.num_rows, dtype=bool)
        for reason, met in conditions.items():
            tally.drop(reason, int((keep & ~met).sum()))
            keep &= met
        if not keep.any():
            raise InputError("subset: no term is left")
        part = {**self.tables, "terms": self.terms.filter(pa.array(keep))}
        part = of_same(of_same(part, "language", languages, tally), "source", sources, tally)
        tables = renumbered(self.tables, part, tally, chosen)
        kept = sources_of(tables, self.sources, self.sources)
        return Terminology(tables, kept, with_stage(self.tallies, "subset", tally), self.readings)

    def without_cycles(self) -> Terminology:
        """The terminology without the parents that contradict each other.

        A :class:`~st_biomed.hierarchy.Hierarchy` needs a graph without cycles. Where several vocabularies speak of one
        concept, as in UMLS, one may put above what another puts below; of such a cycle every edge is dropped and
        counted, since none is better than the others. Most cycles go by taking the parents of one source:
        ``subset(sources=["MSH"])``.
        """
        cyclic = self._on_cycles
        made = self.without_rows("parents", cyclic, "parents on a cycle", "without cycles")
        if cyclic.any() and self.n_nameless:
            tables = renumbered(self.tables, made.tables, Tally())  # grouping nodes that only such parents kept
            return Terminology(tables, made.sources, made.tallies, made.readings)
        return made

    def save(self, folder: str | Path) -> Path:
        """Write the tables as parquet and everything else as ``terminology.json``; an older copy there is replaced.

        Raises:
            InputError: The folder is a file, or holds something that is not a terminology.
        """
        return write_tables(folder, self.tables, self.digest, self.sources, self.tallies, self.readings)

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = False) -> Terminology:
        """Read a saved terminology.

        Args:
            folder: What :meth:`save` wrote.
            verify: Whether to recompute the digest and compare it.

        Raises:
            InputError: No saved terminology there, a damaged one, another format, or (with ``verify``) other content.
        """
        tables, digest, sources, tallies, readings = read_tables(folder)
        terminology = cls(tables, sources, tallies, readings)
        if verify and terminology.digest != digest:
            raise InputError(f"{folder}: content has digest {terminology.digest}, its terminology.json says {digest}")
        terminology.__dict__["digest"] = digest
        return terminology


def _without_folders(value: Any) -> Any:
    """An option as it is recorded: of each path in it, in a list or between commas, its last part alone."""
    if isinstance(value, Path):
        return value.name
    if isinstance(value, str):
        if os.path.exists(value):
            return Path(value).name
        members = value.split(",")
        return ",".join(Path(member.strip()).name if os.path.exists(member.strip()) else member for member in members)
    return value if isinstance(value, int | float | None) else [_without_folders(str(member)) for member in value]
