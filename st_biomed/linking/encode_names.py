"""The matrix of an index: every name of a catalog is encoded once, on this machine or by Ray. Resumable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from st_biomed.errors import InputError
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.earlier import EarlierVectors, earlier_manifest
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.manifest import PARTS
from st_biomed.linking.pair_scores import Similarity
from st_biomed.linking.settings import EncodingOptions
from st_biomed.linking.vector_index import rows_for_search
from st_biomed.linking.vectors import ResumableMatrix, open_matrix, read_progress


def resumed_options(
    folder: Path, options: EncodingOptions, catalog: Catalog, model_sha256: str, *, anew: bool
) -> EncodingOptions:
    """The options, with the precision and the blocks of an interrupted encoding of the same index.

    Without one, the precision is that of an earlier index.

    Args:
        folder: Folder of the index during the build.
        options: The other options of the encoding.
        catalog, model_sha256: The names, and the digest of the model.
        anew: Whether to ignore a damaged record of it.

    Raises:
        InputError: The record of the interrupted encoding is damaged, or there is no earlier index.
    """
    begun = read_progress(folder, anew=anew)
    digests = {"model_sha256": model_sha256, "catalog_sha256": catalog.digest}
    if begun is None or any(begun.settings.get(key) != value for key, value in digests.items()):
        if options.earlier is not None and options.bf16 is None:
            return replace(options, bf16=earlier_manifest(options.earlier).bf16)
        return options
    bf16 = begun.settings.get("bf16") if options.bf16 is None else options.bf16
    return replace(options, bf16=bf16, rows_per_commit=begun.settings["rows_per_commit"])


def encode_names(
    folder: Path,
    catalog: Catalog,
    encoder: NameEncoder,
    model_sha256: str,
    similarity: Similarity,
    options: EncodingOptions,
    *,
    anew: bool = False,
) -> np.ndarray:
    """Encode the missing rows of the matrix in a folder.

    Args:
        folder: Folder of the index during the build.
        catalog: The names.
        encoder: The model and its precision.
        model_sha256: Digest of the model; an encoding of another model is not resumed.
        similarity: Determines whether rows have unit length.
        options: The other options.
        anew: Whether to remove an encoding with other settings.

    Returns:
        ``[N, D]``, memory-mapped.

    Raises:
        InputError: An encoding with other settings, an earlier index of another encoder or precision, or a vector that
            is not finite.
    """
    earlier = None
    if options.earlier is not None:
        precision = options.dtype, encoder.bf16
        earlier = EarlierVectors(options.earlier, catalog.names, model_sha256, similarity, *precision)
    dimension = encoder.encode(catalog.texts(slice(0, 1)), task="document").shape[1]
    settings = {
        "model_sha256": model_sha256,
        "catalog_sha256": catalog.digest,
        "similarity": similarity,
        "bf16": encoder.bf16,
        "rows_per_commit": options.rows_per_commit,
    }
    matrix = ResumableMatrix(folder, (len(catalog), dimension), options.dtype, settings, anew=anew)
    if options.engine == "ray":
        from st_biomed.linking.ray_engine import ray_blocks

        blocks = ray_blocks(folder / PARTS, catalog, encoder, model_sha256, options, start=matrix.done)
    else:
        blocks = _local_blocks(catalog, encoder, options.rows_per_commit, start=matrix.done, earlier=earlier)
    with tqdm(
        total=len(catalog),
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
                name = catalog.texts(np.array([matrix.done + int(broken.argmax())]))[0]
                raise InputError(f"the model returns NaN or infinity for {name!r}; no index was built")
            matrix.append(rows_for_search(block, similarity))
            bar.update(len(block))
    return open_matrix(folder, matrix.shape)


def _local_blocks(
    catalog: Catalog, encoder: NameEncoder, rows: int, *, start: int, earlier: EarlierVectors | None
) -> Iterator[np.ndarray]:
    for begin in range(start, len(catalog), rows):
        block = slice(begin, begin + rows)
        if earlier is None:
            yield encoder.encode(catalog.texts(block), task="document")
        else:
            yield earlier.encode(block, encoder)
