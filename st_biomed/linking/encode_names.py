"""The matrix of an index: every name of a catalogue encoded once, on this machine or by Ray, and resumable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from st_biomed.errors import InputError
from st_biomed.linking.catalogue import Catalogue
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.manifest import PARTS
from st_biomed.linking.settings import EncodingOptions
from st_biomed.linking.vector_index import Similarity, unit_rows
from st_biomed.linking.vectors import ResumableMatrix, open_matrix


def encode_names(
    folder: Path,
    catalogue: Catalogue,
    encoder: NameEncoder,
    model_sha256: str,
    similarity: Similarity,
    options: EncodingOptions,
) -> np.ndarray:
    """Encode what is missing of the matrix in a folder.

    Args:
        folder: Of the index.
        catalogue: The names.
        encoder: The model and its precision.
        model_sha256: Its digest; an encoding that another model began is not resumed.
        similarity: Decides whether rows have unit length.
        options: The rest.

    Returns:
        ``[N, D]``, memory-mapped.

    Raises:
        InputError: An encoding begun with something else, or a vector that is not finite.
    """
    dimension = encoder.encode(catalogue.texts(slice(0, 1)), task="document").shape[1]
    settings = {
        "model_sha256": model_sha256,
        "catalogue_sha256": catalogue.digest,
        "similarity": similarity,
        "bf16": encoder.bf16,
        "rows_per_commit": options.rows_per_commit,
    }
    matrix = ResumableMatrix(folder, (len(catalogue), dimension), options.dtype, settings)
    if options.engine == "ray":
        from st_biomed.linking.ray_engine import ray_blocks

        blocks = ray_blocks(folder / PARTS, catalogue, encoder, model_sha256, options, start=matrix.done)
    else:
        blocks = _local_blocks(catalogue, encoder, options.rows_per_commit, start=matrix.done)
    with tqdm(
        total=len(catalogue),
        initial=matrix.done,
        desc="encode",
        unit="name",
        unit_scale=True,
        disable=None if options.show_progress is None else not options.show_progress,
        mininterval=0.5 if sys.stderr.isatty() else 30,
        leave=False,
    ) as bar:
        for block in blocks:
            broken = ~np.isfinite(block.sum(axis=1, dtype=np.float64))
            if broken.any():
                name = catalogue.texts(np.array([matrix.done + int(broken.argmax())]))[0]
                raise InputError(f"the model gives {name!r} a vector with NaN or infinity; no index is built from it")
            matrix.append(unit_rows(block, similarity))
            bar.update(len(block))
    return open_matrix(folder, matrix.shape)


def _local_blocks(catalogue: Catalogue, encoder: NameEncoder, rows: int, *, start: int) -> Iterator[np.ndarray]:
    for begin in range(start, len(catalogue), rows):
        yield encoder.encode(catalogue.texts(slice(begin, begin + rows)), task="document")
