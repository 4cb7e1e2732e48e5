"""Where a mention stands in a text for which a corpus gives no offsets."""

from __future__ import annotations

import re


def first_place(mention: str, text: str) -> tuple[int, int]:
    """First character of the mention and the character after its last, in any case; -1 and -1 if it is not there."""
    found = re.search(re.escape(mention), text, re.IGNORECASE)
    return found.span() if found else (-1, -1)
