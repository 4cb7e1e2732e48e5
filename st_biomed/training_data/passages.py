"""Passages of raw text as definitions: what a text says where it uses a name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from datasets import Dataset

from st_biomed.corpus.blocks import MARKERS
from st_biomed.records import Definition, SourceInfo, Tally
from st_biomed.terminology import Terminology
from st_biomed.terminology.build import assemble
from st_biomed.terminology.stages import with_stage

PASSAGES = SourceInfo("PASSAGES", "Passages of raw text around names, without the names")
"""The source of passages in the table of definitions."""

_MARKED = re.compile(rf"{re.escape(MARKERS[0])} (.*?) {re.escape(MARKERS[1])}(?: (?=[.,;:!?)]))?")
"""A mention between its markers, and the space that parts it from a punctuation mark."""


def with_passages(
    terminology: Terminology, contexts: Dataset, *, mask: str, language: str = "en", tally: Tally | None = None
) -> Terminology:
    """A terminology whose concepts have passages of a text as further definitions.

    A name is used in the text where a definition could stand: words that often occur around the names of two concepts
    bring these together, which synonyms and the hierarchy do not (distributional hypothesis, Harris 1954). The name is
    replaced wherever its passage has it in this form, so that the passage cannot be matched by its words.

    Args:
        terminology: The terminology of the names.
        contexts: Mentions of its names, as :func:`~st_biomed.corpus.mentions.mention_contexts` gives them: columns
            ``text``, with the mention between markers, and ``concepts``, the indices of all concepts it may mean. A
            passage is one of each of them.
        mask: What stands in the place of the mention, e.g. ``"[MASK]"``.
        language: Language of the passages.
        tally: Counts the passages; one without a word beside the name is dropped, since it says nothing.

    Returns:
        The terminology with the passages in ``definitions``, of the source ``PASSAGES``; its sources, tallies and
        readings stay.
    """
    tally = Tally() if tally is None else tally
    codes = terminology.codes
    found: Iterable[dict[str, object]] = contexts.select_columns(["text", "concepts"])

    def passages() -> Iterator[Definition]:
        for row in found:
            text = _masked(str(row["text"]), mask)
            tally.read()
            if not any(map(str.isalnum, text.replace(mask, ""))):
                tally.drop("passages without a word beside the name")
                continue
            tally.keep()
            for concept in row["concepts"]:  # type: ignore[attr-defined]
                yield Definition(codes[concept], text, language, PASSAGES.name)

    sources = terminology.sources
    records = chain(terminology.records(), [PASSAGES], passages())
    made = Terminology(*assemble(records, next(iter(sources.values())), sources))
    made.tallies = with_stage(terminology.tallies, "passages", made.tallies["records"])
    made.readings = terminology.readings
    return made


def _masked(text: str, mask: str) -> str:
    """The passage with the mask in place of its mention, and of every other occurrence of the mention's form."""
    found = _MARKED.search(text)
    if found is None:
        return text
    other = rf"(?<!\w){re.escape(found[1])}(?!\w)"
    return re.sub(f"{_MARKED.pattern}|{other}", lambda _: mask, text, flags=re.IGNORECASE)
