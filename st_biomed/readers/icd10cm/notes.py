"""Notes of the tabular list that are written for coders, among its inclusion terms and "includes" notes."""

from __future__ import annotations

import re

from st_biomed.readers._coder_notes import BY_CODES, INSTRUCTIONS

# How to code, what "screening" means, and references to the conditions that the codes below a category list.
_INSTRUCTION = re.compile(
    r"^(?:categories|codes also|these codes|this (?:category|code)|the following (?:category|codes)|the listed conditions"
    r"|the selection|use two|screening is|usually implies)|\bshould be (?:coded|recorded)|\bcode to\b|\bthis code is\b|\bis only for use\b",
    re.I,
)
# Codes as such look like parts of names (O157:H7, B12, LGMD R12): they have a point, a range, or words before them.
_CODES = re.compile(
    r"\bclassifi(?:able|ed) (?:to|under|elsewhere in)\b|\bconditions? (?:listed )?(?:in|under|from) [A-Z]\d"
    r"|\b[A-Z]\d[\dA-Z]\.(?:[\dA-Z]+-?|-)|\b[A-Z]\d[\dA-Z]-[A-Z]\d[\dA-Z]\b",
    re.I,
)


def coder_note(text: str) -> str:
    """Why a note is not a name; empty if it is one."""
    return INSTRUCTIONS if _INSTRUCTION.search(text) else BY_CODES if _CODES.search(text) else ""
