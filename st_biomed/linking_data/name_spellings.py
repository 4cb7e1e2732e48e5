"""Which texts of a terminology are spellings of one name: those that differ only in case, white space or Unicode form."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.terminology import Terminology

_ASCII_SPACES = r"[\x09-\x0d\x1c-\x20]+"
"""What ``str.split`` splits at."""


def name_key(text: str) -> str:
    """A text without differences in case, white space and Unicode form (NFC)."""
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def name_keys(texts: pa.Array) -> pa.Array:
    """:func:`name_key` of many texts, ``[T]``."""
    is_ascii = pc.string_is_ascii(texts)
    keys = pc.utf8_trim(pc.replace_substring_regex(pc.ascii_lower(texts), _ASCII_SPACES, " "), " ")
    others = pc.invert(is_ascii)
    return pc.replace_with_mask(keys, others, pa.array(map(name_key, texts.filter(others).to_pylist()), keys.type))


def numbers_of_names(terminology: Terminology) -> np.ndarray:
    """The number of the name of each text, int64 ``[T]``, in the order of their first texts."""
    keys = name_keys(terminology.texts["text"].combine_chunks())
    return keys.dictionary_encode().indices.to_numpy().astype(np.int64)


def names_of_texts(terminology: Terminology) -> tuple[np.ndarray, CSR]:
    """The number of the name of each text, int64 ``[T]``, and concept to the numbers of its names, ``[C]`` rows."""
    name_of = numbers_of_names(terminology)
    texts = terminology.concept_texts
    concepts = np.repeat(np.arange(terminology.n_concepts), texts.counts)
    return name_of, CSR.from_pairs(concepts, name_of[texts.indices], terminology.n_concepts)


def is_of_several_concepts(name_of: np.ndarray, names: CSR) -> np.ndarray:
    """Whether the name of each text is one of several concepts, bool ``[T]``; arguments of :func:`names_of_texts`."""
    return np.bincount(names.indices, minlength=len(name_of))[name_of] > 1
