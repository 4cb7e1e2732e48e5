"""Vectors of an earlier index: what a new release has in common with the last one is not encoded again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.manifest import Manifest
from st_biomed.linking.vectors import open_matrix


class EarlierVectors:
    """The vectors of an index for the names of a new one.

    Args:
        folder: The earlier index.
        names: The N names of the new index.
        model_sha256: Digest of the encoder of the new index.
        similarity, dtype, bf16: Of the new index.

    Raises:
        InputError: No index, a damaged one, or one of another encoder, similarity or precision.
    """

    def __init__(
        self, folder: str | Path, names: pa.Array, model_sha256: str, similarity: str, dtype: str, bf16: bool
    ) -> None:
        folder, manifest = Path(folder), earlier_manifest(folder, verify=True)
        if manifest.model_sha256 != model_sha256:
            raise InputError(
                f"earlier: {folder} is of another encoder (sha256 {manifest.model_sha256[:12]}) than the new index "
                f"({model_sha256[:12]})"
            )
        for name, value in {"similarity": similarity, "dtype": dtype, "bf16": bf16}.items():
            if (found := getattr(manifest, name)) != value:
                raise InputError(f"earlier: {folder} has {name} {found}, and the new index {value}")
        self._names = names
        self._places = pc.index_in(names, value_set=Catalog.load(folder).names).fill_null(-1).to_numpy()
        self._matrix = open_matrix(folder, manifest.shape)

    def encode(self, rows: slice, encoder: NameEncoder) -> np.ndarray:
        """The vectors of names: those of the earlier index where it has them, the others encoded.

        Args:
            rows: R rows of the names.
            encoder: Encoder of the new index.

        Returns:
            float32 ``[R, D]``.
        """
        places = self._places[rows]
        known = places >= 0
        out = np.empty((len(places), self._matrix.shape[1]), dtype=np.float32)
        out[known] = self._matrix[places[known]]
        if not known.all():
            out[~known] = encoder.encode(self._names[rows].filter(pa.array(~known)).to_pylist(), task="document")
        return out


def earlier_manifest(folder: str | Path, *, verify: bool = False) -> Manifest:
    """What an earlier index is.

    Args:
        folder: The index.
        verify: Whether to compare the checksum of the vectors in addition to their size.

    Raises:
        InputError: No index, or a damaged one.
    """
    try:
        return Manifest.read(Path(folder), verify=verify)
    except InputError as error:
        raise InputError(f"earlier: {error}") from error
