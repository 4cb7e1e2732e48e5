"""The end of a list in notes that have lost their indentation."""

from __future__ import annotations

_SHORT = 2  # characters of an item such as "A" or "D1"


class ListItems:
    """The items of a list so far, from which it follows whether the next line is one of them.

    Lines in lower case, numbers, "NOS" and single letters are items. So are lines with a capital if the list began with
    one and they are in alphabetical order, and one line with a capital directly behind a first "NOS".

    Args:
        head: What stands in front of each item; empty where there is no list.
    """

    def __init__(self, head: str = "") -> None:
        self.head = head
        self._last = ""
        self._capitals = False
        self._after_nos = False

    def belongs(self, text: str) -> bool:
        """Whether a line is the next item, which then counts as the last one."""
        capital = text[:1].isupper() and not text.startswith("NOS") and len(text) > _SHORT
        first, name = not self._last, text.casefold()
        belongs = first or not capital or self._after_nos or (self._capitals and self._last <= name)
        self._capitals = capital if first else self._capitals
        self._after_nos = first and text.startswith("NOS")
        self._last = name
        return belongs
