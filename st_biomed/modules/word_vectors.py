"""Static word vectors as a frozen encoder: the vector of a name is the mean of its words' vectors."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import BPE

from st_biomed.errors import InputError
from st_biomed.modules.fasttext_binary import FastTextBinary
from st_biomed.modules.name_tokens import name_tokenizer, tokens_of, without_prefix
from st_biomed.modules.vector_tables import WordTable, read_matrix, read_text_vectors

logger = logging.getLogger(__name__)


def word_vectors_encoder(
    vectors: str | Path | np.ndarray,
    vocabulary: str | Path | Sequence[str] | None = None,
    *,
    names: Iterable[str] | None = None,
    unit: str = "word",
) -> SentenceTransformer:
    """A model that maps a name to the mean of its words' vectors ("We use average pooling", section 3.1 of Fivez et
    al.).

    Names are split into words and lower-cased (:mod:`st_biomed.modules.name_tokens`). An entry of the table counts
    under its lower-cased form; among several, the entry in lower case counts, otherwise the first. Words that are not
    in the table are left out of the mean, and a name without a known word gets a zero vector: :func:`word_coverage`
    counts both and lists the names. The model is a single frozen ``StaticEmbedding``, which loads without a flag.

    A ``.bin`` file of fastText has vectors for words that are not in its dictionary, which no module of
    sentence-transformers supports. With ``names``, the table contains all their words, so the model is exact for them;
    words of other names are unknown. Without ``names``, it contains the dictionary.

    Args:
        vectors: fastText's ``.bin``; word2vec's text format (``.vec`` or ``.txt``); a matrix ``[n, D]``, or one in ``.npy``.
        vocabulary: Vocabulary of the matrix: n words, or a text file with one per line.
        names: Texts whose words form the table; by default all words.
        unit: ``"word"``, or ``"name"`` for a table whose entries are whole names.

    Raises:
        InputError: An unreadable file, with the line; an unexpected or missing vocabulary; or no entry that a name
            could contain.
    """
    tokenizer = name_tokenizer({}, unit)
    wanted = None if names is None else {token for name in names for token in tokens_of(tokenizer, name)}
    if wanted is not None and not wanted:
        raise InputError("names: expected at least one word, found none")
    token_of: dict[str, str] = {}

    def keep(entry: str) -> bool:
        tokens = tokens_of(tokenizer, entry)
        if len(tokens) != 1 or (wanted is not None and tokens[0] not in wanted):
            return False
        token_of[entry] = tokens[0]
        return True

    kind = _kind(vectors, vocabulary, unit)
    if kind == ".bin":
        model = FastTextBinary(str(vectors))
        if wanted is not None:
            token_of = {without_prefix(token): token for token in sorted(wanted)}
        table = model.table(list(token_of) if wanted is not None else list(filter(keep, model.words)))
    elif vocabulary is None:
        table = read_text_vectors(str(vectors), keep)
    else:
        table = read_matrix(vectors, vocabulary, keep)
    if not table.words:
        raise InputError(
            f"{_shown(vectors)}: of {table.entries:,} entries none is a token of "
            f"{'a name' if names is None else 'the names'} with unit={unit!r}"
        )
    return _encoder(table, token_of, unit)


def _kind(vectors: str | Path | np.ndarray, vocabulary: object, unit: str) -> str:
    """The ending of a file that is there and goes with the other arguments; ".npy" for a matrix in memory."""
    kind = Path(vectors).suffix.lower() if isinstance(vectors, (str, Path)) else ".npy"
    if kind not in (".bin", ".vec", ".txt", ".npy"):
        raise InputError(f"{vectors}: word vectors end in .bin, .vec, .txt or .npy, found {kind!r}")
    for path in (vectors, vocabulary):
        if isinstance(path, (str, Path)) and not Path(path).is_file():
            raise InputError(f"{path}: no such file")
    if kind == ".npy" and vocabulary is None:
        raise InputError("vocabulary: a matrix needs the words or names that its rows belong to")
    if kind != ".npy" and vocabulary is not None:
        raise InputError(f"vocabulary: {vectors} has its own, only a matrix needs one")
    if kind == ".bin" and unit != "word":
        raise InputError(f"unit: {vectors} has vectors of words, found unit={unit!r}")
    return kind


def _shown(vectors: str | Path | np.ndarray) -> str:
    return str(vectors) if isinstance(vectors, (str, Path)) else "vectors"


def _encoder(table: WordTable, token_of: Mapping[str, str], unit: str) -> SentenceTransformer:
    rows: dict[str, int] = {}
    for row, word in enumerate(table.words):
        token = token_of[word]
        if token not in rows or word == without_prefix(token):
            rows[token] = row
    if table.undecodable:
        logger.warning("%d entries are not UTF-8 and left out: no name can have them", table.undecodable)
    logger.info("vectors of %d tokens, from %d of %d entries", len(rows), len(table.words), table.entries)
    tokenizer = name_tokenizer({token: i for i, token in enumerate(rows)}, unit)
    words = StaticEmbedding(tokenizer, torch.from_numpy(table.vectors[list(rows.values())]))
    words.requires_grad_(False)
    return SentenceTransformer(modules=[words])


@dataclass(frozen=True)
class WordCoverage:
    """Coverage of some names by an encoder of words.

    Attributes:
        words: Number of words, including repeats.
        unknown: Frequency of each unknown word, in descending order; unknown words do not contribute to a vector.
        without_words: Names without a known word, whose vectors are zero.
    """

    names: int
    words: int
    unknown: dict[str, int]
    without_words: list[str]

    def __str__(self) -> str:
        lost = sum(self.unknown.values())
        most = ", ".join(f"{word} ({count})" for word, count in list(self.unknown.items())[:5])
        line = f"{lost:,} of {self.words:,} words unknown{f', most often {most}' if most else ''}"
        some = ", ".join(map(repr, self.without_words[:5]))
        return f"{line}; {len(self.without_words):,} of {self.names:,} names without a vector{f': {some}' if some else ''}"


def word_coverage(model: SentenceTransformer, names: Iterable[str]) -> WordCoverage:
    """Count the words that a model of :func:`word_vectors_encoder` does not know.

    Args:
        model: The encoder, with or without further modules, created or loaded.
        names: The names.

    Raises:
        InputError: Another model.
    """
    first = model[0]
    tokenizer = getattr(first, "tokenizer", None)
    if not isinstance(first, StaticEmbedding) or not isinstance(tokenizer, Tokenizer) or not _is_ours(tokenizer):
        raise InputError(
            f"model: an encoder of word vectors is needed, found one that starts with {type(first).__name__}"
        )
    known = tokenizer.get_vocab()
    unknown: Counter[str] = Counter()
    without_words: list[str] = []
    n_names = n_words = 0
    for name in names:
        tokens = tokens_of(tokenizer, name)
        missing = [token for token in tokens if token not in known]
        unknown.update(map(without_prefix, missing))
        n_names += 1
        n_words += len(tokens)
        if len(missing) == len(tokens):
            without_words.append(name)
    return WordCoverage(n_names, n_words, dict(unknown.most_common()), without_words)


def _is_ours(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer.model, BPE) and tokenizer.model.ignore_merges and tokenizer.model.unk_token is None
