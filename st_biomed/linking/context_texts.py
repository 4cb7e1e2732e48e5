"""Mentions and the texts in which they stand: abbreviations that a text defines, and the mention between markers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from st_biomed.corpus.blocks import MARKERS, Block, CountsTokens
from st_biomed.corpus.mentions import marked_texts
from st_biomed.corpus.raw_text import Document
from st_biomed.linking_data.preparation.abbreviations import find_abbreviations
from st_biomed.linking_data.preparation.expansion import expand


def expand_from_contexts(mentions: Sequence[str], contexts: Sequence[str | None]) -> list[str]:
    """Mentions with their short forms replaced by the long forms that their contexts define.

    Args:
        mentions: N mentions.
        contexts: The text in which each stands, with or without markers; without one, a mention stays as it is.
    """
    long_forms = {context: find_abbreviations(_unmarked(context)) for context in {*contexts} if context}
    return [
        expand(mention, long_forms[context]) if context else mention for mention, context in zip(mentions, contexts)
    ]


def marked_contexts(
    mentions: Sequence[str], contexts: Sequence[str | None], *, window: int, tokenizer: CountsTokens | None = None
) -> list[str | None]:
    """The window around each mention, with the mention between markers, as ``st-biomed mentions`` writes it.

    The mention is marked where it first stands as whole words, in the same case if it does so anywhere. A context with
    markers is taken as it is.

    Args:
        mentions: N mentions.
        contexts: The text in which each stands, or ``None``.
        window: Tokens of a window, including the mention but not the markers.
        tokenizer: Counts the pieces of words; by default a word is a token.

    Returns:
        N texts; ``None`` without a context, and where the mention does not stand in it.
    """
    out: list[str | None] = [None] * len(mentions)
    rows, places = [], []
    for row, (mention, context) in enumerate(zip(mentions, contexts)):
        if context and is_marked(context):
            out[row] = context
        elif context and (place := _place(mention, context)) is not None:
            rows.append(row)
            places.append(place)
    if rows:
        block = Block(0, [Document(str(row), str(contexts[row])) for row in rows])
        starts, ends = np.array(places, dtype=np.int64).T + block.bounds[:-1]
        texts = marked_texts(block, starts, ends, np.arange(len(rows)), window, tokenizer)
        for row, text in zip(rows, texts):
            out[row] = text
    return out


def _unmarked(context: str) -> str:
    """The text without the markers and the spaces that stand between them and the mention."""
    start, end = map(re.escape, MARKERS)
    return re.sub(rf"{start} ?| ?{end}", "", context)


def is_marked(context: str) -> bool:
    """Whether a start marker is followed by an end marker."""
    start, end = (context.find(marker) for marker in MARKERS)
    return 0 <= start < end


def _place(mention: str, context: str) -> tuple[int, int] | None:
    """First character of a mention and the character after its last."""
    words = r"\s+".join(map(re.escape, mention.split()))
    pattern = rf"(?<!\w){words}(?!\w)"
    found = words and (re.search(pattern, context) or re.search(pattern, context, re.IGNORECASE))
    return found.span() if found else None
