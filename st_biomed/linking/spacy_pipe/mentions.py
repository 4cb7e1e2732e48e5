"""The mentions of a document: the texts of its entities with abbreviations expanded, and names found in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from spacy.tokens import Doc, Span

from st_biomed.errors import InputError, shown
from st_biomed.linking_data.preparation.abbreviations import Definition, LongForms, find_definitions
from st_biomed.linking_data.preparation.expansion import expand

if TYPE_CHECKING:
    from st_biomed.corpus.matching import TermMatcher

Abbreviations = Literal["detected", "defined", "none"]


def long_forms_in(doc: Doc, abbreviations: Abbreviations) -> LongForms:
    """The short forms of a document with their long forms.

    scispaCy's detector leaves spans with ``_.long_form`` in ``doc._.abbreviations``, or, with ``make_serializable``,
    objects with ``short_text``, ``long_text`` and the token ``short_start``. A span without a long form is left out,
    and an object without its token stands at the beginning. The text's own definitions of a short form count only where
    a detector has left none.

    Args:
        doc: A document.
        abbreviations: Where the long forms are from, see :class:`~st_biomed.linking.spacy_pipe.settings.Settings`.

    Raises:
        InputError: Something else in ``doc._.abbreviations``.
    """
    if abbreviations == "none":
        return LongForms(())
    left = (doc._.abbreviations if Doc.has_extension("abbreviations") else None) or ()
    found = [one for one in (_detected(doc, short) for short in left) if one.short and one.long]
    if abbreviations == "defined":
        detected = {one.short for one in found}
        found += [one for one in find_definitions(doc.text) if one.short not in detected]
    return LongForms(sorted(found, key=lambda one: one.start))


def _detected(doc: Doc, short: Any) -> Definition:
    if isinstance(short, Mapping) and {"short_text", "long_text"} <= short.keys():
        token = short.get("short_start", 0)
        return Definition(short["short_text"], short["long_text"], doc[token].idx if token < len(doc) else 0)
    if isinstance(short, Span) and Span.has_extension("long_form"):
        return Definition(short.text, str(short._.long_form or ""), short.start_char)
    raise InputError(
        f"doc._.abbreviations: expected spans with the extension long_form, or objects with short_text and long_text; "
        f"found {shown(short)}"
    )


def mention_texts(entities: Iterable[Span], long_forms: LongForms, names: Mapping[tuple[int, int], str]) -> list[str]:
    """The text of each entity with its short forms replaced by their long forms.

    Args:
        entities: Entities of a document.
        long_forms: Of the document.
        names: The name in an entity that :func:`add_names` has added, by its first character and the one after its
            last.
    """
    texts = []
    for entity in entities:
        text = names.get((entity.start_char, entity.end_char), entity.text)
        texts.append(expand(text, long_forms.within(text, entity.end_char)).strip())
    return texts


def add_names(doc: Doc, matcher: TermMatcher, label: str, long_forms: LongForms) -> dict[tuple[int, int], str]:
    """Make entities of the names in a document, and of short forms of names, that touch no entity.

    Entities consist of whole tokens. One that has more text than its name is linked by the name alone. Of names whose
    entities share a token, the first is found, and the longest that begins there; of several names in one entity, the
    longest, and the first of equally long ones.

    Args:
        doc: The document, which is modified.
        matcher: Finds the names. Names with accents are found if the text has Unicode's composed form (NFC).
        label: Label of the entities.
        long_forms: Of the document.

    Returns:
        The name in each entity that was added, by its first character and the one after its last.
    """
    text = doc.text  # joined anew on each call
    found = matcher.find(text)
    places = [*zip(found.starts.tolist(), found.ends.tolist()), *_short_names(text, matcher, long_forms)]
    names: dict[Span, str] = {}
    reached = 0
    for start, end in sorted(places, key=lambda place: (place[0], -place[1])):
        span = doc.char_span(start, end, label=label, alignment_mode="expand")
        if span is None or _touches_entity(span) or (span.start < reached and span not in names):
            continue
        if end - start > len(names.get(span, "")):
            names[span], reached = text[start:end], span.end
    doc.set_ents([*names], default="unmodified" if doc.has_annotation("ENT_IOB") else "outside")
    return {(span.start_char, span.end_char): name for span, name in names.items()}


def _short_names(text: str, matcher: TermMatcher, long_forms: LongForms) -> Iterator[tuple[int, int]]:
    """Where short forms stand whose long form is a name as a whole."""
    shorts = sorted(long_forms, key=len, reverse=True)
    if not shorts:
        return
    is_name: dict[str, bool] = {}
    for place in re.finditer(rf"(?<![\w-])(?:{'|'.join(map(re.escape, shorts))})(?![\w-])", text):
        long = long_forms.at(place[0], place.end())
        if long not in is_name:
            found = matcher.find(long)
            is_name[long] = len(found.starts) > 0 and (found.starts[0], found.ends[0]) == (0, len(long))
        if is_name[long]:
            yield place.span()


def _touches_entity(span: Span) -> bool:
    return any(token.ent_iob_ in ("B", "I") and token.ent_type for token in span)
