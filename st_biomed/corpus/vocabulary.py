"""A vocabulary of word pieces from a corpus, added to a model that keeps its knowledge."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from st_biomed.corpus.piece_models import INSIDE, add_pieces, parts_of, piece_tokenizer, spelled, words_of
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

SIZE = 15_000
"""Pieces of the new vocabulary: "By training a new vocabulary with 15k tokens, the size of the vocabulary changes from
31,102 elements (original BERT) to 37,714" (Amore Bondarenko et al. 2022, section 3)."""


@dataclass(frozen=True)
class VocabularyReport:
    """The growth of a vocabulary.

    Attributes:
        trained: Pieces of the vocabulary trained on the corpus, without special tokens.
        shared: Trained pieces that are also in the old vocabulary.
        derived: The other trained pieces that old pieces compose.
        size_before: Entries of the tokenizer before, including special tokens.
        size_after: Entries after.
    """

    trained: int
    shared: int
    derived: int
    size_before: int
    size_after: int

    @property
    def overlap(self) -> float:
        """Share of the trained vocabulary in the old one ("55% of the words are in common with the old tokenizer")."""
        return self.shared / self.trained if self.trained else 0.0

    @property
    def derived_share(self) -> float:
        """Share of the new pieces that old ones compose ("almost entirely (94%) derivable from composition")."""
        new = self.trained - self.shared
        return self.derived / new if new else 0.0

    def to_dict(self) -> dict[str, float]:
        return {**vars(self), "overlap": self.overlap, "derived_share": self.derived_share}

    def __str__(self) -> str:
        return (
            f"{self.size_before:,} to {self.size_after:,} pieces; {self.overlap:.1%} of {self.trained:,} trained "
            f"pieces were there, {self.derived_share:.1%} of the new ones are made up of old ones"
        )


class ExtendedVocabulary(NamedTuple):
    """A tokenizer with new pieces, and the report."""

    tokenizer: PreTrainedTokenizerBase
    report: VocabularyReport


def train_pieces(
    texts: Callable[[], Iterable[str]],
    tokenizer: PreTrainedTokenizerBase,
    size: int = SIZE,
    *,
    minimum_frequency: int = 2,
) -> list[str]:
    """Train a vocabulary of word pieces on a corpus, by the frequency of adjacent pieces as in WordPiece.

    Args:
        texts: Returns the corpus from its beginning; called twice.
        tokenizer: The tokenizer whose treatment of case, accents and punctuation is used.
        size: Maximum number of pieces, including special tokens.
        minimum_frequency: Minimum number of adjacent occurrences for merging two pieces.

    Returns:
        The sorted pieces, without special tokens, as the tokenizer spells them: in WordPiece pieces within a word begin
        with ``##``, in Unigram pieces at its beginning begin with ``▁``.

    Raises:
        InputError: The tokenizer uses neither WordPiece nor Unigram, the size leaves no room, or the corpus contains no
            word.
    """
    old = piece_tokenizer(tokenizer)
    specials = sorted(set(tokenizer.all_special_tokens))
    if size <= len(specials):
        raise InputError(f"size must be above the {len(specials)} special tokens, found {size}")
    new = Tokenizer(WordPiece(unk_token=tokenizer.unk_token))
    new.normalizer, new.pre_tokenizer = old.normalizer, words_of(old)
    # The library breaks ties by the order of characters, which would vary: they are passed sorted.
    letters = [f"{INSIDE}{letter}" for letter in _letters(texts(), new)]
    trainer = WordPieceTrainer(
        vocab_size=size,
        min_frequency=minimum_frequency,
        special_tokens=[*specials, *letters],
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    new.train_from_iterator(texts(), trainer)
    if (needed := new.get_vocab_size()) > size:
        raise InputError(
            f"size must be at least {needed:,}, the special tokens and the letters of the corpus, found {size:,}"
        )
    pieces = sorted(spelled(set(new.get_vocab()) - set(specials), old))
    if not pieces:
        raise InputError("the corpus contains no words")
    return pieces


def extend_vocabulary(
    model: PreTrainedModel | SentenceTransformer,
    pieces: Sequence[str],
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    seed: int = 0,
) -> ExtendedVocabulary:
    """Add pieces to a model's vocabulary, in place; each starts as the mean of the old pieces that compose it.

    "When it is possible, the new tokens, instead of being randomly initialized, are calculated as mean pooling of the
    original BERT subtokens" (Amore Bondarenko et al. 2022, section 3): polmonare is the mean of pol, mona and re. A
    piece within a word is composed of pieces within a word. Old pieces keep their ids and vectors. If the model
    predicts words, output vectors and biases of new pieces are means too; tied embeddings have only one vector.

    Args:
        model: A transformers model with word embeddings, with or without a head that predicts words, or a
            sentence-transformers model that begins with one.
        pieces: The result of :func:`train_pieces`, or any word pieces; existing ones are ignored.
        tokenizer: The model's tokenizer; a sentence-transformers model has its own.
        seed: Seed of the vectors of pieces that old ones do not compose: normal, with the standard deviation of the
            configuration.

    Returns:
        The new tokenizer, which a sentence-transformers model has already, and the report.

    Raises:
        InputError: No tokenizer, one that uses neither WordPiece nor Unigram, or one with more entries than the model
            has vectors.
    """
    encoder: Any
    encoder, old = (model, tokenizer) if isinstance(model, PreTrainedModel) else (model[0].model, model.tokenizer)
    if old is None:
        raise InputError("extend_vocabulary needs the tokenizer of a transformers model: tokenizer=...")
    n_old = encoder.get_input_embeddings().num_embeddings
    if len(old) > n_old:
        raise InputError(
            f"the tokenizer has {len(old)} entries, but the model has vectors for {n_old}: they do not belong together"
        )
    vocabulary = old.get_vocab()
    new = [piece for piece in dict.fromkeys(pieces) if piece not in vocabulary]
    backend = piece_tokenizer(old)
    parts = [parts_of(piece, backend, vocabulary) for piece in new]
    extended = _with_pieces(old, new, parts)
    encoder.resize_token_embeddings(max(len(extended), n_old), mean_resizing=False)
    _fill(encoder, len(old), parts, seed)
    if not isinstance(model, PreTrainedModel):
        first: Any = model[0]
        first.processor = extended
    n_trained = len(dict.fromkeys(pieces))
    report = VocabularyReport(n_trained, n_trained - len(new), sum(map(bool, parts)), len(old), len(extended))
    return ExtendedVocabulary(extended, report)


def _letters(texts: Iterable[str], tokenizer: Tokenizer) -> list[str]:
    """The sorted characters of a corpus that can be within a word, as the tokenizer normalizes and splits it."""
    characters = {letter for text in texts for letter in set(text)}
    if (normalizer := tokenizer.normalizer) is not None:
        characters = {normalized for letter in characters for normalized in normalizer.normalize_str(letter)}
    return sorted(letter for letter in characters if len(tokenizer.pre_tokenizer.pre_tokenize_str(f"a{letter}a")) == 1)


def _with_pieces(
    tokenizer: PreTrainedTokenizerBase, new: Sequence[str], parts: Sequence[Sequence[int]]
) -> PreTrainedTokenizerBase:
    """The tokenizer with pieces in its model, which splits words; added tokens would be cut out of any word."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        path = Path(folder, "tokenizer.json")
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        add_pieces(content, new, parts, first=len(tokenizer))
        path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
        extended = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    extended.name_or_path = tokenizer.name_or_path
    return extended


@torch.no_grad()
def _fill(encoder: PreTrainedModel, first: int, parts: Sequence[Sequence[int]], seed: int) -> None:
    """Set the vectors of new pieces, and their parameters in the head.

    Args:
        encoder: The model, its embeddings resized.
        first: Id of the first new piece.
        parts: Ids of the old pieces of each new piece.
    """
    head: Any = encoder.get_output_embeddings()
    embeddings: Tensor = encoder.get_input_embeddings().weight  # type: ignore[assignment]
    tables = [embeddings]
    if head is not None and head.weight is not embeddings:
        tables.append(head.weight)
    bias = getattr(head, "bias", None)
    generator = torch.Generator().manual_seed(seed)
    width = getattr(encoder.config, "initializer_range", 0.02)
    for place, ids in enumerate(parts, first):
        if bias is not None:
            bias[place] = bias[list(ids)].mean() if ids else 0.0
        for table in tables:
            drawn = torch.randn(table.shape[1], generator=generator) * width if not ids else None
            table[place] = table[list(ids)].mean(0) if drawn is None else drawn.to(table)
