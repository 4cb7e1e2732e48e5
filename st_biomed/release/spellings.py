"""Readings of a string in addition to its literal text, in which names are searched for.

No reading replaces the text: each is searched in addition, because apparent markup may be plain text.
"""

from __future__ import annotations

import base64
import binascii
import html
import re

_ROUNDS = 4  # nesting of encodings
_TELLTALE = re.compile(r"[&<%=\\*~`\[\x1b\-‐]|[^\x00-\x7f]")
"""Text without any of these characters has nothing to resolve except base64."""

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[|\]\]>|<[!?][^<>]*>|\x1b\[[0-9;?]*[A-Za-z]", re.DOTALL)
"""Comments, declarations, and terminal colors."""
_BLOCK = re.compile(
    r"</?(?:article|blockquote|br|caption|dd|div|dl|dt|figure|h[1-6]|hr|li|ol|option|p|pre|section|table|tbody|td|tfoot"
    r"|th|thead|tr|ul)\b[^<>]*>",
    re.IGNORECASE,
)
_INLINE = re.compile(r"</?[A-Za-z][^<>]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_FOOTNOTE = re.compile(r"\[\^[^\[\]]*\]")
_EMPHASIS = re.compile(r"(?<=\w)(?:\*{1,3}|~~|`{1,2})(?=\w)")
_HYPHENATED = re.compile(r"(?<=\w)(?:[-‐\u00ad][ \t]*|=|\\)\r?\n[ \t>#*|/]*(?=\w)")

_HEXADECIMAL = re.compile(r"(?:%[0-9A-Fa-f]{2})+|(?:=[0-9A-F]{2})+")
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|([0-3][0-7]{2})|([nrtfvb/\"' \\]))"
)
_LATEX_ACCENT = re.compile(r"\{?\\(?:[`'^\"~=.]|[cuvHkr](?=[{ ]))\s*\{?\\?([A-Za-z])\}*")
_FOREIGN = re.compile(r"[^\x00-\x7f]{2,}")
_FORMAT = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9_+/-]{16,}={0,2}(?![\w+/=-])")
_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнАВЕКМНОРСТУХІЈЅαορνικυχτηΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwkmtbhABEKMHOPCTYXIJSaopvikuxtnABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters, and the Latin letters that they resemble."""


def readings(text: str) -> list[str]:
    """The text and all its possible readings.

    Resolved are HTML tags, comments and entities, Markdown links, footnotes and emphasis inside a word, words broken
    at the end of a line, percent-encoding and quoted-printable, escapes of JSON, YAML, Python, C and LaTeX, terminal
    colors, UTF-8 read as Latin-1, and each of these inside another; then format characters between words, Cyrillic and
    Greek letters in place of Latin ones, and base64.

    Returns:
        Distinct readings, the text itself first.
    """
    readings_found = {text: None}
    if _TELLTALE.search(text):
        for read in (text, _LATEX_ACCENT.sub(r"\1", text)):
            for markup in (True, False):  # "<" and ">" may be plain characters, with an entity between them
                readings_found.update(dict.fromkeys(_resolved(read, markup)))
        for read in list(readings_found):
            readings_found[_FORMAT.sub(" ", read)] = None  # a zero-width space may be between words or within one
            readings_found[read.translate(_ALIKE)] = None
    for read in list(readings_found):
        readings_found.update(dict.fromkeys(_from_base64(read)))
    return list(readings_found)


def _resolved(text: str, markup: bool) -> list[str]:
    """The text after each round of resolving, until nothing changes."""
    rounds = [text]
    for _ in range(_ROUNDS):
        read = _without_markup(text) if markup else text
        read = _mended(_without_escapes(_without_hexadecimal(html.unescape(read))))
        if read == text:
            break
        rounds.append(text := read)
    return rounds


def _without_markup(text: str) -> str:
    text = _INLINE.sub("", _BLOCK.sub(" ", _HIDDEN.sub("", text)))
    text = _FOOTNOTE.sub("", _LINK.sub(r"\1", text))
    return _HYPHENATED.sub("", _EMPHASIS.sub("", text))


def _without_hexadecimal(text: str) -> str:
    """Percent-encoding and quoted-printable resolved, as UTF-8 or else as Windows' form of Latin-1."""

    def resolved(match: re.Match[str]) -> str:
        content = bytes.fromhex(re.sub("[%=]", "", match[0]))
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return content.decode("cp1252", "replace")

    return _HEXADECIMAL.sub(resolved, text)


def _without_escapes(text: str) -> str:
    """Backslash escapes resolved."""

    def resolved(match: re.Match[str]) -> str:
        *hexadecimal, octal, sign = match.groups()
        if sign:
            return sign if sign in "/\"' \\" else " "
        number = int(octal, 8) if octal else int(next(filter(None, hexadecimal)), 16)
        return chr(number) if number <= 0x10FFFF else match[0]

    if "\\" not in text:
        return text
    text = _ESCAPE.sub(resolved, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two surrogates are one character


def _mended(text: str) -> str:
    """The original text of UTF-8 that was read as Latin-1 or Windows' form of it."""

    def mended(match: re.Match[str]) -> str:
        for encoding in ("cp1252", "latin-1"):
            try:
                return match[0].encode(encoding).decode("utf-8")
            except UnicodeError:
                continue
        return match[0]

    return _FOREIGN.sub(mended, text)


def _from_base64(text: str) -> list[str]:
    """The decoded texts of runs of base64."""
    texts = []
    for match in _BASE64.finditer(text):
        run = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            texts.append(base64.b64decode(run + "=" * (-len(run) % 4)).decode("utf-8"))
        except (binascii.Error, UnicodeDecodeError):
            continue
    return texts
