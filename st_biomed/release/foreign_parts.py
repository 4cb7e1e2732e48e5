"""Base models that run code of others: training would end, and no release could contain the result."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import PreTrainedModel

from st_biomed.encoder import is_own_code
from st_biomed.errors import InputError

_DOWNLOADED = "transformers_modules"
"""The package under which transformers imports the files of code of a model."""

_PACKAGES = ("torch", "transformers", "sentence_transformers", "st_biomed")
"""The packages of the modules of a release; an encoder of transformers may have further ones inside."""


def check_base_model(model: SentenceTransformer) -> None:
    """Reject a base model that a release cannot contain, before it is trained.

    Args:
        model: The model before training, as it was loaded.

    Raises:
        InputError: A module, configuration or tokenizer of the model is of foreign code.
    """
    for part in _foreign(model):
        found = f"{type(part).__module__.rpartition('.')[2]}.{type(part).__name__}"
        raise InputError(
            f"base_model: runs foreign code ({found}), and a release contains none; nothing was trained, start from a "
            "model that loads without trust_remote_code"
        )


def _foreign(model: nn.Module) -> Iterator[Any]:
    """The parts of foreign code."""
    modules = list(model.modules())
    encoders = [module for module in modules if isinstance(module, PreTrainedModel)]
    inside = {id(module) for encoder in encoders for module in encoder.modules()}
    settings = (getattr(module, name, None) for module in modules for name in ("config", "tokenizer", "processor"))
    for part in (*modules, *settings):
        package = type(part).__module__.partition(".")[0]
        whole = isinstance(part, nn.Module) and id(part) not in inside
        if (package == _DOWNLOADED or (whole and package not in _PACKAGES)) and not _is_own(type(part)):
            yield part


def _is_own(kind: Any) -> bool:
    """Whether the code of a class is a file that a release may contain, byte for byte.

    Some classes of this package have the name of their file alone for a module, so that they are found by a method.
    """
    module = sys.modules.get(kind.__module__)
    source = getattr(module, "__file__", None) or inspect.getsourcefile(inspect.unwrap(getattr(kind, "forward", kind)))
    return source is not None and is_own_code(Path(source))
