"""Options for encoding the names of an index: those that determine the vectors, and those of the computation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from st_biomed.errors import InputError, unknown_name

Dtype = Literal["float32", "float16"]
Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """Options for encoding names into the rows of the matrix.

    Attributes:
        dtype: Type of the matrix; ``float16`` takes half the space with about three digits of precision.
        bf16: Whether the encoder runs under bfloat16 autocast; ``None`` to use it if the machine supports it, or the
            earlier value for a resumed encoding.
        tokens_per_forward: Tokens of a forward pass, including padding; ``None`` for the measured value of the device.
        rows_per_commit: Names between two commits, the most that an interruption loses; with Ray, the rows of a part.
            A resumed encoding keeps its value.
        show_progress: Whether to show a progress bar; ``None`` to show it in a terminal.
        engine: ``local``, in this process, or ``ray``, on a cluster.
        workers: Number of encoders of the Ray engine.
        gpus_per_worker: GPUs of each encoder; 0 for the CPU.
        device: Device of a model that is given by name; ``None`` for the best available.
        trust_remote_code: Whether the model may run third-party code, see :func:`~st_biomed.encoder.load_model`.
        earlier: Folder of an index of the same encoder, similarity and precision, whose vectors are taken for the names
            that it has; ``bf16`` of ``None`` is then that of this index.

    Raises:
        InputError: A name that is not in its list, a number below 1 (GPUs: below 0), or an earlier index with Ray.
    """

    dtype: Dtype = "float32"
    bf16: bool | None = None
    tokens_per_forward: int | None = None
    rows_per_commit: int = 1 << 15
    show_progress: bool | None = None
    engine: Engine = "local"
    workers: int = 1
    gpus_per_worker: float = 0.0
    device: str | None = None
    trust_remote_code: bool = False
    earlier: str | Path | None = None

    def __post_init__(self) -> None:
        for name, kinds in (("dtype", Dtype), ("engine", Engine)):
            if getattr(self, name) not in get_args(kinds):
                raise unknown_name(name, getattr(self, name), get_args(kinds))
        for name in ("tokens_per_forward", "rows_per_commit", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, found {value}")
        if self.gpus_per_worker < 0:
            raise InputError(f"gpus_per_worker must be at least 0, found {self.gpus_per_worker}")
        if self.earlier is not None and not isinstance(self.earlier, str | Path):
            raise InputError(f"earlier: expected the folder of an index, found {self.earlier!r}")
        if self.earlier is not None and self.engine == "ray":
            raise InputError("earlier: the Ray engine encodes all names; use the engine local")


DEFAULTS = EncodingOptions()
