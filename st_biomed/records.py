"""What a reader yields: seven small record types, the description of a source, and the tally of what became of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa


KINDS = ("preferred", "synonym")
"""The kinds of terms."""


class Term(NamedTuple):
    """One name of one concept.

    Attributes:
        code: The concept as a CURIE, e.g. ``"ICD10CM:E11.9"``.
        text: The name, as the source writes it.
        kind: ``"preferred"`` for the concept's title, ``"synonym"`` for every other name.
        language: ISO 639-1 code.
        source: Name of the source the row comes from; empty for the reader's own ``SOURCE``.
    """

    code: str
    text: str
    kind: str = "preferred"
    language: str = "en"
    source: str = ""


class Parent(NamedTuple):
    """``parent`` is one of the concepts directly above ``child`` (both CURIEs)."""

    child: str
    parent: str
    source: str = ""


class Relation(NamedTuple):
    """The triple ``head relation tail``; head and tail are CURIEs."""

    head: str
    relation: str
    tail: str
    source: str = ""


class Type(NamedTuple):
    """A semantic type of a concept, e.g. ``Type("UMLS:C0000000", "T047")``."""

    code: str
    type: str


STANDARD = "standard"
"""The type that concepts have besides their semantic type where a source says which ones to use, as OMOP does."""


class Xref(NamedTuple):
    """A concept of another terminology that stands for the same or a similar thing.

    Attributes:
        code: The concept, a CURIE.
        target: The other one, a CURIE too, e.g. ``"UMLS:C0000000"``; no concept of the terminology has to have it.
        predicate: ``"xref"`` where the source says no more, else its word, e.g. ``"exactMatch"`` (SSSOM without ``skos:``).
        source: Name of the source the row comes from; empty for the reader's own ``SOURCE``.
    """

    code: str
    target: str
    predicate: str = "xref"
    source: str = ""


FORMER_CODE = "former_code"
"""The predicate of a code that a concept had before a merge made it one with another."""


class Definition(NamedTuple):
    """A sentence or more that says what a concept is.

    Attributes:
        code: The concept, a CURIE.
        text: The definition; :func:`single_spaced` is what a terminology keeps of it.
        language: ISO 639-1 code.
        source: Name of the source the row comes from; empty for the reader's own ``SOURCE``.
    """

    code: str
    text: str
    language: str = "en"
    source: str = ""


class Grouping(NamedTuple):
    """A concept without a name that may stand in the hierarchy, e.g. a category that a source states by its code alone.

    A terminology keeps it if a concept with a name is below it. Only parents point at it: it has no string, no relation, no
    type, no cross-reference and no definition. A concept that a term names is no grouping node.

    Attributes:
        code: The concept, a CURIE.
    """

    code: str


def single_spaced(text: str) -> str:
    """A definition with one space where there is white space, also where its source breaks a line, and none at the ends."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where rows come from and what may be done with them.

    Attributes:
        name: Short name, also the CURIE prefix of the source's codes, e.g. ``"ICD10CM"``.
        title: Full name of the source.
        version: Edition that was read; empty where the file does not say.
        license: SPDX identifier or a short phrase.
        url: Where the source is published.
        redistributable: Whether its names and definitions may appear in a released file.
    """

    name: str
    title: str
    version: str = ""
    license: str = ""
    url: str = ""
    redistributable: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


TABLE_OF: dict[type, str] = {
    Term: "terms",
    Parent: "parents",
    Relation: "relations",
    Type: "types",
    Xref: "xrefs",
    Definition: "definitions",
    Grouping: "groupings",
}
"""The table that records of a kind become rows of."""

COLUMNS: dict[str, tuple[str, ...]] = {table: kind._fields for kind, table in TABLE_OF.items()}  # type: ignore[attr-defined]
"""Table to the columns of its records."""


class Rows(NamedTuple):
    """Many records of one kind at once, by columns: what a reader of millions of rows yields.

    Attributes:
        table: A key of ``COLUMNS``.
        columns: Its columns, arrow arrays of strings (dictionary-encoded or not) of one length, without nulls.
    """

    table: str
    columns: Mapping[str, pa.Array]

    def one_by_one(self) -> Iterator[Record]:
        """The same as single records."""
        kind = next(kind for kind, table in TABLE_OF.items() if table == self.table)
        yield from map(kind, *(self.columns[name].to_pylist() for name in COLUMNS[self.table]))


Record: TypeAlias = Term | Parent | Relation | Type | Xref | Definition | Grouping | Rows | SourceInfo
"""A reader may yield a ``SourceInfo`` to complete its module's ``SOURCE`` (say, with the file's version) or to add one."""


class Tally:
    """Rows read, kept and dropped by reason; every row that is read ends in exactly one of the two.

    A reader calls :meth:`read` for each row of its input and then either :meth:`keep` or :meth:`drop`, or one method for
    both.

    Attributes:
        n_read, n_kept: Rows.
        dropped: Rows by the reason that they were dropped for.
        notes: What else a person should know of how the input was read, such as its encoding; each once.
    """

    def __init__(self) -> None:
        self.n_read = 0
        self.n_kept = 0
        self.dropped: Counter[str] = Counter()
        self.notes: list[str] = []

    def read(self, n: int = 1) -> None:
        self.n_read += n

    def keep(self, n: int = 1) -> None:
        self.n_kept += n

    def drop(self, reason: str, n: int = 1) -> None:
        if n:
            self.dropped[reason] += n

    def read_kept(self, n: int = 1) -> None:
        """Count rows that are read and kept."""
        self.read(n)
        self.keep(n)

    def read_dropped(self, reason: str, n: int = 1) -> None:
        """Count rows that are read and dropped."""
        self.read(n)
        self.drop(reason, n)

    def mention(self, reason: str) -> None:
        """List a reason although no row was dropped for it, because something expected was absent."""
        self.dropped[reason] += 0

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @property
    def n_dropped(self) -> int:
        return sum(self.dropped.values())

    def adds_up(self) -> bool:
        return self.n_read == self.n_kept + self.n_dropped

    def to_dict(self) -> dict[str, Any]:
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"read": self.n_read, "kept": self.n_kept, "dropped": dict(sorted(self.dropped.items())), **notes}

    @classmethod
    def from_dict(cls, counts: dict[str, Any]) -> Tally:
        tally = cls()
        tally.n_read, tally.n_kept, tally.dropped = counts["read"], counts["kept"], Counter(counts["dropped"])
        tally.notes = list(counts.get("notes", ()))
        return tally

    def __str__(self) -> str:
        reasons = "".join(f"; {n:,} {reason}" for reason, n in sorted(self.dropped.items()))
        notes = "".join(f"; {note}" for note in self.notes)
        return f"{self.n_read:,} read, {self.n_kept:,} kept, {self.n_dropped:,} dropped{reasons}{notes}"
