"""What a terminology says of one concept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from st_biomed.terminology.terminology import Terminology


class Name(NamedTuple):
    """A name of a concept in a language, of one source."""

    text: str
    language: str
    kind: str
    source: str


class ConceptRecord(NamedTuple):
    """A concept. Other concepts are pairs of a code and a preferred name, which a grouping node does not have.

    Attributes:
        code: Its code.
        label: Its preferred name, or ``""``.
        names: Preferred names first.
        types: Semantic types.
        parents: Concepts above it.
        children: Concepts below it.
        relations: Name of a relation, and the concept at its other end; relations that begin in the concept.
        xrefs: Predicate and target.
        definitions: Text and language.
    """

    code: str
    label: str
    names: list[Name]
    types: list[str]
    parents: list[tuple[str, str]]
    children: list[tuple[str, str]]
    relations: list[tuple[str, tuple[str, str]]]
    xrefs: list[tuple[str, str]]
    definitions: list[tuple[str, str]]


def concept_record(terminology: Terminology, code: str) -> ConceptRecord:
    """What a terminology says of a concept; sources are those of its names.

    Args:
        terminology: The terminology.
        code: Code of the concept, or one that this code has replaced.

    Raises:
        InputError: No concept has this code.

    Example:
        >>> from st_biomed.terminology import Terminology
        >>> found = concept_record(Terminology.read("toy", trees=2, depth=2, branching=2), "TOY:D0.1")
        >>> found.types, found.parents
        (['disorder'], [('TOY:D0', 'flumpa disease')])
    """
    concept = terminology.concept(code)

    def rows(table: str, end: str = "concept") -> list[dict[str, Any]]:
        found = terminology.tables[table]
        return found.filter(pc.equal(found[end], pa.scalar(concept, found[end].type))).to_pylist()

    def label(other: int) -> str:
        text = terminology.preferred_texts[other]
        return "" if text < 0 else terminology.strings[text]

    def named(other: int) -> tuple[str, str]:
        return terminology.codes[other], label(other)

    names = [
        Name(terminology.strings[row["text"]], row["language"], row["kind"], row["source"]) for row in rows("terms")
    ]
    return ConceptRecord(
        code=terminology.codes[concept],
        label=label(concept),
        names=sorted(names, key=lambda name: (name.kind != "preferred", name.language, name.text, name.source)),
        types=sorted(row["type"] for row in rows("types")),
        parents=sorted({named(row["parent"]) for row in rows("parents", "child")}),
        children=sorted({named(row["child"]) for row in rows("parents", "parent")}),
        relations=sorted({(row["relation"], named(row["tail"])) for row in rows("relations", "head")}),
        xrefs=sorted({(row["predicate"], row["target"]) for row in rows("xrefs")}),
        definitions=sorted({(row["text"], row["language"]) for row in rows("definitions")}),
    )
