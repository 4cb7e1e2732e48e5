"""Replaces abbreviations in mentions by their long forms in the mention's own document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from st_biomed.errors import InputError
from st_biomed.linking_data.preparation.abbreviations import find_abbreviations
from st_biomed.linking_data.preparation.record import StepTally, record_step, with_mentions
from st_biomed.linking_data.records import LinkingDataset, Mention


def expand_abbreviations(dataset: LinkingDataset, *, any_order: bool = False) -> LinkingDataset:
    """Replace the short forms in the parts of each mention by their long forms, and set its ``expansion``.

    Args:
        dataset: A data set with documents.
        any_order: As in :func:`~st_biomed.linking_data.preparation.abbreviations.find_abbreviations`.

    Raises:
        InputError: The data set has no documents.
    """
    if not any(dataset.documents.values()):
        raise InputError(f"expand_abbreviations: {dataset.name} has no documents to look up abbreviations")
    long_forms = {key: find_abbreviations(text, any_order=any_order) for key, text in dataset.documents.items()}

    def expanded(mention: Mention) -> Mention:
        known = long_forms.get(mention.document, {})
        parts = tuple(expand(part, known) for part in mention.parts)
        return (
            mention if parts == mention.parts else replace(mention, parts=parts, expansion=expand(mention.text, known))
        )

    tally = StepTally()
    mentions = with_mentions(dataset, expanded, tally, "expanded")
    label = "expand_abbreviations(any_order)" if any_order else "expand_abbreviations"
    return record_step(dataset, label, tally, mentions=mentions)


def expand(text: str, long_forms: Mapping[str, str]) -> str:
    """A string with its short forms replaced in one pass, so that a long form is never expanded again.

    The brackets of a definition (``long form (short form)``) are removed. Otherwise a short form is replaced
    between spaces, slashes, commas or brackets, with or without the ``s`` of a plural. A short form that a hyphen
    joins to its neighbor stays.

    Args:
        text: A mention.
        long_forms: Short form to long form.
    """
    present = {short: long for short, long in long_forms.items() if short in text}
    if not present:
        return text
    for short, long in present.items():
        text = re.sub(rf"({re.escape(long)})\s*[(\[]\s*{re.escape(short)}s?\s*[)\]]", r"\1", text, flags=re.IGNORECASE)
    longest_first = sorted(present, key=lambda short: (-len(short), short))
    pattern = rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})s?(?![\w-])"
    replaced = re.sub(pattern, lambda match: present[match[1]], text)
    return " ".join(replaced.split())
