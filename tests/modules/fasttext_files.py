"""Files of word vectors, written by hand after the layout that fastText's source gives."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

WORDS = ["</s>", "flu", "glorp", "naïve"]
BUCKETS = 50


def fasttext_bytes(
    matrix: np.ndarray,
    words: Sequence[str | bytes] = WORDS,
    labels: Sequence[str] = (),
    *,
    buckets: int = BUCKETS,
    shortest: int = 2,
    longest: int = 3,
    version: int = 12,
    model: int = 2,
    pruned: int = -1,
    quantized: bool = False,
) -> bytes:
    """Header, arguments, dictionary, input matrix; an output matrix of two numbers, which nobody reads."""
    dimension = matrix.shape[1]
    parts = [struct.pack("<ii", 793712314, version)]
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate; t
    parts.append(struct.pack("<12id", dimension, 5, 5, 1, 5, 1, 2, model, buckets, shortest, longest, 100, 1e-4))
    parts.append(struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), 99, pruned))
    for entry in [*words, *labels]:
        text = entry if isinstance(entry, bytes) else entry.encode()
        parts.append(text + b"\0" + struct.pack("<qb", 9, int(entry in labels)))
    parts.append(struct.pack("<?2q", quantized, *matrix.shape) + matrix.astype("<f4").tobytes())
    parts.append(struct.pack("<?2q2f", False, 1, 2, 0.5, 0.5))
    return b"".join(parts)


def random_matrix(rows: int = len(WORDS) + BUCKETS, width: int = 3) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(rows, width)).astype(np.float32)


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
