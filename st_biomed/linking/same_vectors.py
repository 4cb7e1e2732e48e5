"""Whether an exported encoder may serve an index whose names its encoder has encoded: measured on the index's own names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError, shown
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.pair_scores import Similarity
from st_biomed.linking.vector_index import rows_for_search

NAMES = 128
"""Names that are compared, at equal distances in the index."""

MOST = 0.03
"""Largest distance of two vectors of a name, relative to the length of the stored one. At cosine .99955 it is .03.

Float32 graphs and bfloat16 autocast stay below .01 (the least cosine is 1.0000), int8 graphs have .13 on average and .2 at
most (``benchmarks/results/serving.md``).
"""


def check_same_vectors(
    folder: Path,
    encoder: NameEncoder,
    matrix: np.ndarray,
    texts: Callable[[np.ndarray], list[str]],
    similarity: Similarity,
) -> None:
    """Compare the stored vectors of some names with those of an encoder.

    Args:
        folder: The index, for the message.
        encoder: The encoder.
        matrix: Stored vectors ``[N, D]``.
        texts: Row numbers to names.
        similarity: Similarity of the index.

    Raises:
        InputError: The dimensions differ, or the vectors of a name do.
    """
    rows = np.unique(np.linspace(0, len(matrix) - 1, NAMES).astype(np.int64))
    names = texts(rows)
    vectors = rows_for_search(encoder.encode(names, task="document"), similarity)
    again = "build the index again with the exported encoder"
    if vectors.shape[1] != matrix.shape[1]:
        raise InputError(f"{folder}: has {matrix.shape[1]} dimensions, the export {vectors.shape[1]}; {again}")
    stored = np.asarray(matrix[rows], dtype=np.float32)
    apart = np.linalg.norm(vectors - stored, axis=1) / np.maximum(np.linalg.norm(stored, axis=1), 1e-12)
    if not (worst := float(apart.max())) <= MOST:
        name = names[int(apart.argmax())]
        raise InputError(
            f"{folder}: the exported encoder gives other vectors than the encoder of the index (of {shown(name)}, "
            f"{worst:.3f} apart, at most {MOST} is allowed); {again}"
        )
