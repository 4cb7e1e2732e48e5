"""``exported.json``: the record that makes a folder an exported encoder, with the checksums of its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed import __version__
from st_biomed.encoder.transformer_files import check_inside, check_plain_path
from st_biomed.errors import InputError, unknown_name
from st_biomed.files.sealed import Seal

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

HEADER = "exported.json"
RUNTIMES = {"onnx": "onnxruntime", "openvino": "openvino"}
"""Each backend with the package that computes its graphs. The extra of this package has the name of the backend."""

TEXTS = ("README.md", "LICENSE", "LICENSE.md", "LICENSE.txt")
"""Files of an exported encoder that may be edited."""

_SEAL = Seal(HEADER, 1, "`st-biomed export`", "export the encoder again (`st-biomed export --overwrite`)")


@dataclass(frozen=True)
class Export:
    """The content of ``exported.json``.

    Attributes:
        backend: ``onnx`` or ``openvino``; also the folder of the graph.
        graph: Name of the graph's file in this folder.
        precision: ``float32``, or ``int8`` with its instruction set.
        source: The exported encoder, as the user named it; of a folder elsewhere on the machine only its name.
        source_sha256: Digest of the exported encoder.
        agreement: Cosines of its vectors with those of the exported encoder, ``mean`` and ``min``, on ``names`` terms.
        made_with: Versions of the packages that exported it.
        files: Each file of the folder but the card and the license, with its size and checksum.
    """

    backend: str
    graph: str
    precision: str
    source: str
    source_sha256: str
    agreement: Mapping[str, float] = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, folder: Path) -> Export:
        """Describe the files and write ``exported.json`` into the folder of the encoder."""
        names = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
        files = sorted(name for name in names if name not in (HEADER, *TEXTS))
        header = _SEAL.write(folder, {"version": __version__, **asdict(self)}, files)
        return replace(self, files=header["files"])

    @classmethod
    def read(cls, folder: Path) -> Export | None:
        """The record of an exported encoder, after a check of its files; nothing for another folder.

        Raises:
            InputError: The record is damaged, or a file is missing, truncated, changed or not listed.
        """
        path = folder / HEADER
        if not path.is_file():
            return None
        header = _SEAL.read(folder)
        try:
            export = cls(**{name: value for name, value in header.items() if name not in ("format", "version")})
        except TypeError as error:
            raise InputError(f"{path}: damaged ({error}); {_SEAL.remedy}") from error
        if export.backend not in RUNTIMES:
            raise unknown_name(f"backend of {path}", export.backend, RUNTIMES)
        check_plain_path(path, export.graph)
        for name in export.files:
            check_inside(path, name)
        _SEAL.check(folder, header, dict.fromkeys((export.graph_file, *export.files)))
        for file in (folder / export.backend).iterdir():
            if f"{export.backend}/{file.name}" not in export.files:  # a graph may read files beside it
                raise InputError(f"{file}: is not listed in {HEADER}; {_SEAL.remedy}")
        return export

    @property
    def graph_file(self) -> str:
        """Path of the graph in the folder."""
        return f"{self.backend}/{self.graph}"


def export_of(model: SentenceTransformer) -> Export | None:
    """The record of a loaded encoder; nothing if torch computes it."""
    return getattr(model[0], "export", None)
