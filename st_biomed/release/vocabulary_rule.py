"""The rule for tokenizers: strings of the base model, and pieces that are not names, alone or in sequence."""

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
"""Characters between words that do not occur in words of a corpus, unlike hyphens, apostrophes and slashes."""


class Vocabulary:
    """The strings of a release's tokenizer files, and those that its base model lacks.

    Attributes:
        phrases: File to its strings with a space between words.
        searched: File to its strings of several words with no space between them; including names of settings.
        tokens: All other strings, which a module may repeat.

    Args:
        base: The folder of the model that training started from.
        first: The folder of the original base model; ``None`` if it is not available.
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
        """Add a file."""
        entries = dict.fromkeys(_entries(path))
        several = _of_several_words(entries.keys() - self._base)
        self.tokens |= entries.keys() - several
        self.phrases[name] = sorted(filter(_is_phrase, several))
        self.searched[name] = [_readable(entry) for entry in sorted(several) if not _is_phrase(entry)]
        known = {*self.phrases[name], *(self._first or ())}
        self._pieces[name] = [entry for entry in entries if entry not in known]
        self._cut_out |= set(_cut_out(path)) - known

    def search(self) -> PieceSearch:
        """The pieces that the original base model lacks, ready to be searched for names."""
        return PieceSearch(self._pieces, self._cut_out, added=self._first is not None)


class PieceSearch:
    """The pieces of a vocabulary, ready to be searched for names that they form, alone or in sequence.

    Args:
        pieces: File to its pieces, in order.
        cut_out: Pieces that are cut out of any text; others are pieces of words.
        added: Whether all of them are known additions to a base model's vocabulary.
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
        """Each piece, and all in sequence."""
        self._cut_out, self._added = cut_out, added

    def where(self, near: Near) -> list[str]:
        """The files in which a name is formed by pieces that a corpus would not have given.

        A corpus gives single words, so these count only if they are telling names and cut out of any text.
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
        """Whether a single piece is the name."""
        return near.letters in self._alone


def strings_of(folder: Path) -> set[str]:
    """All strings of a model's tokenizer files.

    Raises:
        InputError: The folder does not exist.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected the base model's folder, to compare tokenizers")
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
    """The strings of one tokenizer file outside of its model of word pieces: added tokens, and settings."""
    if path.suffix == ".json" and path.name != "vocab.json":
        with suppress(ValueError, RecursionError):
            content = json.loads(path.read_text("utf-8", "replace"), object_pairs_hook=list)
            parts = [part for part in content if isinstance(part, tuple) and part[0] != "model"]
            yield from json_strings(json.dumps(parts))


def _readable(entry: str) -> str:
    """A token with spaces in place of the marks of byte-level and sentence pieces."""
    return _MARKS.sub(" ", entry)


def _is_phrase(entry: str) -> bool:
    """Whether a token has a space between words."""
    return len(_readable(entry).split()) > 1


def _of_several_words(entries: set[str]) -> set[str]:
    """The tokens of several words with any separators."""
    listed = sorted(entries)
    readable = [_readable(entry).encode("utf-8", "replace").decode() for entry in listed]
    several = pc.match_substring_regex(folded(pa.array(readable, pa.string())), _APART).to_pylist()
    return {entry for entry, is_several in zip(listed, several) if is_several or _is_phrase(entry)}
