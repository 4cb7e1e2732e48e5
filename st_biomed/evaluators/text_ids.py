"""The texts of a terminology that an evaluator measures."""

from __future__ import annotations

import numpy as np

from st_biomed.errors import InputError


def text_ids(texts: np.ndarray | None, n_texts: int) -> np.ndarray:
    """Sorted distinct text ids from ids, a mask or nothing.

    Args:
        texts: Text ids, a mask ``[T]``, or ``None`` for all.
        n_texts: T.

    Returns:
        int64 ``[N]``.

    Raises:
        InputError: Neither ids of texts nor a mask of them.
    """
    if texts is None:
        return np.arange(n_texts)
    texts = np.asarray(texts)
    if texts.dtype == bool and texts.shape == (n_texts,):
        return np.flatnonzero(texts)
    if texts.dtype.kind in "iu" and texts.ndim == 1 and (not len(texts) or 0 <= texts.min() <= texts.max() < n_texts):
        return np.unique(texts).astype(np.int64)
    raise InputError(f"texts: expected ids from 0 to {n_texts - 1} or a mask [{n_texts}], found others")
