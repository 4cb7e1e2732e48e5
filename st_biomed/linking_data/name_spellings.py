"""Which texts of a terminology are spellings of one name: those that differ only in case or white space."""

from __future__ import annotations

import numpy as np

from st_biomed.csr import CSR
from st_biomed.terminology import Terminology


def name_key(text: str) -> str:
    """A text without differences in case and white space."""
    return " ".join(text.casefold().split())


def names_of_texts(terminology: Terminology) -> tuple[np.ndarray, CSR]:
    """The number of the name of each text, int64 ``[T]``, and concept to the numbers of its names, ``[C]`` rows."""
    number: dict[str, int] = {}
    name_of = np.array([number.setdefault(name_key(text), len(number)) for text in terminology.strings], np.int64)
    texts = terminology.concept_texts
    concepts = np.repeat(np.arange(terminology.n_concepts), texts.counts)
    return name_of, CSR.from_pairs(concepts, name_of[texts.indices], terminology.n_concepts)


def is_of_several_concepts(name_of: np.ndarray, names: CSR) -> np.ndarray:
    """Whether the name of each text is one of several concepts, bool ``[T]``; arguments of :func:`names_of_texts`."""
    return np.bincount(names.indices, minlength=len(name_of))[name_of] > 1
