"""Passages of raw text as rows, for training that needs no name in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from datasets import Dataset

from st_biomed.corpus.raw_text import Document
from st_biomed.errors import InputError, check_instance, check_integer


def passages_dataset(documents: Iterable[Document], words: int = 40) -> Dataset:
    """One row per passage of consecutive words; equal passages are one row, the first of them.

    Args:
        documents: The text, as :func:`~st_biomed.corpus.raw_text.documents` reads it.
        words: Words of a passage, separated by white space; the last passage of a document may be shorter.

    Returns:
        Columns ``text`` and ``label`` (int64; row ``i`` has label ``i``).

    Raises:
        InputError: ``words`` is not a whole number of at least 1, or the documents have no text or are of another class.

    Example:
        >>> passages_dataset([Document("a", "one two three four five")], words=3)["text"][:]
        ['one two three', 'four five']
    """
    check_integer("words", words, least=1)
    texts = list(dict.fromkeys(_passages(documents, words)))
    if not texts:
        raise InputError("no passages: the documents have no text")
    return Dataset(pa.table({"text": pa.array(texts, pa.string()), "label": pa.array(range(len(texts)), pa.int64())}))


def _passages(documents: Iterable[Document], words: int) -> Iterator[str]:
    for document in documents:
        check_instance("each of documents", document, Document)
        found = document.text.split()
        for start in range(0, len(found), words):
            yield " ".join(found[start : start + words])
