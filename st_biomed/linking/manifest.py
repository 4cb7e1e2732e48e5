"""``index.json``: what an index is made of, and size and SHA-256 of each of its files. It is written last."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.linking.catalogue import CONCEPTS, NAMES
from st_biomed.linking.vectors import MATRIX, PROGRESS, read_progress, write_json
from st_biomed.readers.records import SourceInfo

HEADER, GRAPH, PARTS = "index.json", "vectors.faiss", "parts"
FORMAT = 1
_REBUILD = "build the index again (`st-biomed index --overwrite`)"


@dataclass(frozen=True)
class Manifest:
    """The content of ``index.json``.

    Attributes:
        kind, similarity, effort, depth: Of :class:`~st_biomed.linking.vector_index.VectorIndex`.
        names, concepts, dimension: N, C and D.
        dtype: Type of the matrix.
        bf16: Whether the names were encoded under bfloat16 autocast.
        model: Folder or id the encoder was loaded from; empty where it was given as an object.
        model_sha256: Its digest.
        catalogue_sha256: Digest of names, concepts, labels and types.
        recall: What was measured at build.
        sources: Where the names come from and under which licence.
        files: Name of each other file to its ``bytes`` and ``sha256``.
    """

    kind: str
    similarity: str
    effort: int
    depth: int
    names: int
    concepts: int
    dimension: int
    dtype: str
    bf16: bool
    model: str
    model_sha256: str
    catalogue_sha256: str
    recall: Mapping[str, Any]
    sources: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, folder: Path) -> Manifest:
        """Describe the files of the folder and make the index whole by writing ``index.json``."""
        there = [name for name in (NAMES, CONCEPTS, MATRIX, GRAPH) if (folder / name).is_file()]
        files = {name: {"bytes": (folder / name).stat().st_size, "sha256": _sha256(folder / name)} for name in there}
        content = {"format": FORMAT, "version": __version__, **asdict(self), "files": files}
        write_json(folder / HEADER, content)
        return Manifest(**{**asdict(self), "files": files})

    @classmethod
    def read(cls, folder: Path, *, verify: bool) -> Manifest:
        """Read ``index.json`` and check that the files are those it describes.

        Args:
            folder: The index.
            verify: Whether to compare their SHA-256 as well as their sizes.

        Raises:
            InputError: No index there, one whose encoding was interrupted, another format, or a file that is missing,
                truncated or changed.
        """
        path = folder / HEADER
        if not path.is_file():
            raise InputError(f"{folder}: {_absent(folder)}")
        try:
            content = json.loads(path.read_text("utf-8"))
            if content.pop("format") != FORMAT:
                raise InputError(f"{path}: is of another format than {FORMAT}, the one this version reads; {_REBUILD}")
            content.pop("version")
            manifest = cls(**content)
            expected = {name: (int(file["bytes"]), str(file["sha256"])) for name, file in manifest.files.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: damaged ({type(error).__name__}); {_REBUILD}") from error
        for name, (size, digest) in expected.items():
            file = folder / name
            if not file.is_file():
                raise InputError(f"{file}: is missing; {_REBUILD}")
            if (found := file.stat().st_size) != size:
                what = "truncated" if found < size else "changed"
                raise InputError(f"{file}: {what}, has {found:,} bytes and had {size:,}; {_REBUILD}")
            if verify and _sha256(file) != digest:
                raise InputError(f"{file}: changed since the index was built (its sha256 is another); {_REBUILD}")
        return manifest

    @property
    def shape(self) -> tuple[int, int]:
        return self.names, self.dimension

    @property
    def source_infos(self) -> Iterator[SourceInfo]:
        return (SourceInfo(**source) for source in self.sources)


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that no index can be built in: it has to be new or empty, or to hold an encoding that goes on.

    Args:
        folder: The folder.
        overwrite: Whether it may hold an index.

    Raises:
        InputError: It is a file, or holds something else, or an index that is not to be overwritten.
    """
    if folder.is_file():
        raise InputError(f"{folder}: is a file, a folder for the index is needed")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / HEADER).is_file() and not (folder / PROGRESS).is_file():
            raise InputError(f"{folder}: holds files that are not an index; choose an empty folder")
        if (folder / HEADER).is_file() and not overwrite:
            raise InputError(f"{folder}: holds an index already; --overwrite replaces it")


def free_folder(folder: Path, *, overwrite: bool) -> Path:
    """The folder, made where it is not there; with ``overwrite`` what was built or begun in it is removed.

    Raises:
        InputError: See :func:`check_free`.
    """
    check_free(folder, overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    if overwrite:
        for name in (HEADER, PROGRESS, NAMES, CONCEPTS, MATRIX, GRAPH):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / PARTS, ignore_errors=True)
    return folder


def _absent(folder: Path) -> str:
    begun = read_progress(folder)
    if begun is not None:
        done, rows = begun["done"], begun["settings"].get("rows", 0)
        return f"encoding was interrupted at {done:,} of {rows:,} names; run the same build again and it goes on there"
    what = "no such folder" if not folder.exists() else f"no {HEADER} in it"
    return f"{what}; expected a folder written by ConceptIndex.build or `st-biomed index`"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
