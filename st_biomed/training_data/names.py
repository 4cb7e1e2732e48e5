"""Every name of a terminology once: the shared dataset of synonym, hierarchy and hard-negative training."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo

from st_biomed.errors import InputError, check_instance
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import description


def names_dataset(terminology: Terminology, texts: np.ndarray | None = None) -> Dataset:
    """One row per distinct string, with its text id as the label; a batch sampler combines the rows.

    The strings are those of ``terminology.texts``, not a copy. Call this function once for each entry of a dictionary
    of training sets, because sentence-transformers writes the entry's name into the dataset object.

    Args:
        texts: Whether each text has a row, boolean ``[T]``; all by default.

    Raises:
        InputError: ``terminology`` is none, or ``texts`` is no boolean array ``[T]``.

    Returns:
        Columns ``text`` and ``label`` (int64; of all names, row ``i`` has label ``i``); ``info.description`` is
        ``"terminology:<digest>"``.

    Example:
        >>> names = names_dataset(Terminology.read("toy"))
        >>> names.column_names, names[0]
        (['text', 'label'], {'text': 'brulpha', 'label': 0})
    """
    check_instance("terminology", terminology, Terminology)
    table = pa.table({"text": terminology.texts["text"], "label": pa.array(np.arange(terminology.n_texts))})
    # The content is known by its digest: without a fingerprint datasets would hash every string.
    fingerprint = terminology.digest[:16]
    if texts is not None:
        given = np.asarray(texts)
        if given.dtype != np.bool_ or given.shape != (terminology.n_texts,):
            raise InputError(
                f"texts must be a boolean array [{terminology.n_texts}], found {given.dtype} {list(given.shape)}"
            )
        table = table.filter(pa.array(texts))
        fingerprint = hashlib.sha256(fingerprint.encode() + np.packbits(texts).tobytes()).hexdigest()[:16]
    return Dataset(table, info=DatasetInfo(description=description(terminology)), fingerprint=fingerprint)
