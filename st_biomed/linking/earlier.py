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
    """The vectors of an index, by name.

    Args:
        folder: The index.
        model_sha256: Digest of the encoder of the new index.
        similarity, dtype, bf16: Of the new index.

    Raises:
        InputError: No index, a damaged one, or one of another encoder, similarity or precision.
    """

    def __init__(self, folder: str | Path, model_sha256: str, similarity: str, dtype: str, bf16: bool) -> None:
        folder = Path(folder)
        manifest = Manifest.read(folder, verify=True)
        if manifest.model_sha256 != model_sha256:
            raise InputError(
                f"earlier: {folder} is of another encoder (sha256 {manifest.model_sha256[:12]}) than the new index "
                f"({model_sha256[:12]})"
            )
        for name, value in {"similarity": similarity, "dtype": dtype, "bf16": bf16}.items():
            if (found := getattr(manifest, name)) != value:
                raise InputError(f"earlier: {folder} has {name} {found}, and the new index {value}")
        self._names = Catalog.load(folder).names
        self._matrix = open_matrix(folder, manifest.shape)

    def encode(self, names: pa.Array, encoder: NameEncoder) -> np.ndarray:
        """The vectors of names: those of the earlier index where it has them, the others encoded.

        Args:
            names: R names.
            encoder: Encoder of the new index.

        Returns:
            float32 ``[R, D]``.
        """
        places = pc.index_in(names, value_set=self._names)
        new = places.is_null().to_numpy(zero_copy_only=False)
        out = np.empty((len(names), self._matrix.shape[1]), dtype=np.float32)
        out[~new] = self._matrix[places.drop_null().to_numpy()]
        if new.any():
            out[new] = encoder.encode(names.filter(pa.array(new)).to_pylist(), task="document")
        return out
