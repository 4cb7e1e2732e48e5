"""Ways to write a name that nobody should publish: file names and bytes, each holding the name once."""

from __future__ import annotations

import base64
import html
import json
import quopri
from urllib.parse import quote

NAME = "chronic zörbal inflammation of the left flenn"
SHORT = "gradthic flumpitis"
HAN = "急性流恩炎症"
KANA = "フルンパ症"
PLAIN = NAME.replace("ö", "o")


def within(text: str, name: str = "README.md", encoding: str = "utf-8") -> tuple[str, bytes]:
    """A file with some text before and behind."""
    return name, f"For example {text}, as said.\n".encode(encoding)


def between(sign: str, name: str = NAME) -> str:
    """A sign behind the second letter of every word."""
    return " ".join(word[:2] + sign + word[2:] for word in name.split())


LONG: dict[str, tuple[str, bytes]] = {
    "as it is": within(NAME),
    "capitals": within(NAME.upper()),
    "several spaces": within(NAME.replace(" ", "   ")),
    "line break": within(NAME.replace("inflammation ", "inflammation\n")),
    "line break in a quotation": within(NAME.replace("inflammation ", "inflammation\n> ")),
    "hyphenated at the end of a line": within(NAME.replace("inflam", "inflam-\n")),
    "underscores": within(NAME.replace(" ", "_")),
    "hyphens": within(NAME.replace(" ", "-")),
    "camel case": within(NAME.title().replace(" ", "")),
    "no spaces": within(NAME.replace(" ", "")),
    "spaced letters": within(" ".join(NAME)),
    "punctuation": within(NAME.replace("inflammation ", "inflammation, (")),
    "soft hyphens": within(between("\u00ad")),
    "zero-width spaces": within(between("\u200b")),
    "zero-width joiners": within(between("\u200d")),
    "word joiners": within(between("\u2060")),
    "byte order marks": within(between("\ufeff")),
    "direction marks": within(between("\u200f")),
    "variation selectors": within(between("\ufe0f")),
    "Hangul fillers": within(between("\u3164")),
    "zero-width spaces between words": within(NAME.replace(" ", "\u200b")),
    "no-break spaces": within(NAME.replace(" ", "\u00a0")),
    "full width": within("".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in PLAIN)),
    "mathematical letters": within(
        "".join(chr(0x1D41A + ord(letter) - 97) if letter.isalpha() else letter for letter in PLAIN)
    ),
    "ligatures": within(NAME.replace("fl", "ﬂ")),
    "combining accent": within(NAME.replace("ö", "o\u0308")),
    "without the accent": within(PLAIN),
    "another accent": within(NAME.replace("ö", "ő")),
    "HTML tags inside words": within(between("<b></b>")),
    "HTML tags between words": within(NAME.replace(" ", "<br/>")),
    "HTML tag with attributes": within(NAME.replace("zörbal", '<a href="https://x.example">zörbal</a>')),
    "HTML comments": within(between("<!-- not this -->")),
    "named entities": within(html.escape(NAME).replace("ö", "&ouml;").replace(" ", "&nbsp;")),
    "numeric entities": within("".join(f"&#{ord(letter)};" for letter in NAME)),
    "hexadecimal entities": within("".join(f"&#x{ord(letter):x};" for letter in NAME), "results.csv"),
    "entities of soft hyphens": within(between("&shy;")),
    "entities twice": within(html.escape(between("&shy;"))),
    "entities in JSON": ("run.json", json.dumps({"note": between("&shy;")}).encode()),
    "tags in JSON": ("run.json", json.dumps({"note": between("<i>")}).encode()),
    "percent signs": within(quote(NAME), "results.csv"),
    "percent signs of Latin-1": within(quote(NAME, encoding="latin-1")),
    "percent signs twice": within(quote(quote(NAME))),
    "every letter as a percent sign": within("".join(f"%{byte:02X}" for byte in NAME.encode())),
    "plus signs": within(NAME.replace(" ", "+")),
    "quoted-printable": ("README.md", quopri.encodestring(NAME.encode(), quotetabs=True)),
    "JSON escapes in JSON": (
        "run.json",
        "".join(f"\\u{ord(letter):04x}" for letter in NAME).join(['{"x": "', '"}']).encode(),
    ),
    "JSON escapes in text": within("".join(f"\\u{ord(letter):04X}" for letter in NAME)),
    "escapes of a JSON text in JSON": ("run.json", json.dumps({"x": json.dumps({"y": NAME})}).encode()),
    "bytes of Python": within(str(NAME.encode())),
    "octal bytes of a shell": within(NAME.replace("ö", "\\303\\266")),
    "escaped line breaks": within(NAME.replace(" ", "\\n")),
    "LaTeX accents": within(NAME.replace("ö", '{\\"o}')),
    "Markdown emphasis inside words": within(between("**")),
    "Markdown emphasis of words": within(NAME.replace("zörbal", "**zörbal**")),
    "Markdown link": within(NAME.replace("zörbal", "[zörbal](https://x.example)")),
    "Markdown footnote": within(NAME.replace("zörbal", "zörbal[^1]")),
    "code in Markdown": within(NAME.replace("zörbal", "`zörbal`")),
    "cells of a table": within(NAME.replace(" ", " | ")),
    "colors of a terminal": within(NAME.replace("zörbal", "\x1b[31mzörbal\x1b[0m"), "train.log"),
    "UTF-8 taken for Latin-1": within(NAME.encode().decode("latin-1")),
    "Latin-1": within(NAME, encoding="latin-1"),
    "cp1252 in JSON": ("run.json", json.dumps({"x": NAME}, ensure_ascii=False).encode("cp1252")),
    "UTF-8 with a mark": within(NAME, encoding="utf-8-sig"),
    "UTF-16 with a mark": within(NAME, encoding="utf-16"),
    "UTF-16, little end first": within(NAME, encoding="utf-16-le"),
    "UTF-16, big end first": within(NAME, "results.csv", "utf-16-be"),
    "UTF-16 in JSON": ("run.json", json.dumps({"x": NAME}).encode("utf-16")),
    "UTF-32": within(NAME, encoding="utf-32"),
    "UTF-16 inside a binary file": ("state.bin", b"\xff\x00\x01" + NAME.encode("utf-16-le") + b"\x00\xfe\x9c"),
    "Cyrillic letters in place of Latin ones": within(NAME.replace("c", "с").replace("o", "о")),
    "base64": within(base64.b64encode(NAME.encode()).decode()),
    "key of JSON": ("run.json", json.dumps({NAME: 1}).encode()),
    "name of a file": (f"eval/{PLAIN.replace(' ', '_')}.csv", b"1\n"),
}
SHORT_NAMES: dict[str, tuple[str, bytes]] = {
    "two words": within(SHORT),
    "two words in capitals": within(SHORT.upper()),
    "two words over two lines": within(SHORT.replace(" ", "\n")),
    "two words with a hyphen": within(SHORT.replace(" ", "-")),
    "two words with soft hyphens": within(between("\u00ad", SHORT)),
    "two words with a tag": within(between("<em>", SHORT)),
    "two words with entities": within(between("&#8203;", SHORT)),
    "two words with a LaTeX accent": within(SHORT.replace("u", '{\\"u}')),
    "two words with a zero-width space between": within(SHORT.replace(" ", "\u200b")),
    "two words, one of them hyphenated": within(SHORT.replace("flumpi", "flumpi-\n")),
    "two words, one of them emphasized": within(SHORT.replace("flumpi", "**flumpi**")),
    "two words in percent signs": within(quote(SHORT)),
    "two words as a key of JSON": ("run.json", json.dumps({"results": {SHORT: 0.5}}).encode()),
    "two words as a prompt": ("config_sentence_transformers.json", json.dumps({"prompts": {"a": SHORT}}).encode()),
    "two words as a label": ("config.json", json.dumps({"id2label": {"0": SHORT}}).encode()),
    "two words in a table": ("results.csv", f"name,auc\n{SHORT},0.5\n".encode()),
    "two words in a path": (f"eval/{SHORT.replace(' ', '_')}.csv", b"1\n"),
    "two words in UTF-16": within(SHORT, encoding="utf-16"),
    "Han characters": within(HAN),
    "Han characters in a sentence": within(f"他有{HAN}病史。"),
    "Han characters over two lines": within(f"他有{HAN[:3]}\n{HAN[3:]}"),
    "Han characters in JSON escapes": ("run.json", json.dumps({"x": HAN}).encode()),
    "Han characters as percent signs": within(quote(HAN)),
    "Han characters in UTF-16": within(f"他有{HAN}病史", encoding="utf-16-le"),
    "Han characters in GB18030": within(HAN, encoding="gb18030"),
    "Katakana": within(KANA),
    "Katakana of half width": within("ﾌﾙﾝﾊﾟ症"),
}
BEYOND: dict[str, tuple[str, bytes]] = {
    "misspelt": within(NAME.replace("flenn", "flen")),
    "inflected": within(f"{NAME}s"),
    "other words in between": within(NAME.replace("left", "upper left")),
    "another order of words": within("left flenn, chronic zörbal inflammation of the"),
    "another spelling of the umlaut": within(NAME.replace("ö", "oe")),
    "figures for letters": within(NAME.replace("o", "0").replace("i", "1")),
    "backwards": within(NAME[::-1]),
    "a string for each word": ("run.json", json.dumps(NAME.split()).encode()),
    "two words without a space": within(SHORT.replace(" ", "")),
    "two words in two sentences": within(SHORT.replace(" ", ". ")),
}
"""What is not found, since it is another string of letters, or what ordinary words and cells of tables are, too."""
