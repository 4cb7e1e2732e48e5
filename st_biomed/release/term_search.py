"""Which of millions of terms occur in a few files: whole words, one pass over the terms."""

from __future__ import annotations

import html
import io
import json
import pickletools
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_HEAD = 20  # characters of a term that the index holds
_ROWS = 1_000_000  # terms normalised at a time


def normal_forms(strings: pa.Array) -> pa.Array:
    """Strings without case, punctuation and layout: NFKC, lower case, anything but letters, marks and digits one space."""
    folded = pc.utf8_lower(pc.utf8_normalize(strings, "NFKC"))
    return pc.utf8_trim(pc.replace_substring_regex(folded, r"[^\pL\pM\pN]+", " "), " ")


class TermSearch:
    """The words of some passages, ready to be asked for terms.

    A term occurs where its words stand next to each other, in order, inside one passage; case, punctuation and line
    breaks play no part. The index is made from the passages, which are small: terms only stream past it, so that memory
    does not grow with their number.

    Args:
        passages: Place (say, a file's name) to the strings found there.
    """

    def __init__(self, passages: Mapping[str, Iterable[str]]) -> None:
        self._places: dict[str, str] = {}
        heads: set[str] = set()
        for place, strings in passages.items():
            readable = [string.encode("utf-8", "replace").decode() for string in set(strings)]
            lines = normal_forms(pa.array(readable, pa.string())).to_pylist()
            self._places[place] = "\n".join(f" {line} " for line in lines)
            for line in lines:
                heads.update(_heads(line))
        self._heads = pa.array(sorted(heads), pa.string())

    def find(
        self, terms: pa.Array | pa.ChunkedArray, counts: Callable[[str], bool] = lambda term: True
    ) -> dict[str, str]:
        """The terms that occur, from their normal form to how they are written.

        Args:
            terms: Strings ``[T]``.
            counts: Which spellings to look for; of several with one normal form, one that counts is enough.
        """
        found = {}
        for start in range(0, len(terms), _ROWS):
            written = terms.slice(start, _ROWS)
            normal = normal_forms(written)
            candidate = pc.is_in(pc.utf8_slice_codeunits(normal, 0, _HEAD), value_set=self._heads)
            for words, term in zip(normal.filter(candidate).to_pylist(), written.filter(candidate).to_pylist()):
                if counts(term) and self.where(words):
                    found[words] = term
        return found

    def where(self, words: str) -> list[str]:
        """The places where a term given in normal form occurs."""
        return [place for place, text in self._places.items() if words and f" {words} " in text]


def _heads(line: str) -> Iterator[str]:
    """The first characters that a term occurring in ``line`` can have, for each word it can start with.

    A term of at least ``_HEAD`` characters begins with the window itself, a shorter one ends where a word ends.
    """
    start = 0
    while start < len(line):
        window = line[start : start + _HEAD]
        yield window
        end = window.find(" ")
        while end >= 0:
            yield window[:end]
            end = window.find(" ", end + 1)
        start = line.find(" ", start) + 1 or len(line)


def strings_in(path: Path) -> list[str]:
    """The strings that a file holds.

    JSON is parsed (keys and values), pickles and the archives of ``torch.save`` are read opcode by opcode without being
    executed, of safetensors only the header holds text, HTML escapes of Markdown are resolved; any other file is one
    string. Strings that a binary block stores without a separator between them are not told apart.
    """
    if path.suffix == ".safetensors":
        with path.open("rb") as file:
            return list(json_strings(file.read(int.from_bytes(file.read(8), "little")).decode("utf-8", "replace")))
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return [string for name in archive.namelist() for string in _strings_of(name, archive.read(name))]
    return list(_strings_of(path.name, path.read_bytes()))


def json_strings(text: str) -> Iterator[str]:
    """All keys and string values of a JSON text; the text itself where it is not JSON."""
    try:
        yield from _leaves(json.loads(text, object_pairs_hook=list))  # pairs: a repeated key hides nothing
    except ValueError:
        yield text


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)


def _strings_of(name: str, content: bytes) -> Iterator[str]:
    text = content.decode("utf-8", "replace")
    if name.endswith(".json"):
        yield from json_strings(text)
    elif content.startswith(b"\x80"):
        yield from _pickled_strings(content)
    elif name.endswith(".md"):
        yield html.unescape(text)
    else:
        yield text


def _pickled_strings(content: bytes) -> Iterator[str]:
    stream = io.BytesIO(content)
    while (start := stream.tell()) < len(content):  # older archives of torch are several pickles in a row
        try:
            for _, argument, _ in pickletools.genops(stream):
                if isinstance(argument, str):
                    yield argument
                    argument = argument.encode("latin-1", "replace")  # how the older protocols write bytes
                if isinstance(argument, (bytes, bytearray)):
                    yield argument.decode("utf-8", "replace")
                    if b"\0" in argument:
                        yield argument.decode("utf-32-le", "replace")  # an array of strings in numpy
        except ValueError:
            yield content[start:].decode("utf-8", "replace")
            return
