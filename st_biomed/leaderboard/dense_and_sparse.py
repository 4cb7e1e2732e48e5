"""BioSyn's score: the inner product of dense vectors plus a weight times that of character n-grams (Sung et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed

WEIGHT = "sparse_weight.pt"


def dense_and_sparse(dense: Embed, names: Sequence[str], weight: float) -> Embed:
    """Vectors whose inner product is BioSyn's score (section 3.1: ``S_dense + weight * S_sparse``).

    The sparse part are tf-idf weights of characters and pairs of characters, as scikit-learn's vectorizer has them,
    fitted on the names of the dictionary as in BioSyn's code: its pickled vectorizer is not read.

    Args:
        dense: From N texts to ``[N, D]``.
        names: Names of the dictionary.
        weight: Of the sparse part.

    Raises:
        InputError: A negative weight, or no name.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if weight < 0:
        raise InputError(f"sparse weight must be at least 0, found {weight}")
    if not names:
        raise InputError("names: expected those of a dictionary, found none")
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), dtype=np.float32).fit(names)

    def embed(texts: Sequence[str]) -> np.ndarray:
        sparse = vectorizer.transform(texts).toarray() * np.float32(np.sqrt(weight))
        return np.concatenate([np.asarray(dense(texts), dtype=np.float32), sparse], axis=1)

    return embed


def read_sparse_weight(model: str) -> float:
    """The weight that a BioSyn model was trained to, from its folder or the Hub.

    Raises:
        InputError: It has none, or it cannot be had.
    """
    import torch
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    path = Path(model) / WEIGHT
    if not Path(model).is_dir():
        try:
            path = Path(hf_hub_download(model, WEIGHT))
        except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
            raise InputError(f"{model}: {WEIGHT} cannot be had: {str(error).splitlines()[0]}") from error
    if not path.is_file():
        raise InputError(f"{path}: no such file, which a BioSyn model has beside its weights")
    try:
        return float(torch.load(path, map_location="cpu", weights_only=True).detach())
    except Exception as error:
        raise InputError(f"{path}: holds no single number ({type(error).__name__})") from error
