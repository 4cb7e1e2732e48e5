"""Inclusion terms that are not complete names: sites and substances of a title, and terms of several codes."""

from __future__ import annotations

import re
from collections import Counter

from st_biomed.readers.icd9cm.concepts import DIAGNOSES
from st_biomed.records import Tally

# For malignant tumors by site, a note is a site unless it names a growth; so is a single word below an injury or
# another tumor. For poisonings and adverse effects, it is a substance.
_SITES = re.compile(r"1[4-8]\d|19[0-5]")
_TUMOURS_AND_INJURIES = re.compile(r"1[4-9]\d|2[0-3]\d|8\d\d|9[0-5]\d")
_SUBSTANCES = re.compile(r"9[67]\d|98\d|E8[5-6]\d|E9[34]\d")
_GROWTH = re.compile(
    r"om[aie]s?\b|omat|tumou?r|neopla|canc[er]|leuc|leuk|malatti|disease|s.ndrom|morb|macroglob", re.I
)
_QUALIFIER = re.compile(r"\([^)]*\)|\[[^]]*\]|,?\s*\b(?:SAI|NOS)\b")

PART = "sites and substances, a part of what the title names"
SHARED = "names that stand below several codes, or are another's title"


def is_part(code: str, name: str) -> bool:
    """Whether a note of a code names only a site or substance."""
    category = code.removeprefix(f"{DIAGNOSES}:").partition(".")[0]
    if _SUBSTANCES.fullmatch(category):
        return True
    if _GROWTH.search(name):
        return False
    alone = len(_QUALIFIER.sub(" ", name).split()) <= 1
    return bool(_SITES.fullmatch(category) or (alone and _TUMOURS_AND_INJURIES.fullmatch(category)))


def without_parts(notes: dict[str, list[str]], titles: dict[str, str], tally: Tally) -> dict[str, list[str]]:
    """The names in the notes of codes that belong to one code only; the others are tallied.

    Args:
        notes: Code to the names in its notes.
        titles: Code to its title.
        tally: Counts the notes that are not names.
    """
    owners = Counter(title.casefold() for title in titles.values())
    owners.update(name for names in notes.values() for name in {name.casefold() for name in names})
    kept: dict[str, list[str]] = {}
    for code, names in notes.items():
        kept[code] = []
        for name in names:
            own = name.casefold() == titles.get(code, "").casefold()
            reason = PART if is_part(code, name) else SHARED if owners[name.casefold()] > 1 else ""
            if own or not reason:
                kept[code].append(name)
            else:
                tally.read_dropped(reason)
    return kept
