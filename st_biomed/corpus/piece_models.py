"""The two kinds of vocabularies that grow: WordPiece as in BERT, and Unigram as in XLM-R and its successors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import PreTokenizer, Punctuation
from tokenizers.pre_tokenizers import Sequence as Steps
from transformers import PreTrainedTokenizerBase

from st_biomed.errors import InputError

INSIDE = "##"
"""Beginning of a piece within a word in WordPiece. In Unigram a piece at the beginning of a word begins with ``▁``."""


def piece_tokenizer(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """The underlying tokenizer of the tokenizers library.

    Raises:
        InputError: There is none, or it uses neither WordPiece nor Unigram.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    kind = type(getattr(backend, "model", tokenizer)).__name__
    if (kind == "WordPiece" and backend.model.continuing_subword_prefix == INSIDE) or kind == "Unigram":
        return backend
    raise InputError(f"expected a WordPiece tokenizer like BERT's or a Unigram tokenizer like XLM-R's, found {kind}")


def is_unigram(tokenizer: Tokenizer) -> bool:
    """Whether its pieces are chosen by their scores."""
    return type(tokenizer.model).__name__ == "Unigram"


def words_of(tokenizer: Tokenizer) -> PreTokenizer:
    """Its splitting of a text into words, for training pieces; of a Unigram tokenizer also at punctuation."""
    return Steps([tokenizer.pre_tokenizer, Punctuation()]) if is_unigram(tokenizer) else tokenizer.pre_tokenizer


def spelled(pieces: Iterable[str], tokenizer: Tokenizer) -> set[str]:
    """Trained pieces, within words with ``##``, as the tokenizer spells them."""
    return {piece.removeprefix(INSIDE) for piece in pieces} if is_unigram(tokenizer) else set(pieces)


def parts_of(piece: str, tokenizer: Tokenizer, vocabulary: dict[str, int]) -> list[int]:
    """Ids of the old pieces that compose a piece; empty if there are none.

    In WordPiece each is the longest that fits, from the left; in Unigram together they have the highest score.

    Args:
        piece: A piece that is not in the vocabulary.
        vocabulary: Piece to id of the old tokenizer.
    """
    if is_unigram(tokenizer):
        found = tokenizer.model.tokenize(piece)
        return [token.id for token in found] if all(vocabulary.get(t.value) == t.id for t in found) else []
    inside = piece.startswith(INSIDE)
    text, at = piece.removeprefix(INSIDE) if inside else piece, 0
    ids = []
    while at < len(text):
        prefix = INSIDE if inside or at else ""
        end = next((end for end in range(len(text), at, -1) if prefix + text[at:end] in vocabulary), at)
        if end == at:
            return []
        ids.append(vocabulary[prefix + text[at:end]])
        at = end
    return ids


def add_pieces(content: dict[str, Any], new: Sequence[str], parts: Sequence[Sequence[int]], first: int) -> None:
    """Add pieces to the content of a ``tokenizer.json``, in place.

    Tokens that were added to the old tokenizer, such as markers, also go into the model's vocabulary: it must have no gap,
    or sentence-transformers would renumber them when the tokenizer is loaded. The score of a new Unigram piece is the mean of the scores
    of its parts, as its vector is the mean of their vectors: scores are negative, so it is preferred to its parts. Without
    parts it is the lowest score.

    Args:
        parts: Ids of the old pieces of each.
        first: Id of the first new piece.
    """
    vocabulary, added = content["model"]["vocab"], {token["id"]: token["content"] for token in content["added_tokens"]}
    if isinstance(vocabulary, dict):
        vocabulary.update({text: place for place, text in added.items()})
        vocabulary.update({piece: first + i for i, piece in enumerate(new)})
        return
    scores = [score for _, score in vocabulary]
    vocabulary.extend([added[place], 0.0] for place in range(len(vocabulary), first))
    lowest = min(scores)
    for piece, ids in zip(new, parts):
        vocabulary.append([piece, sum(scores[i] for i in ids) / len(ids) if ids else lowest])
