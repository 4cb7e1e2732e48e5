"""Dictionaries for linking: one file per form of dictionary. A file in this folder with ``entries`` is a form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from st_biomed.errors import InputError, unknown_name
from st_biomed.linking_data.gold_ids import with_prefix
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.readers import reader_names
from st_biomed.records import Tally
from st_biomed.settings.registry import Registry
from st_biomed.terminology import Terminology

TERMINOLOGY = "terminology"
"""The form that is not a file: the folder of a saved terminology, or another argument of ``Terminology.open``."""


class DictionaryForm(Protocol):
    """The attributes of a form's file."""

    def entries(self, path: Path, *, tally: Tally) -> Iterator[tuple[str, list[str]]]:
        """Stream the name and the ids of each entry; the tally counts names."""


_FORMS: Registry[DictionaryForm] = Registry(__name__, "dictionary form")


def dictionary_forms() -> tuple[str, ...]:
    """The names of all forms, sorted."""
    return tuple(sorted((TERMINOLOGY, *_FORMS.names())))


def is_terminology(source: str | Path) -> bool:
    """Whether a dictionary is a terminology: the folder of a saved one, a reader's name, or ``reader:path``."""
    name, _, _ = str(source).partition("?")[0].partition(":")
    return Path(source).is_dir() or (name in reader_names() and not Path(source).exists())


def open_dictionary(
    source: str | Path, *, form: str = "", prefix: str = "", tally: Tally | None = None
) -> LinkingDictionary:
    """Read a dictionary.

    Args:
        source: A file; ``form:path`` (``"medic:medic_06Jul2012.txt.gz"``); or a terminology: the folder of a saved
            one, a reader's name (``"icd10cm"``), or ``reader:path`` with or without options
            (``"obo:doid.obo?scopes=EXACT,RELATED"``), also with ``terminology:`` in front.
        form: Its form if the source has none: a name of :func:`dictionary_forms`.
        prefix: CURIE prefix of ids without one; empty leaves them bare. Ids of a terminology always have one.
        tally: Counts the names; a repeated entry of name and ids is dropped.

    Raises:
        InputError: An unknown or missing form, no such file, an invalid line, or a dictionary without a name.
    """
    tally = Tally() if tally is None else tally
    head, colon, rest = str(source).partition(":")
    if colon and head in dictionary_forms():
        form, source = head, rest
    elif is_terminology(source):
        form = TERMINOLOGY
    if form not in dictionary_forms():
        if form:
            raise unknown_name("dictionary form", form, dictionary_forms())
        raise InputError(
            f"dictionary {str(source)!r}: give its form as form:path; forms are {', '.join(dictionary_forms())} and "
            "the readers"
        )
    if form == TERMINOLOGY:
        dictionary = LinkingDictionary.from_terminology(Terminology.open(source))
        tally.read_kept(len(dictionary))
        return dictionary
    module = _FORMS.module(form)
    try:
        return LinkingDictionary.from_entries(_distinct(module.entries(Path(source), tally=tally), prefix, tally))
    except InputError as error:
        if str(error).startswith("dictionary: is empty"):
            raise InputError(f"{source}: no name with an id was read ({tally})") from error
        raise


def _distinct(
    entries: Iterator[tuple[str, list[str]]], prefix: str, tally: Tally
) -> Iterator[tuple[str, tuple[str, ...]]]:
    seen = set()
    for name, ids in entries:
        entry = (name, tuple(dict.fromkeys(with_prefix(id_, prefix) for id_ in ids)))
        if entry in seen:
            tally.drop("repeated entries")
        else:
            seen.add(entry)
            tally.keep()
            yield entry
