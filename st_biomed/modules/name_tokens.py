"""Names as the words that word vectors are looked up by, in a tokenizer that is saved with a model."""

from __future__ import annotations

from collections.abc import Mapping

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE

from st_biomed.errors import unknown_name

UNITS = ("word", "name")
"""What a row of a table of vectors is for: one word, or a name as a whole."""

_WORDS = r"'s(?!\w)|\w+(?:(?:(?!'s(?!\w))[-/']|(?<=\d)[.,:](?=\d))\w+)*|[^\w\s]+"
"""A word goes on over a hyphen, a slash or an apostrophe, a number over a point, comma or colon; 's and runs of other
punctuation are words. The paper: "Input strings are first tokenized using the Pattern tokenizer and then lowercased";
its Table 4 has "heart :[ weak ] or [ failure nos ] ( disorder )" and "double kidney and/or pelvis"."""

_MARK = "\ue000"
"""Before each token, of Unicode's private use, so that no token is a single character."""


def name_tokenizer(tokens: Mapping[str, int], unit: str = "word") -> Tokenizer:
    """A tokenizer for whole tokens, which leaves out those that it does not know.

    Text is brought into Unicode's composed form and lower case, and typographic apostrophes become plain ones. It is byte
    pair encoding without any pair: a token that is not listed falls into characters, and none of them is listed. So an
    unknown word has no part in a mean, where a tokenizer of words would need a row for it.

    Args:
        tokens: Row by token, as :func:`tokens_of` gives them.
        unit: ``"word"``, or ``"name"`` for the whole text as one token, but for runs of spaces.

    Raises:
        InputError: Another unit.
    """
    if unit not in UNITS:
        raise unknown_name("unit", unit, UNITS)
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
    """The tokens of a name, known or not, each with its mark."""
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(name))
    return [token for token, _ in pieces if len(token) > len(_MARK)]


def shown(token: str) -> str:
    """A token as it is written in a name."""
    return token.replace(_MARK, " ").strip()
