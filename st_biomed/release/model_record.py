"""The record of the run that wrote a model."""

from __future__ import annotations

import os
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.release.run_data import RunData, read_run


def record_of(folder: str | Path) -> RunData | None:
    """The record of a model: that in its own folder, else that in the release of its run; nothing if no run wrote it.

    Raises:
        InputError: A damaged record, or none of a model that a run left: what it was trained on would not be known.
    """
    path = Path(folder)
    if (run := known_record(path)) is None and (release := release_of(path)) != path and path.is_dir():
        raise InputError(
            f"{path}: the record of its run is missing ({release / 'run.json'}), so its training data are not known; copy the "
            "record beside the model, or move the model to a folder of another name to use it without one"
        )
    return run


def known_record(folder: str | Path) -> RunData | None:
    """As :func:`record_of`, and nothing where a record is missing, for what only describes a model.

    Raises:
        InputError: A damaged record.
    """
    for place in (Path(folder), release_of(folder)):
        if (place / "run.json").is_file():
            return read_run(place / "run.json")
    return None


def release_of(folder: str | Path) -> Path:
    """The release of the run that wrote a model: the folder itself, or ``OUTPUT`` for ``OUTPUT-training/trained``.

    The latter is the model that ``keep_trained`` left.
    """
    given = Path(folder)
    path = Path(os.path.abspath(given))  # the names of a relative path may lie above the folder one is in
    output = path.parent.name.removesuffix("-training")
    is_kept = path.name == "trained" and output not in ("", path.parent.name)
    if is_kept:
        return path.parent.with_name(output)
    return path if given.name in ("", "..") else given
