"""A tokenizer that splits names into words for word vectors, and is saved with a model."""

from __future__ import annotations

from collections.abc import Mapping

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE

from st_biomed.errors import check_name

UNITS = ("word", "name")
"""The unit of a row in a table of vectors: a word, or a whole name."""

_WORDS = r"'s(?!\w)|\w+(?:(?:(?!'s(?!\w))[-/']|(?<=\d)[.,:](?=\d))\w+)*|[^\w\s]+"
"""A word continues over a hyphen, a slash or an apostrophe, a number over a point, comma or colon; 's and runs of
other punctuation are words. The paper: "Input strings are first tokenized using the Pattern tokenizer and then
lowercased"; its Table 4 has "heart :[ weak ] or [ failure nos ] ( disorder )" and "double kidney and/or pelvis"."""

_MARK = "\ue000"
"""Prefix of each token, from Unicode's private use area, so no token is a single character."""


def name_tokenizer(tokens: Mapping[str, int], unit: str = "word") -> Tokenizer:
    """A tokenizer for whole tokens that leaves out unknown tokens.

    Text is normalized to Unicode's composed form and lower case, and typographic apostrophes become plain ones. The
    tokenizer is byte pair encoding without merges: an unlisted token is split into characters, none of which is
    listed. An unknown word therefore does not contribute to a mean; a word-level tokenizer would need a row for it.

    Args:
        tokens: Token to row, with tokens from :func:`tokens_of`.
        unit: ``"word"``, or ``"name"`` for the whole text as one token, with runs of spaces merged.

    Raises:
        InputError: An unknown unit.
    """
    check_name("unit", unit, UNITS)
    tokenizer = Tokenizer(BPE(dict(tokens), [], ignore_merges=True))
    steps = [normalizers.NFC(), normalizers.Replace("’", "'"), normalizers.Lowercase()]
    mark = pre_tokenizers.Metaspace(_MARK, "always", split=False)
    if unit == "word":
        split = pre_tokenizers.Split(Regex(_WORDS), "removed", invert=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, mark])
    else:
        steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
        tokenizer.pre_tokenizer = mark
    tokenizer.normalizer = normalizers.Sequence(steps)
    return tokenizer


def tokens_of(tokenizer: Tokenizer, name: str) -> list[str]:
    """The tokens of a name, known or unknown, each with its prefix."""
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(name))
    return [token for token, _ in pieces if len(token) > len(_MARK)]


def without_prefix(token: str) -> str:
    """A token without its prefix."""
    return token.replace(_MARK, " ").strip()
