"""The files of a model on the Hub that loading it needs: settings, vocabulary and weights of one format, no code."""

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
    """The folder of a repository in the cache, with what the Hub has of it; what the cache has where the Hub is not reached.

    Args:
        repository: ``owner/name``.
        revision: Branch, tag, commit or ``refs/pr/N``.
        token: Of the Hub; by default the one that is stored.

    Raises:
        OSError: It is neither on the Hub nor in the cache, or may not be read.
        ValueError: The id is none.
    """
    if is_offline_mode():
        return _cached_or(repository, revision, OSError("the Hub is switched off"))
    try:
        files = HfApi(token=token).list_repo_files(repository, revision=revision)
    except Exception as error:  # whatever the client's HTTP library raises where there is no connection
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
    """The folder of a repository in the cache, whole or not; nothing where it has none.

    Raises:
        ValueError: The id is none.
    """
    for file in ("modules.json", "config.json", "adapter_config.json"):
        found = try_to_load_from_cache(repository, file, revision=revision)
        if isinstance(found, str):
            return Path(found).parent
    return None


def is_setting(file: str) -> bool:
    """Whether a file of a repository may be read besides weights: at most one folder deep in another, and no code."""
    return _SETTINGS.fullmatch(PurePosixPath(file).name) is not None and file.count("/") <= 2


def needed_weights(files: Iterable[str], folder: Path) -> list[str]:
    """The files with weights that a model's modules read; of the pickled ones none that has a safe one beside it.

    Args:
        files: Of the repository.
        folder: With its settings.
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
    """Where the weights of a model's modules lie, as far as its files tell: what is wrong with them is said on loading."""
    if not (folder / "modules.json").is_file():
        return {""}
    found = [path for one in _json(folder / "modules.json", list) if isinstance(path := one.get("path"), str)]
    for path in found:  # grows: a route may have routes of its own
        for file in ("router_config.json", "config.json"):
            for settings in _json(folder / path / file, dict):
                routes = settings.get("types")
                found += (
                    ["/".join(filter(None, (path, str(key)))) for key in routes] if isinstance(routes, dict) else []
                )
    return set(found) | {"/".join(filter(None, (path, "knowledge_injection"))) for path in found}


def _json(path: Path, kind: type) -> list[Any]:
    """The objects in a file: itself or those it lists; none where it is missing or damaged."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    objects = found if isinstance(found, list) else [found]
    return [one for one in objects if isinstance(found, kind) and isinstance(one, dict)]
