"""The models that a release came from, as far as they are within reach."""

from __future__ import annotations

from pathlib import Path

from st_biomed.encoder import model_folder
from st_biomed.encoder.hub import cached_folder
from st_biomed.encoder.sources import repositories
from st_biomed.errors import InputError
from st_biomed.release.run_data import began_from, read_run


def base_model_folder(base_model: str | Path) -> Path:
    """The folder of a base model: itself, or in the Hub's cache.

    Raises:
        InputError: Neither.
    """
    if (folder := model_folder(base_model)) is not None:
        return folder
    for repository in repositories(str(base_model)):
        try:
            if (folder := cached_folder(repository)) is not None:
                return folder
        except ValueError:
            break  # no id of the Hub
    raise InputError(f"base model {str(base_model)!r}: neither a folder nor in the local Hub cache")


def first_model_folder(base_model: Path) -> Path | None:
    """The model of others that a base model came from: where runs made it, what the first of them started from.

    Args:
        base_model: A folder.

    Returns:
        Its folder, ``base_model`` itself where no run made it; nothing where it is not within reach.
    """
    record = base_model / "run.json"
    if not record.is_file():
        return base_model
    try:
        return base_model_folder(began_from(read_run(record)))
    except InputError:
        return None
