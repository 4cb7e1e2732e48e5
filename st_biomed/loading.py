"""Load a model of ours from a folder or the Hub, also where it has modules that sentence-transformers does not have."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed import __version__
from st_biomed.encoder import OWN_CODE, model_folder
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_HOST, _OWN = "sentence_transformers.", "st_biomed."


def load(
    name: str | Path,
    *,
    device: str | None = None,
    revision: str | None = None,
    token: str | None = None,
    truncate_dim: int | None = None,
) -> SentenceTransformer:
    """A model from a folder or the Hub, without ``trust_remote_code``.

    A model of built-in modules is loaded as sentence-transformers does. In the place of the modules of this package (mention
    pooling, injected knowledge, bottleneck adapters, few-shot encoders) come the classes that are installed here: the files
    of code that the model may carry are not run.

    Args:
        name: A folder, or ``owner/name`` on the Hub.
        device: Where to; the best there is by default.
        revision: Branch, tag, commit or ``refs/pr/N`` on the Hub.
        token: Of the Hub; by default the one that is stored.
        truncate_dim: Numbers of a vector that are kept.

    Raises:
        InputError: No such model within reach, or modules of somebody else.
    """
    from sentence_transformers import SentenceTransformer

    path = model_folder(name) or _downloaded(str(name), revision, token)
    modules = _listed(path)
    foreign = [one["type"] for one in modules if _class_path(one["type"]) is None]
    if foreign:
        raise InputError(
            f"model {str(name)!r}: {foreign[0]} is a class of neither sentence_transformers nor this package; read its "
            "code, then load it with SentenceTransformer(..., trust_remote_code=True)"
        )
    _register_adapters(path)
    options: dict[str, Any] = {"device": device, "truncate_dim": truncate_dim}
    if all(one["type"].startswith(_HOST) for one in modules):
        return SentenceTransformer(str(path), local_files_only=True, **options)
    settings_file = path / "config_sentence_transformers.json"
    settings = json.loads(settings_file.read_text("utf-8")) if settings_file.is_file() else {}
    return SentenceTransformer(
        modules=[_module(path, one) for one in modules],
        prompts=settings.get("prompts"),
        default_prompt_name=settings.get("default_prompt_name"),
        similarity_fn_name=settings.get("similarity_fn_name"),
        **options,
    )


def _downloaded(name: str, revision: str | None, token: str | None) -> Path:
    from huggingface_hub import snapshot_download

    full = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full, revision=revision, token=token, ignore_patterns=["*.py"]))
    except (OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"model {name!r}: neither a folder nor to be had from the Hub: {reason}") from error


def _listed(path: Path) -> list[dict[str, Any]]:
    """What ``modules.json`` lists; a plain checkpoint has none."""
    file = path / "modules.json"
    return json.loads(file.read_text("utf-8")) if file.is_file() else []


def _class_path(named: str) -> str | None:
    """Where the class of a module is installed; nowhere where it is neither the host's nor ours."""
    module, _, name = named.rpartition(".")
    if f"{module}.py" in OWN_CODE:
        return f"{_OWN}modules.{module}.{name}"
    return named if named.startswith((_HOST, _OWN)) else None


def _module(path: Path, listed: dict[str, Any]) -> Any:
    home, _, name = str(_class_path(listed["type"])).rpartition(".")
    kind = getattr(importlib.import_module(home), name)
    return kind.load(str(path), subfolder=listed["path"], local_files_only=True, trust_remote_code=False)


def _register_adapters(path: Path) -> None:
    """Let transformers know an encoder with adapters by its type, so that it does not ask for its file of code."""
    from transformers import AutoConfig, AutoModel

    from st_biomed.modules.bottleneck_adapter import FAMILIES

    file = path / "config.json"
    found = json.loads(file.read_text("utf-8")).get("model_type") if file.is_file() else None
    for config, model in FAMILIES.values():
        if config.model_type == found:
            AutoConfig.register(found, config, exist_ok=True)
            AutoModel.register(config, model, exist_ok=True)


def require_this_package(folder: str | Path) -> None:
    """Have a saved model say that it needs this package, where it does; sentence-transformers then says so before it loads.

    A release never does: it is of built-in modules, or carries its code. What a training run keeps of its own form may.

    Args:
        folder: What ``save_pretrained`` wrote.
    """
    folder = Path(folder)
    if not any(one["type"].startswith(_OWN) for one in _listed(folder)):
        return
    file = folder / "config_sentence_transformers.json"
    settings = json.loads(file.read_text("utf-8"))
    reason = "this model has modules of st-biomed: load it with st_biomed.load(path)"
    settings.setdefault("requirements", {})["st-biomed"] = {"specifier": f">={__version__}", "reason": reason}
    file.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
