"""What is wrong with a model that cannot be loaded, in a line that names the file."""

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
def told(where: Path, kind: Any = None) -> Iterator[None]:
    """Tell in a line what the libraries raise where a module's files are not what they have to be: anything.

    Args:
        where: Folder of the module.
        kind: Its class; none for the whole model.

    Raises:
        InputError: In the place of what was raised.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise what_is_wrong(where, kind, error) from error


def what_is_wrong(where: Path, kind: Any, error: Exception) -> InputError:
    """The line for what a library raised."""
    reason = " ".join(line.strip() for line in str(error).strip().splitlines()[:2]) or type(error).__name__
    if "trust_remote_code" in str(error):
        return ForeignCode(*(code_of_others(where) or (where, "a file asks for code of its own")))
    settings = None if kind is None else where / kind.config_file_name
    if settings is not None and kind.__name__ not in ("Transformer", "Router") and not settings.exists():
        return InputError(f"{settings}: is missing, the settings of a {kind.__name__}: {AGAIN}")
    if (tokenizer := where / "tokenizer.json").is_file() and (reason := _bad_tokenizer(tokenizer)):
        return InputError(f"{tokenizer}: cannot be read as a tokenizer ({reason}): {AGAIN}")
    if "ignore_mismatched_sizes" in str(error):
        with suppress(Exception):  # the first error is told then
            if wrong := wrong_shapes(where):
                return InputError(f"{where}: tensor {wrong[0]}, as config.json has it: {AGAIN}")
    named = "the model" if kind is None else kind.__name__
    return InputError(f"{where}: {named} cannot be made of its files ({type(error).__name__}: {reason}): {AGAIN}")


def _bad_tokenizer(path: Path) -> str:
    """Why a tokenizer cannot be read; nothing where it can."""
    from tokenizers import Tokenizer

    try:
        Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        return str(error).splitlines()[0]
    return ""
