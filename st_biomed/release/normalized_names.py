"""A form of names and text in which equal names are equal, for millions of names at once."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

_INVISIBLE = (
    r"[\p{Cf}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}"
    r"\x{E0100}-\x{E01EF}]+"
)
"""Format characters (soft hyphens, zero-width and direction marks), fillers and variation selectors."""

_ACCENTS = r"[\x{0300}-\x{036F}]+"
_WITHOUT_ACCENT = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ς": "σ"}
"""Letters whose accents no decomposition removes."""

UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\x{30FC}]"
"""Characters of scripts without obligatory spaces between words: each is a separate word."""

_SEPARATORS = r"[^\pL\pM\pN]+"
_ASCII_SEPARATORS = r"[^0-9A-Za-z]+"
"""The same for ASCII strings; Arrow compiles a pattern in each call, the one above slowly."""

_APART = r"[\pM\x{1100}-\x{11FF}]"
"""Marks and letters that combine with the preceding character in NFKC, such as those of a Korean syllable."""

_ARROW_COMPOSES = pc.utf8_normalize(pa.array(["e\u0301"]), "NFKC")[0].as_py() == "é"
"""Older versions of Arrow do not combine some characters in NFKC."""


def folded(strings: pa.Array) -> pa.Array:
    """Strings without case, accents, invisible characters and variants of characters (NFKC)."""
    strings = pc.replace_substring_regex(strings, _INVISIBLE, "")
    strings = pc.replace_substring_regex(pc.utf8_normalize(strings, "NFKD"), _ACCENTS, "")
    strings = pc.utf8_lower(_composed(strings))
    for letter, plain in _WITHOUT_ACCENT.items():
        strings = pc.replace_substring(strings, letter, plain)
    return strings


def _composed(strings: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Strings in NFKC."""
    if isinstance(strings, pa.ChunkedArray):
        return pa.chunked_array([_composed(chunk) for chunk in strings.chunks], strings.type)
    strings = pc.utf8_normalize(strings, "NFKC")
    if _ARROW_COMPOSES:
        return strings
    apart = pc.match_substring_regex(strings, _APART)
    joined = [unicodedata.normalize("NFKC", string) for string in strings.filter(apart).to_pylist()]
    return pc.replace_with_mask(strings, apart, pa.array(joined, strings.type))


def words_of(strings: pa.Array) -> pa.Array:
    """The folded words of strings, separated by one space: only letters, marks and digits."""
    strings = folded(strings)
    if not _is_ascii(strings):
        strings = pc.replace_substring_regex(strings, f"({UNSPACED})", r" \1 ")
    return pc.utf8_trim(_without_separators(strings, " "), " ")


def letters_of(strings: pa.Array) -> pa.Array:
    """The same without spaces."""
    return _without_separators(folded(strings), "")


def _without_separators(strings: pa.Array, replacement: str) -> pa.Array:
    """Strings with something else in place of what is neither a letter nor a mark nor a digit."""
    return pc.replace_substring_regex(strings, _ASCII_SEPARATORS if _is_ascii(strings) else _SEPARATORS, replacement)


def _is_ascii(strings: pa.Array) -> bool:
    return bool(pc.all(pc.string_is_ascii(strings), min_count=0).as_py())
