"""Languages of names, as files and options state them."""

from __future__ import annotations

import re

from st_biomed.errors import InputError

_TWO_LETTERS = {
    "ara": "ar", "baq": "eu", "bul": "bg", "chi": "zh", "cze": "cs", "dan": "da", "dut": "nl", "eng": "en", "est": "et",
    "fin": "fi", "fre": "fr", "ger": "de", "gre": "el", "heb": "he", "hin": "hi", "hun": "hu", "ind": "id", "ita": "it",
    "jpn": "ja", "kor": "ko", "lav": "lv", "lit": "lt", "nor": "no", "per": "fa", "pol": "pl", "por": "pt", "rum": "ro",
    "rus": "ru", "scr": "hr", "slo": "sk", "slv": "sl", "spa": "es", "swe": "sv", "tha": "th", "tur": "tr", "ukr": "uk",
    "vie": "vi", "ces": "cs", "deu": "de", "ell": "el", "eus": "eu", "fas": "fa", "fra": "fr", "hrv": "hr", "nld": "nl",
    "ron": "ro", "slk": "sk", "srp": "sr", "zho": "zh",
}  # fmt: skip
"""ISO 639-2, both forms, to ISO 639-1; ``scr`` is UMLS's former code of Croatian."""

_TAG = re.compile(r"([A-Za-z]{2,3})([-_][A-Za-z0-9]+)*")


def language_of(where: str, tag: str) -> str:
    """The language of a tag of BCP 47, in lower case and without region and script: ``zh-Hans-CN`` is ``zh``, as are UMLS's
    ``CHI`` and other codes of three letters.

    Args:
        where: ``file:line`` or the name of an option, for errors.

    Raises:
        InputError: It is not a tag.
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        raise InputError(f"{where}: {tag[:40]!r} is not a language, such as 'it' or 'de-CH'")
    return two_letters(match[1].lower())


def two_letters(code: str) -> str:
    """The code of ISO 639-1 for one of ISO 639-2 in lower case; a code that has none, and any other, is returned as it is."""
    return _TWO_LETTERS.get(code, code)
