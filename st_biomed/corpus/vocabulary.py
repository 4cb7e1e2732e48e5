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

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

SIZE = 15_000
"""Pieces of the new vocabulary: "By training a new vocabulary with 15k tokens, the size of the vocabulary changes from
31,102 elements (original BERT) to 37,714" (Amore Bondarenko et al. 2022, section 3)."""

_INSIDE = "##"


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
    """Train a WordPiece vocabulary on a corpus.

    Args:
        texts: Returns the corpus from its beginning; called twice.
        tokenizer: The tokenizer whose treatment of case, accents and punctuation is used.
        size: Maximum number of pieces, including special tokens.
        minimum_frequency: Minimum number of adjacent occurrences for merging two pieces.

    Returns:
        The sorted pieces, without special tokens; pieces within a word begin with ``##``.

    Raises:
        InputError: The tokenizer is not a WordPiece tokenizer, the size leaves no room, or the corpus contains no
            word.
    """
    old = _wordpiece(tokenizer)
    specials = sorted(set(tokenizer.all_special_tokens))
    if size <= len(specials):
        raise InputError(f"size must be above the {len(specials)} special tokens, found {size}")
    new = Tokenizer(WordPiece(unk_token=tokenizer.unk_token))
    new.normalizer, new.pre_tokenizer = old.normalizer, old.pre_tokenizer
    # The library breaks ties by the order of characters, which would vary: they are passed sorted.
    letters = [f"{_INSIDE}{letter}" for letter in _letters(texts(), old)]
    trainer = WordPieceTrainer(
        vocab_size=size,
        min_frequency=minimum_frequency,
        special_tokens=[*specials, *letters],
        continuing_subword_prefix=_INSIDE,
        show_progress=False,
    )
    new.train_from_iterator(texts(), trainer)
    pieces = sorted(set(new.get_vocab()) - set(specials))
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
        InputError: No tokenizer, one that is not a WordPiece tokenizer, or one with more entries than the model has
            vectors.
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
    parts = [_parts(piece, vocabulary) for piece in new]
    extended = _with_pieces(old, new)
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


def _wordpiece(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """The underlying tokenizer of the tokenizers library.

    Raises:
        InputError: There is none, or it does not use WordPiece.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    kind = type(getattr(backend, "model", tokenizer)).__name__
    if kind != "WordPiece" or backend.model.continuing_subword_prefix != _INSIDE:
        raise InputError(f"expected a WordPiece tokenizer like BERT's, found {kind}")
    return backend


def _parts(piece: str, vocabulary: dict[str, int]) -> list[int]:
    """Ids of the old pieces that compose a piece, longest match first; empty if there are none."""
    inside = piece.startswith(_INSIDE)
    text, at = piece.removeprefix(_INSIDE) if inside else piece, 0
    ids = []
    while at < len(text):
        prefix = _INSIDE if inside or at else ""
        end = next((end for end in range(len(text), at, -1) if prefix + text[at:end] in vocabulary), at)
        if end == at:
            return []
        ids.append(vocabulary[prefix + text[at:end]])
        at = end
    return ids


def _with_pieces(tokenizer: PreTrainedTokenizerBase, new: Sequence[str]) -> PreTrainedTokenizerBase:
    """The tokenizer with pieces in its model, which splits words; added tokens would be cut out of any word.

    Tokens that were added to the old one, such as markers, also go into the model's vocabulary: it must have no gap,
    or the host would renumber them when the tokenizer is loaded.
    """
    _wordpiece(tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        path = Path(folder, "tokenizer.json")
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        vocabulary = content["model"]["vocab"]
        vocabulary.update({token["content"]: token["id"] for token in content["added_tokens"]})
        first = len(tokenizer)
        vocabulary.update({piece: first + i for i, piece in enumerate(new)})
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
        seed: Seed of random vectors.
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
