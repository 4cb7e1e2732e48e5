"""The mentions of a document: the texts of its entities with abbreviations expanded, and names found in its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from st_biomed.linking_data.preparation.abbreviations import find_abbreviations
from st_biomed.linking_data.preparation.expansion import expand

if TYPE_CHECKING:
    from st_biomed.corpus.matching import TermMatcher

Abbreviations = Literal["detected", "defined", "none"]


def mention_texts(doc: Doc, abbreviations: Abbreviations) -> list[str]:
    """The text of each entity with its short forms replaced by their long forms.

    Args:
        doc: A document with entities.
        abbreviations: Where the long forms are from, see :class:`~st_biomed.linking.spacy_pipe.settings.Settings`.
    """
    long_forms = {} if abbreviations == "none" else detected(doc)
    if abbreviations == "defined":
        long_forms = {**find_abbreviations(doc.text), **long_forms}
    return [expand(entity.text, long_forms).strip() for entity in doc.ents]


def detected(doc: Doc) -> dict[str, str]:
    """Short form to long form for each abbreviation that a detector has left in ``doc._.abbreviations``.

    scispaCy leaves spans with ``_.long_form``, or, with ``make_serializable``, objects with ``short_text`` and
    ``long_text``. The first long form of a short form counts.
    """
    found: dict[str, str] = {}
    for short in (doc._.abbreviations if Doc.has_extension("abbreviations") else None) or ():
        key, value = _definition(short)
        if key and value:
            found.setdefault(key, value)
    return found


def _definition(short: Any) -> tuple[str, str]:
    if isinstance(short, Mapping):
        return short["short_text"], short["long_text"]
    return short.text, str(short._.long_form or "")


def add_names(doc: Doc, matcher: TermMatcher, label: str) -> None:
    """Make entities of the names in a document that touch no entity. A name that ends within a token takes it whole.

    Args:
        doc: The document, which is modified.
        matcher: Finds the names. Names with accents are found if the text has Unicode's composed form (NFC).
        label: Label of the entities.
    """
    found = matcher.find(doc.text)
    places = zip(found.starts.tolist(), found.ends.tolist())
    spans = [doc.char_span(start, end, label=label, alignment_mode="expand") for start, end in places]
    new = [span for span in spans if span is not None and not _touches_entity(span)]
    doc.set_ents(filter_spans(new), default="unmodified" if doc.has_annotation("ENT_IOB") else "outside")


def _touches_entity(span: Span) -> bool:
    return any(token.ent_iob_ in ("B", "I") and token.ent_type for token in span)
