"""What the tables of a terminology say: its concepts by index and by code, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.records import FORMER_CODE, SourceInfo, Tally
from st_biomed.terminology.stages import with_stage
from st_biomed.terminology.storage import TABLES, digest_of
from st_biomed.terminology.subset import no_code, on_cycles

_SHOWN = 6  # sources that are named


class TerminologyTables:
    """The tables, and what is looked up in them; :class:`~st_biomed.terminology.Terminology` tells how they are made."""

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        sources: Mapping[str, SourceInfo],
        tallies: Mapping[str, Tally],
        readings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.tables = {name: tables[name].combine_chunks() for name in TABLES}
        self.concepts, self.texts, self.terms = (self.tables[name] for name in ("concepts", "texts", "terms"))
        self.parents, self.relations, self.types = (self.tables[name] for name in ("parents", "relations", "types"))
        self.xrefs, self.definitions = self.tables["xrefs"], self.tables["definitions"]
        self.sources = dict(sorted(sources.items()))
        self.tallies = dict(tallies)
        self.readings = [dict(reading) for reading in readings]

    @property
    def n_concepts(self) -> int:
        return self.concepts.num_rows

    @property
    def n_texts(self) -> int:
        return self.texts.num_rows

    @property
    def n_definitions(self) -> int:
        return self.definitions.num_rows

    @cached_property
    def has_name(self) -> np.ndarray:
        """Whether a concept has a name, boolean ``[C]``; a grouping node of the hierarchy has none."""
        out = np.zeros(self.n_concepts, dtype=bool)
        out[self.terms["concept"].to_numpy()] = True
        return out

    @cached_property
    def n_nameless(self) -> int:
        """How many concepts are grouping nodes, which have no name."""
        return self.n_concepts - int(self.has_name.sum())

    @cached_property
    def codes(self) -> list[str]:
        """The code of each concept, ``[C]``."""
        return self.concepts["code"].to_pylist()

    @cached_property
    def languages(self) -> list[str]:
        """ISO 639-1 codes of the languages of the terms, sorted."""
        return sorted(self.terms["language"].unique().to_pylist())

    @cached_property
    def strings(self) -> list[str]:
        """The string of each text id, ``[T]``."""
        return self.texts["text"].to_pylist()

    @cached_property
    def former_codes(self) -> dict[str, str]:
        """Codes that a merge replaced, to the codes that replaced them."""
        rows = self.xrefs.filter(pc.equal(self.xrefs["predicate"], FORMER_CODE))
        codes = self._code_column.take(rows["concept"].combine_chunks())
        return dict(zip(rows["target"].to_pylist(), codes.to_pylist()))

    def concept(self, code: str) -> int:
        """The index of a code, or of the code that replaced it in a merge.

        Raises:
            InputError: No concept has this code.
        """
        i = int(np.searchsorted(self._code_array, code))
        if (i == self.n_concepts or self.codes[i] != code) and code in self.former_codes:
            return self.concept(self.former_codes[code])
        if i == self.n_concepts or self.codes[i] != code:
            raise InputError(no_code(code, self._code_column))
        return i

    def present_codes(self, codes: Iterable[str]) -> list[str]:
        """The same codes, each that a merge replaced as the code that replaced it; unknown ones stay."""
        former = self.former_codes
        known = set(self.codes) if former else set()
        return [code if code in known else former.get(code, code) for code in codes]

    @property
    def _code_column(self) -> pa.Array:
        return self.concepts["code"].combine_chunks()

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
        """One text id per concept, int32 ``[C]``: a preferred term before others, then English, the shortest, the first.

        A merged concept has a preferred term of each terminology, and of each language where translations were added. A
        concept without a name has -1.
        """
        preferred, english = (
            pc.equal(self.terms[column], value).to_numpy()
            for column, value in (("kind", "preferred"), ("language", "en"))
        )
        concept, text = self.terms["concept"].to_numpy(), self.terms["text"].to_numpy()
        length = np.array([len(string) for string in self.strings])[text]
        order = np.lexsort((text, length, ~english, ~preferred, concept))
        first = np.r_[True, concept[order][1:] != concept[order][:-1]][: len(order)]
        out = np.full(self.n_concepts, -1, dtype=np.int32)
        out[concept[order][first]] = text[order][first]
        return out

    @cached_property
    def ambiguous_texts(self) -> np.ndarray:
        """Text ids that name more than one concept."""
        return np.flatnonzero(self.text_concepts.counts > 1)

    @cached_property
    def definition_strings(self) -> list[str]:
        """The string of each row of ``definitions``, ``[K]``."""
        return self.definitions["text"].to_pylist()

    @cached_property
    def concept_definitions(self) -> CSR:
        """Concept to its rows of ``definitions``."""
        rows = np.arange(self.n_definitions, dtype=np.int32)
        return CSR.from_pairs(self.definitions["concept"].to_numpy(), rows, self.n_concepts)

    def concept_names(self, code: str) -> list[str]:
        """All names of a concept, given its code."""
        return [self.strings[text] for text in self.concept_texts.row(self.concept(code))]

    def cross_references(self, prefix: str, predicates: Sequence[str] | None = None) -> dict[str, list[str]]:
        """The codes of another terminology for the concepts of this one, for ``frame["concept"].map(...)``.

        Args:
            prefix: Prefix of the codes, e.g. ``ICD10``.
            predicates: Predicates of the cross-references that count. By default all count, also the codes that a merge
                replaced, and a concept whose own code has the prefix has it.

        Returns:
            Code to the codes with this prefix, sorted; a concept without one is left out.

        Raises:
            InputError: There is no such code, or no such predicate.
        """
        targets, start = self.xrefs["target"].cast(pa.string()), f"{prefix}:"
        chosen = pc.starts_with(targets, start)
        if predicates is not None:
            if isinstance(predicates, str) or not predicates:
                raise InputError(f"predicates: expected a list of predicates, found {predicates!r}")
            known = self.xrefs["predicate"].unique().to_pylist()
            names = pa.array([check_name("predicate", predicate, known) for predicate in predicates], pa.string())
            chosen = pc.and_(chosen, pc.is_in(self.xrefs["predicate"].cast(pa.string()), value_set=names))
        concepts = self.xrefs["concept"].filter(chosen).combine_chunks()
        pairs = {*zip(self._code_column.take(concepts).to_pylist(), targets.filter(chosen).to_pylist())}
        if predicates is None:
            pairs.update((code, code) for code in self.codes if code.startswith(start))
        if not pairs:
            every = pa.chunked_array([*targets.chunks, self._code_column])
            present = pc.replace_substring_regex(every, ":.*", "").unique().to_pylist()
            raise unknown_name("prefix of codes", prefix, present)
        found: dict[str, list[str]] = {}
        for code, target in sorted(pairs):
            found.setdefault(code, []).append(target)
        return found

    @property
    def n_cyclic_parents(self) -> int:
        """How many rows of ``parents`` lie on a cycle."""
        return int(self._on_cycles.sum())

    @cached_property
    def _on_cycles(self) -> np.ndarray:
        child, parent = (self.parents[end].to_numpy() for end in ("child", "parent"))
        return on_cycles(child, parent, self.n_concepts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tables and the sources' descriptions: equal for equal content, in any process."""
        return digest_of(self.tables, self.sources)

    def stats(self) -> dict[str, Any]:
        """Counts that describe the terminology, ready to print or to save.

        ``nameless concepts`` and ``xrefs by predicate`` are there only if there are any.
        """
        names = self.concept_texts.counts[self.has_name]
        count = {column: _counts(self.terms[column]) for column in ("language", "kind", "source")}
        return {
            "concepts": self.n_concepts,
            **({"nameless concepts": self.n_nameless} if self.n_nameless else {}),
            "texts": self.n_texts,
            "terms": self.terms.num_rows,
            "parents": self.parents.num_rows,
            "relations": self.relations.num_rows,
            "types": self.types.num_rows,
            "xrefs": self.xrefs.num_rows,
            "definitions": self.n_definitions,
            "concepts with a definition": int((self.concept_definitions.counts > 0).sum()),
            "concepts with synonyms": int((names > 1).sum()),
            "ambiguous texts": len(self.ambiguous_texts),
            "names per concept": round(float(names.mean()), 2) if len(names) else 0.0,
            "most names of a concept": int(names.max()) if len(names) else 0,
            "terms by language": count["language"],
            "terms by kind": count["kind"],
            "terms by source": count["source"],
            **({"xrefs by predicate": _counts(self.xrefs["predicate"])} if self.xrefs.num_rows else {}),
            "digest": self.digest,
        }

    def without_rows(self, table: str, dropped: np.ndarray, reason: str, stage: str) -> Self:
        """The terminology without some rows of a table, boolean ``[N]``; a stage of the tallies counts them."""
        tally = Tally()
        tally.read(len(dropped))
        tally.drop(reason, int(dropped.sum()))
        tally.keep(int((~dropped).sum()))
        tables = {**self.tables, table: self.tables[table].filter(pa.array(~dropped))}
        return type(self)(tables, self.sources, with_stage(self.tallies, stage, tally), self.readings)

    def __len__(self) -> int:
        return self.n_concepts

    def __repr__(self) -> str:
        nameless = f" ({self.n_nameless:,} nameless)" if self.n_nameless else ""
        shown, n_more = ", ".join([*self.sources][:_SHOWN]), len(self.sources) - _SHOWN
        if n_more > 0:
            shown += f" and {n_more} more"
        return (
            f"Terminology({shown}: {self.n_concepts:,} concepts{nameless}, {self.n_texts:,} texts, "
            f"{self.parents.num_rows:,} parents, {self.relations.num_rows:,} relations)"
        )


def _counts(values: pa.ChunkedArray) -> dict[str, int]:
    """How often each value occurs, in their order."""
    return {
        entry["values"]: entry["counts"]
        for entry in sorted(values.value_counts().to_pylist(), key=lambda e: e["values"])
    }
