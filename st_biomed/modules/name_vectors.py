"""A frozen encoder as a table: the vector of each name is computed once and looked up in training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from sentence_transformers.base.modules import InputModule
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.modules.hub_arguments import hub_arguments

_NAMES = "names.json"


class NameVectors(InputModule):
    """An input module that maps the names of a list to given vectors.

    It is the first module of a model in training::

        NameVectors(names, encoder.encode(names))

    After training, the trained modules are appended to the encoder itself, which embeds any name. The table stays on
    the CPU; the vectors of a batch are moved to the model's device. A saved model contains all names, in
    ``names.json``.

    Args:
        names: Distinct strings, in the form of the lookup.
        vectors: ``[n, D]`` in the order of ``names``; stored as float32.

    Attributes:
        names: The names, in the given order.
        vectors: float32 ``[n, D]``; not a parameter, and therefore not trained.

    Raises:
        InputError: No name, a repeated name or one that is not a string, a different number of vectors, NaN or
            infinity, or a zero vector, which has no direction (a word encoder returns it for a name without known
            words).
    """

    save_in_root = True

    def __init__(self, names: Sequence[str], vectors: np.ndarray | Tensor) -> None:
        super().__init__()
        self.names = list(names)
        self.vectors = torch.as_tensor(vectors).detach().to(device="cpu", dtype=torch.float32, copy=True)
        self._row: dict[str, int] = {}
        for row, name in enumerate(self.names):
            if not isinstance(name, str):
                raise InputError(f"names: entry {row + 1} must be a string, found {name!r}")
            if self._row.setdefault(name, row) != row:
                raise InputError(f"names: {name!r} occurs twice, as entries {self._row[name] + 1} and {row + 1}")
        self._check_vectors()

    def _check_vectors(self) -> None:
        shape = list(self.vectors.shape)
        if not self.names or len(shape) != 2 or shape[0] != len(self.names) or not shape[1]:
            raise InputError(f"vectors: expected [{len(self.names)}, D] for as many names, found shape {shape}")
        for rows, what in (
            (~self.vectors.isfinite().all(dim=1), "NaN or infinity"),
            (~self.vectors.any(dim=1), "zeros alone, which have no direction; leave the name out"),
        ):
            if rows.any():
                first = self.names[int(rows.int().argmax())]
                raise InputError(f"vectors: {int(rows.sum()):,} of {len(rows):,} have {what}, the first of {first!r}")

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Tensor]:
        """Look names up.

        Args:
            inputs: B names.
            prompt: Prefix of each name; the names in the table must include it.

        Returns:
            ``sentence_embedding``, float32 ``[B, D]`` on the CPU; copies, so no module can write into the table.

        Raises:
            InputError: With the name that is not in the table.
        """
        names = [prompt + name for name in inputs] if prompt else list(inputs)
        try:
            rows = [self._row[name] for name in names]
        except (KeyError, TypeError):
            unknown = next(name for name in names if not isinstance(name, str) or name not in self._row)
            raise InputError(
                f"no vector for {unknown!r}: it is not among the {len(self.names):,} names of the table"
            ) from None
        return {"sentence_embedding": self.vectors[torch.tensor(rows, dtype=torch.long)]}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return the features unchanged."""
        return features

    def get_embedding_dimension(self) -> int:
        return self.vectors.shape[1]

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write ``names.json`` and ``model.safetensors``."""
        Path(output_path, _NAMES).write_text(json.dumps(self.names), "utf-8")
        save_file({"vectors": self.vectors}, Path(output_path, "model.safetensors"))

    @classmethod
    def load(cls, model_name_or_path: str, *args: Any, **kwargs: Any) -> NameVectors:
        """Load a module written by :meth:`save`, from a folder or the Hub."""
        where = hub_arguments(kwargs)
        path = cls.load_file_path(model_name_or_path, _NAMES, **where)
        if path is None:
            raise InputError(f"{model_name_or_path}: no table of names, {_NAMES} is missing")
        weights = cls.load_torch_weights(model_name_or_path, **where)
        return cls(json.loads(Path(path).read_text("utf-8")), weights["vectors"])
