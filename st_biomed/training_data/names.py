"""Every name of a terminology once: the one dataset that synonym, hierarchy and hard-negative training share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo

from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import description


def names_dataset(terminology: Terminology) -> Dataset:
    """One row per distinct string, its text id as the label; a batch sampler chooses which rows meet.

    The strings are those of ``terminology.texts``, not a copy. For two entries of a dictionary of training sets call
    this twice: the host writes each entry's name into the dataset object it is given.

    Args:
        terminology: Where the names come from.

    Returns:
        Columns ``text`` and ``label`` (int64, row ``i`` has label ``i``); ``info.description`` is
        ``"terminology:<digest>"``.

    Example:
        >>> names = names_dataset(Terminology.read("toy"))
        >>> names.column_names, names[0]
        (['text', 'label'], {'text': 'brulpha', 'label': 0})
    """
    table = pa.table({"text": terminology.texts["text"], "label": pa.array(np.arange(terminology.n_texts))})
    # The content is known by its digest: without a fingerprint the host's library would hash every string.
    return Dataset(table, info=DatasetInfo(description=description(terminology)), fingerprint=terminology.digest[:16])
