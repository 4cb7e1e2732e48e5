"""``index.json``: the description of an index, with size and checksum of each of its files. It is written last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.files import begun_in, check_output
from st_biomed.files.sealed import Seal
from st_biomed.linking.catalog import TABLES
from st_biomed.linking.vectors import MATRIX, PROGRESS, read_progress
from st_biomed.records import SourceInfo

HEADER, FAISS_FILE, PARTS = "index.json", "vectors.faiss", "parts"
_SEAL = Seal(
    HEADER, 3, "ConceptIndex.build or `st-biomed index`", "build the index again (`st-biomed index --overwrite`)"
)


@dataclass(frozen=True)
class Manifest:
    """The content of ``index.json``.

    Attributes:
        kind, similarity, effort, depth: Arguments of :class:`~st_biomed.linking.vector_index.VectorIndex`.
        names, concepts, dimension: N, C and D.
        dtype: Type of the matrix.
        bf16: Whether the names were encoded under bfloat16 autocast.
        model: Folder or id of the encoder; empty if it was given as an object.
        model_sha256: Its digest.
        catalog_sha256: Digest of names, concepts, labels, types, parents and origins.
        recall: The recall measured at build time.
        sources: Sources of the names, and their licenses.
        files: Name of each other file to its size and checksum.
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
    catalog_sha256: str
    recall: Mapping[str, Any]
    sources: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, folder: Path) -> Manifest:
        """Describe the files of the folder and complete the index by writing ``index.json``."""
        header = _SEAL.write(folder, {"version": __version__, **asdict(self)}, self.needed)
        return replace(self, files=header["files"])

    @classmethod
    def read(cls, folder: Path, *, verify: bool) -> Manifest:
        """Read ``index.json`` and check the files against it.

        Args:
            folder: The index.
            verify: Whether to compare the checksums of the matrix and of the FAISS file in addition to their sizes.

        Raises:
            InputError: No index, an interrupted encoding, another format, or a missing, truncated or changed file.
        """
        if not (folder / HEADER).is_file() and (begun := read_progress(begun_in(folder))) is not None:
            raise InputError(
                f"{folder}: encoding was interrupted at {begun.done:,} of {begun.settings.get('rows', 0):,} names; run the "
                "same build again to continue"
            )
        header = _SEAL.read(folder)
        try:
            manifest = cls(**{name: value for name, value in header.items() if name not in ("format", "version")})
        except TypeError as error:
            raise InputError(f"{folder / HEADER}: damaged ({error}); {_SEAL.remedy}") from error
        for name in manifest.needed:
            _SEAL.check(folder, header, [name], sizes_only=not verify and name in (MATRIX, FAISS_FILE))
        return manifest

    @property
    def needed(self) -> list[str]:
        """The files of an index of this kind."""
        return [*TABLES, MATRIX, *([] if self.kind == "exact" else [FAISS_FILE])]

    @property
    def shape(self) -> tuple[int, int]:
        return self.names, self.dimension

    @property
    def source_infos(self) -> Iterator[SourceInfo]:
        return (SourceInfo(**source) for source in self.sources)


def check_folder(folder: Path, *, overwrite: bool) -> Path:
    """Check the output folder of an index: new or empty, or with an index to overwrite.

    Raises:
        InputError: See :func:`~st_biomed.files.check_output`.
    """
    own = {HEADER, PROGRESS, *TABLES, MATRIX, FAISS_FILE}
    return check_output(folder, what="an index", is_own=own.__contains__, marker=HEADER, overwrite=overwrite)
