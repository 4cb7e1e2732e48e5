"""The record of the run that wrote a model."""

from __future__ import annotations

import os
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.release.run_data import RunData, read_run

BEGUN = "begun.json"
"""The record of a run or phase as it began, beside its checkpoints."""

CHECKPOINT_FILES = "checkpoint_files.json"
"""The file of a checkpoint that lists all other files with sizes and checksums."""


def record_of(folder: str | Path) -> RunData | None:
    """The record of a model: that in its own folder, else that in the release of its run, or beside a checkpoint; nothing if no
    run wrote it.

    Raises:
        InputError: A damaged record, or none of a model that a run left: what it was trained on would not be known.
    """
    path = Path(folder)
    run, release = known_record(path), release_of(path)
    if run is None and is_checkpoint(path):
        raise InputError(
            f"{path}: is a checkpoint whose run's record is not beside it ({_place(path).parent / BEGUN}), so its training data are "
            f"not known; start from a release, or remove {CHECKPOINT_FILES} from a copy to use it without a record"
        )
    if run is None and release != path and path.is_dir():
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
    files = [place / "run.json" for place in (Path(folder), release_of(folder))]
    if is_checkpoint(folder) and not _place(folder).name.startswith("earlier-"):  # whose record is gone
        files.append(_place(folder).parent / BEGUN)
    return next((read_run(file) for file in files if file.is_file()), None)


def is_checkpoint(folder: str | Path) -> bool:
    """Whether a folder is a checkpoint that a recipe wrote."""
    return (Path(folder) / CHECKPOINT_FILES).is_file()


def _place(folder: str | Path) -> Path:
    """The absolute path, by whose names a model is told: those of a relative path may lie above the folder one is in."""
    return Path(os.path.abspath(folder))


def release_of(folder: str | Path) -> Path:
    """The release of the run that wrote a model: the folder itself, or ``OUTPUT`` for ``OUTPUT-training/trained``.

    The latter is the model that ``keep_trained`` left.
    """
    given = Path(folder)
    path = _place(given)
    output = path.parent.name.removesuffix("-training")
    is_kept = path.name == "trained" and output not in ("", path.parent.name)
    if is_kept:
        return path.parent.with_name(output)
    return path if given.name in ("", "..") else given
