"""The base models of a release, as far as they are available."""

from __future__ import annotations

from pathlib import Path

from st_biomed.encoder import model_folder
from st_biomed.encoder.sources import folder_in_cache
from st_biomed.errors import InputError
from st_biomed.release.model_record import record_of
from st_biomed.release.run_data import began_from


def base_model_folder(base_model: str | Path) -> Path:
    """The folder of a base model: the folder itself, or in the Hub's cache.

    Raises:
        InputError: There is neither.
    """
    folder = model_folder(base_model) or folder_in_cache(str(base_model))
    if folder is not None:
        return folder
    raise InputError(f"base model {str(base_model)!r}: neither a folder nor in the local Hub cache")


def first_model_folder(base_model: Path) -> Path | None:
    """The original base model: the start of the first of several runs.

    Returns:
        Its folder, ``base_model`` itself if no run produced it; nothing if it is not available.
    """
    if (run := record_of(base_model)) is None:
        return base_model
    try:
        return base_model_folder(began_from(run))
    except InputError:
        return None
