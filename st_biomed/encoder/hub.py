"""The files of a model on the Hub for loading it: settings, vocabulary and weights of one format, no code."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from huggingface_hub import HfApi, is_offline_mode, snapshot_download, try_to_load_from_cache

_SETTINGS = re.compile(
    r"[^/]+\.(json|txt|model|jinja|vocab|codes|bpe|spm|tiktoken)|README\.md|tokenizer\.model\.\w+", re.IGNORECASE
)
_WEIGHTS = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)")


def downloaded(repository: str, revision: str | None = None, token: str | None = None) -> Path:
    """The folder of a repository in the cache, updated from the Hub; without a connection, the cached files.

    Args:
        repository: ``owner/name``.
        revision: Branch, tag, commit or ``refs/pr/N``.
        token: Access token of the Hub; by default the stored one.

    Raises:
        OSError: It is neither on the Hub nor in the cache, or may not be read.
        ValueError: The id is invalid.
    """
    if is_offline_mode():
        return _cached_or(repository, revision, OSError("the Hub is switched off"))
    try:
        files = HfApi(token=token).list_repo_files(repository, revision=revision)
    except Exception as error:  # any exception of the client's HTTP library without a connection
        return _cached_or(repository, revision, error)
    folder = Path(_fetched(repository, [file for file in files if is_setting(file)], revision, token))
    if weights := needed_weights(files, folder):
        _fetched(repository, weights, folder.name, token)
    return folder


def _fetched(repository: str, files: list[str], revision: str | None, token: str | None) -> str:
    patterns = [glob.escape(file) for file in files] or ["config.json"]
    return snapshot_download(repository, revision=revision, token=token, allow_patterns=patterns)


def _cached_or(repository: str, revision: str | None, error: Exception) -> Path:
    if (folder := cached_folder(repository, revision)) is not None:
        return folder
    raise error if isinstance(error, (OSError, ValueError)) else OSError(f"cannot connect to the Hub: {error}")


def cached_folder(repository: str, revision: str | None = None) -> Path | None:
    """The folder of a repository in the cache, complete or not; nothing if it is not cached.

    Raises:
        ValueError: The id is invalid.
    """
    for file in ("modules.json", "config.json", "adapter_config.json"):
        cached = try_to_load_from_cache(repository, file, revision=revision)
        if isinstance(cached, str):
            return Path(cached).parent
    return None


def is_setting(file: str) -> bool:
    """Whether a file of a repository may be read in addition to weights: at most two folders deep, and no code."""
    return _SETTINGS.fullmatch(PurePosixPath(file).name) is not None and file.count("/") <= 2


def needed_weights(files: Iterable[str], folder: Path) -> list[str]:
    """The files with weights that a model's modules read; pickled weights only if there are no safe ones.

    Args:
        files: Files of the repository.
        folder: Folder with its settings.
    """
    wanted = module_folders(folder)
    groups: dict[str, list[str]] = {}
    for file in files:
        parent, _, name = file.rpartition("/")
        if parent in wanted and _WEIGHTS.fullmatch(name):
            groups.setdefault(parent, []).append(file)
    safe = {parent: [file for file in group if file.endswith(".safetensors")] for parent, group in groups.items()}
    return sorted(file for parent, group in groups.items() for file in safe[parent] or group)


def module_folders(folder: Path) -> set[str]:
    """The folders of the weights of a model's modules, as far as listed; errors are reported on loading."""
    if not (folder / "modules.json").is_file():
        return {""}
    listed = [module.get("path") for module in _json(folder / "modules.json", list)]
    paths = [path.rstrip("/") for path in listed if isinstance(path, str)]
    for path in paths:  # grows: a route may have further routes
        for file in ("router_config.json", "config.json"):
            for settings in _json(folder / path / file, dict):
                routes = settings.get("types")
                paths += (
                    ["/".join(filter(None, (path, str(key)))) for key in routes] if isinstance(routes, dict) else []
                )
    return set(paths) | {"/".join(filter(None, (path, "knowledge_injection"))) for path in paths}


def _json(path: Path, kind: type) -> list[Any]:
    """The objects in a file: the object itself or the members of a list; none if the file is missing or damaged."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    objects = content if isinstance(content, list) else [content]
    return [member for member in objects if isinstance(content, kind) and isinstance(member, dict)]
