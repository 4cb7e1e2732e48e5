"""What a tokenizer may hold: the base model's strings, and pieces of which none is a name, nor several in a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.release.file_strings import json_strings
from st_biomed.release.name_kinds import LEAST_WORDS, Kind
from st_biomed.release.normalized_names import folded, letters_of
from st_biomed.release.term_search import LEAST_JOINED, Near, TermSearch

TOKENIZER_TEXT = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
)
TOKENIZER_OTHER = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "chat_template.jinja")

_APART = r"[\pL\pM\pN][^\pL\pM\pN]+[\pL\pM\pN]"
_MARKS = re.compile(r"[▁Ġ]")
_PIECE_MARKS = re.compile(r"^##|</w>$")
_SIGN = re.compile(r"\w(?:[^\w\s'’/‐‑-]|_)+\w")
"""Between the words of one piece: a corpus has words with a hyphen, an apostrophe or a slash, but none with these."""


class Vocabulary:
    """The strings of a release's tokenizer files, and what of them its base model has not.

    Attributes:
        phrases: File to its strings with a space between words.
        searched: File to its strings of several words with no space between them; names of settings are among these.
        tokens: All other strings, which a module may hold once more.

    Args:
        base: The folder of the model that training started from.
        first: That of the model of others that it came from; ``None`` where it is not within reach.
    """

    def __init__(self, base: Path | None, first: Path | None) -> None:
        self._base = set() if base is None else strings_of(base)
        self._first = None if first is None else self._base if first == base else strings_of(first)
        self.phrases: dict[str, list[str]] = {}
        self.searched: dict[str, list[str]] = {}
        self.tokens: set[str] = set()
        self._pieces: dict[str, list[str]] = {}
        self._cut_out: set[str] = set()

    def add(self, name: str, path: Path) -> None:
        """Take a file in."""
        entries = dict.fromkeys(_entries(path))
        several = _of_several_words(entries.keys() - self._base)
        self.tokens |= entries.keys() - several
        self.phrases[name] = sorted(filter(_is_phrase, several))
        self.searched[name] = [_readable(entry) for entry in sorted(several) if not _is_phrase(entry)]
        known = {*self.phrases[name], *(self._first or ())}
        self._pieces[name] = [entry for entry in entries if entry not in known]
        self._cut_out |= set(_cut_out(path)) - known

    def search(self) -> PieceSearch:
        """The pieces that the first of all base models has not, ready to be asked for names."""
        return PieceSearch(self._pieces, self._cut_out, added=self._first is not None)


class PieceSearch:
    """The pieces of a vocabulary, ready to be asked for names that they make up: one alone, or several in a row.

    Args:
        pieces: File to its pieces, in order.
        cut_out: Those that are cut out of any text, where others are pieces of words.
        added: Whether all of them are known to be added to a base model's, not just not known to be its own.
    """

    def __init__(self, pieces: Mapping[str, Sequence[str]], cut_out: set[str], added: bool) -> None:
        self._alone: dict[str, dict[str, list[str]]] = {}
        rows: dict[str, list[str]] = {}
        for place, listed in pieces.items():
            readable = [_PIECE_MARKS.sub("", _readable(piece)) for piece in listed]
            for piece, letters in zip(listed, letters_of(pa.array(readable, pa.string())).to_pylist()):
                self._alone.setdefault(letters, {}).setdefault(place, []).append(piece)
            rows[place] = [*readable, " ".join(readable)] if added else readable
        self.rows = TermSearch(rows)
        """Each piece, and all in a row."""
        self._cut_out, self._added = cut_out, added

    def where(self, near: Near) -> list[str]:
        """The files in which a name is made up of pieces that no corpus would have given.

        A corpus gives single words, so that these count only where they are telling names and cut out of any text.

        Args:
            near: The name.
        """
        alone, n_words, kind = self._alone.get(near.letters, {}), len(near.name.split()), near.kind
        if kind is Kind.TELLING and n_words >= LEAST_WORDS:
            return self.rows.where(near.words) if len(near.letters) >= LEAST_JOINED else []
        if kind is Kind.TELLING:
            return [place for place, pieces in alone.items() if not self._cut_out.isdisjoint(pieces)]
        if kind is Kind.SHORT and n_words > 1:
            return [place for place, pieces in alone.items() if any(map(_SIGN.search, pieces))]
        return list(alone) if kind is Kind.UNSPACED and self._added else []

    def is_a_piece(self, near: Near) -> bool:
        """Whether some piece, taken alone, is the name."""
        return near.letters in self._alone


def strings_of(folder: Path) -> set[str]:
    """All strings of a model's tokenizer files.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; the base model's folder is needed to compare tokenizers")
    return {entry for name in TOKENIZER_TEXT for path in folder.rglob(name) for entry in _entries(path)}


def _entries(path: Path) -> Iterator[str]:
    """The strings of one tokenizer file; a merge of two pieces is two strings."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".json":
        yield from json_strings(text)
    else:
        for line in text.splitlines():
            yield from line.split(" ") if path.name == "merges.txt" and line.count(" ") == 1 else [line]


def _cut_out(path: Path) -> Iterator[str]:
    """The strings of one tokenizer file that are none of its model of word pieces: added tokens, and settings."""
    if path.suffix == ".json" and path.name != "vocab.json":
        with suppress(ValueError, RecursionError):
            content = json.loads(path.read_text("utf-8", "replace"), object_pairs_hook=list)
            parts = [part for part in content if isinstance(part, tuple) and part[0] != "model"]
            yield from json_strings(json.dumps(parts))


def _readable(entry: str) -> str:
    """A token with spaces for the marks that byte-level and sentence pieces have instead."""
    return _MARKS.sub(" ", entry)


def _is_phrase(entry: str) -> bool:
    """Whether a token has a space between words."""
    return len(_readable(entry).split()) > 1


def _of_several_words(entries: set[str]) -> set[str]:
    """The tokens of several words, whatever stands between these."""
    listed = sorted(entries)
    readable = [_readable(entry).encode("utf-8", "replace").decode() for entry in listed]
    several = pc.match_substring_regex(folded(pa.array(readable, pa.string())), _APART).to_pylist()
    return {entry for entry, is_several in zip(listed, several) if is_several or _is_phrase(entry)}
