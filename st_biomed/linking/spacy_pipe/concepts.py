"""``ent._.concepts``: the matches of an entity, kept in the document in a form that spaCy can save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spacy.tokens import Span

if TYPE_CHECKING:
    from st_biomed.linking.concept_search import Match

NAME = "concepts"


def register() -> None:
    """Make ``span._.concepts`` available, a list of :class:`~st_biomed.linking.Match`, best first.

    It is empty for a span that was not linked. The matches of a span are part of ``Doc.to_bytes``, and of a ``DocBin``
    that stores user data.
    """
    Span.set_extension(NAME, getter=concepts_of, setter=set_concepts, force=True)


def concepts_of(span: Span) -> list[Match]:
    """The matches of a span, best first."""
    from st_biomed.linking.concept_search import Match

    kept: dict[Any, Any] = span.doc.user_data
    rows = kept.get(_key(span), ())
    return [Match(concept, score, name, label, tuple(types)) for concept, score, name, label, types in rows]


def set_concepts(span: Span, matches: Sequence[Match]) -> None:
    """Keep the matches of a span as lists: msgpack, with which spaCy saves a document, knows no named tuples."""
    kept: dict[Any, Any] = span.doc.user_data
    kept[_key(span)] = [[*match[:-1], list(match.types)] for match in matches]


def _key(span: Span) -> tuple[Any, ...]:
    """Where spaCy itself keeps the attributes of a span, so that ``Doc.from_docs`` moves them with it."""
    return ("._.", NAME, span.start_char, span.end_char)
