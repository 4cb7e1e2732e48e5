"""Encode the names of an index with Ray Data, from Parquet parts of the catalog to Parquet parts of vectors.

All processes share a file system with the parts and a copy of the model. A part with complete vectors is not encoded
again, so an interrupted job can continue.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.files import replacing_file
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.settings import EncodingOptions

if TYPE_CHECKING:
    from types import ModuleType


class PartEncoder:
    """An actor that loads the model once and turns tables of names into tables of vectors.

    Args:
        model: Folder of the saved model.
        sha256: The required digest of the model.
        truncate_dim: Dimension of the vectors, which a saved model does not record.
        bf16, tokens_per_forward: See :class:`~st_biomed.linking.encoding.NameEncoder`.
        device: Device of the model; ``None`` for the best available.
        trust_remote_code: Whether the model may run third-party code, as in the saved model.

    Raises:
        InputError: The saved model differs from the given model.
    """

    def __init__(
        self,
        model: str,
        sha256: str,
        truncate_dim: int | None,
        bf16: bool,
        tokens_per_forward: int | None,
        device: str | None,
        trust_remote_code: bool = False,
    ) -> None:
        from st_biomed.encoder import load_encoder

        loaded = load_encoder(model, device=device, trust_remote_code=trust_remote_code)
        loaded.truncate_dim = truncate_dim
        if model_digest(loaded) != sha256:
            raise InputError("engine 'ray': the model changes when it is saved and loaded; use engine 'local'")
        self._encoder = NameEncoder(loaded, bf16=bf16, tokens_per_forward=tokens_per_forward)

    def __call__(self, names: pa.Table) -> pa.Table:
        """``part, row, name`` to ``part, row, vector``."""
        vectors = self._encoder.encode(names["name"].to_pylist(), task="document")
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        return names.drop_columns("name").append_column("vector", column)


def ray_blocks(
    folder: Path,
    catalog: Catalog,
    encoder: NameEncoder,
    model_sha256: str,
    options: EncodingOptions,
    *,
    start: int,
) -> Iterator[np.ndarray]:
    """The vectors of the names from row ``start`` on, part by part; missing parts are encoded.

    Args:
        folder: Folder of the parts and the model, visible to every worker.
        catalog: The names.
        encoder: The model and its precision.
        model_sha256: Its digest.
        options: Rows per part, workers, and their GPUs.
        start: The first row; a multiple of the rows per part.

    Raises:
        InputError: Ray is not installed, or parts are missing after the run.
    """
    ray = _imported()
    starts = range(start, len(catalog), options.rows_per_commit)
    sizes = {begin // options.rows_per_commit: min(options.rows_per_commit, len(catalog) - begin) for begin in starts}
    missing = [part for part, size in sizes.items() if not _is_whole(folder, part, size)]
    if missing:
        for part in missing:
            shutil.rmtree(_vectors_of(folder, part), ignore_errors=True)  # of a write that was cut off
            _write_names(folder, part, catalog, options.rows_per_commit)
        _run(ray, folder, missing, encoder, model_sha256, options)
        lost = [part for part in missing if not _is_whole(folder, part, sizes[part])]
        if lost:
            raise InputError(
                f"{folder}: {len(lost):,} of {len(sizes):,} parts are missing after the run; run it again"
            )
    for part in sizes:
        yield _read_vectors(folder, part)


def _imported() -> ModuleType:
    try:
        import ray.data
    except ImportError as error:
        raise InputError("engine 'ray' needs Ray Data: pip install 'st-biomed[ray]'") from error
    return ray


def _run(
    ray: Any, folder: Path, parts: list[int], encoder: NameEncoder, sha256: str, options: EncodingOptions
) -> None:
    """One job over all missing parts, with as many actors as there are workers."""
    model = folder / "model"
    if not (model / "modules.json").is_file():
        encoder.model.save_pretrained(str(model), create_model_card=False)
    device = None if options.gpus_per_worker else options.device or "cpu"
    names = ray.data.read_parquet([str(_names_of(folder, part)) for part in parts])
    vectors = names.map_batches(
        PartEncoder,
        batch_format="pyarrow",
        batch_size=options.rows_per_commit,
        compute=ray.data.ActorPoolStrategy(size=options.workers),
        num_gpus=options.gpus_per_worker,
        fn_constructor_args=(
            str(model.resolve()),
            sha256,
            encoder.model.truncate_dim,
            encoder.bf16,
            options.tokens_per_forward,
            device,
            encoder.model.trust_remote_code,
        ),
    )
    vectors.write_parquet(str((folder / "vectors").resolve()), partition_cols=["part"], mode="append")


def _names_of(folder: Path, part: int) -> Path:
    return (folder / "names" / f"{part:06}.parquet").resolve()


def _vectors_of(folder: Path, part: int) -> Path:
    return folder / "vectors" / f"part={part}"


def _write_names(folder: Path, part: int, catalog: Catalog, rows: int) -> None:
    path = _names_of(folder, part)
    path.parent.mkdir(parents=True, exist_ok=True)
    names = catalog.texts(slice(part * rows, (part + 1) * rows))
    table = pa.table(
        {
            "part": np.full(len(names), part),
            "row": np.arange(part * rows, part * rows + len(names)),
            "name": pa.array(names, pa.large_string()),
        }
    )
    with replacing_file(path) as draft:
        pq.write_table(table, draft)


def _is_whole(folder: Path, part: int, size: int) -> bool:
    """Whether every row of a part is there once; a file that was cut off is not Parquet."""
    files = sorted(_vectors_of(folder, part).glob("*.parquet"))
    try:
        rows = [pq.ParquetFile(file).read(["row"])["row"].to_numpy() for file in files]
    except (OSError, pa.ArrowInvalid):
        return False
    found = np.sort(np.concatenate(rows)) if rows else np.zeros(0)
    return len(found) == size and bool((np.diff(found) == 1).all())


def _read_vectors(folder: Path, part: int) -> np.ndarray:
    """float32 ``[R, D]`` in the order of the rows."""
    files = sorted(_vectors_of(folder, part).glob("*.parquet"))
    table = pa.concat_tables(pq.ParquetFile(file).read(["row", "vector"]) for file in files).sort_by("row")
    vectors = table["vector"].combine_chunks()
    return vectors.flatten().to_numpy().reshape(len(vectors), -1).astype(np.float32, copy=False)
