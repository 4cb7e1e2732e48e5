"""Every name and every definition of a terminology once, for training that brings the two together."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import description


def definitions_dataset(terminology: Terminology) -> Dataset:
    """The rows of :func:`~st_biomed.training_data.names.names_dataset`, then one row per definition.

    A :class:`~st_biomed.samplers.definitions.DefinitionBatchSampler` chooses which rows meet, and a loss knows the labels
    by its ``lookup=DefinitionLookup(terminology)``.

    Returns:
        Columns ``text`` and ``label`` (int64, row ``i`` has label ``i``): a text id, or ``n_texts`` + the row of
        ``terminology.definitions``; ``info.description`` is ``"terminology:<digest>"``.

    Raises:
        InputError: The terminology has no definition.

    Example:
        >>> toy = Terminology.read("toy", definitions=True)
        >>> definitions_dataset(toy)[toy.n_texts]["text"]
        'A condition in which the flumpa makes too much or too little of its juice.'
    """
    if not terminology.n_definitions:
        raise InputError(f"no definitions: {terminology!r} has none")
    texts = [*terminology.texts["text"].chunks, *terminology.definitions["text"].chunks]
    n_rows = terminology.n_texts + terminology.n_definitions
    table = pa.table({"text": pa.chunked_array(texts), "label": pa.array(np.arange(n_rows))})
    fingerprint = hashlib.sha256(f"names and definitions of {terminology.digest}".encode()).hexdigest()
    return Dataset(table, info=DatasetInfo(description=description(terminology)), fingerprint=fingerprint[:16])
