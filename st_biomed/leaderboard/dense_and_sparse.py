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

    The sparse part has the tf-idf weights of characters and pairs of characters of scikit-learn's vectorizer. It is
    fitted on the names of the dictionary, as in BioSyn's code; the pickled vectorizer is not read.

    Args:
        dense: Function from N texts to vectors ``[N, D]``.
        weight: Weight of the sparse part.

    Raises:
        InputError: A negative weight, or no names.
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
    """The weight that was trained for a BioSyn model, from its folder or the Hub.

    Raises:
        InputError: There is no weight, or it cannot be loaded.
    """
    import torch
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    path = Path(model) / WEIGHT
    if not Path(model).is_dir():
        try:
            path = Path(hf_hub_download(model, WEIGHT))
        except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
            raise InputError(f"{model}: {WEIGHT} cannot be loaded: {str(error).splitlines()[0]}") from error
    if not path.is_file():
        raise InputError(f"{path}: no such file; a BioSyn model has it beside its weights")
    try:
        return float(torch.load(path, map_location="cpu", weights_only=True).detach())
    except Exception as error:
        raise InputError(f"{path}: does not contain a single number ({type(error).__name__})") from error
