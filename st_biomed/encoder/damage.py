"""The faults of a model that cannot be loaded, in one line with the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from st_biomed.encoder.foreign_code import ForeignCode, code_of_others
from st_biomed.encoder.json_files import AGAIN
from st_biomed.encoder.weights import wrong_shapes
from st_biomed.errors import InputError


@contextmanager
def reported_damage(where: Path, kind: Any = None) -> Iterator[None]:
    """Report any exception of the libraries for invalid files of a module in one line.

    Args:
        where: Folder of the module.
        kind: Its class; ``None`` for the whole model.

    Raises:
        InputError: Instead of the exception.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise what_is_wrong(where, kind, error) from error


def what_is_wrong(where: Path, kind: Any, error: Exception) -> InputError:
    """The line for an exception of a library."""
    reason = " ".join(line.strip() for line in str(error).strip().splitlines()[:2]) or type(error).__name__
    if "trust_remote_code" in str(error):
        return ForeignCode(*(code_of_others(where) or (where, "a file requires its own code")))
    settings = None if kind is None else where / kind.config_file_name
    if settings is not None and kind.__name__ not in ("Transformer", "Router") and not settings.exists():
        return InputError(f"{settings}: is missing; it has the settings of a {kind.__name__}: {AGAIN}")
    if (tokenizer := where / "tokenizer.json").is_file() and (reason := _bad_tokenizer(tokenizer)):
        return InputError(f"{tokenizer}: cannot be read as a tokenizer ({reason}): {AGAIN}")
    if "ignore_mismatched_sizes" in str(error):
        with suppress(Exception):  # otherwise the first error is reported
            if wrong := wrong_shapes(where):
                return InputError(f"{where}: tensor {wrong[0]}, as config.json has it: {AGAIN}")
    named = "the model" if kind is None else kind.__name__
    return InputError(f"{where}: {named} cannot be loaded from its files ({type(error).__name__}: {reason}): {AGAIN}")


def _bad_tokenizer(path: Path) -> str:
    """The reason that a tokenizer cannot be read; nothing if it can be."""
    from tokenizers import Tokenizer

    try:
        Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        return str(error).splitlines()[0]
    return ""
