"""Load a model of ours from a folder or the Hub, also where it has modules that sentence-transformers does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed import __version__
from st_biomed.encoder import load_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_OWN = "st_biomed."


def load(
    name: str | Path,
    *,
    device: str | None = None,
    revision: str | None = None,
    token: str | None = None,
    truncate_dim: int | None = None,
    trust_remote_code: bool = False,
) -> SentenceTransformer:
    """A model from a folder or the Hub, with the classes that are installed here.

    Of sentence-transformers and of this package: mention pooling, injected knowledge, bottleneck adapters, few-shot
    encoders. Files of code that the model may carry are not run, nor any other that it names.

    Args:
        name: A folder, or ``owner/name`` on the Hub.
        device: Where to; the best there is by default.
        revision: Branch, tag, commit or ``refs/pr/N`` on the Hub.
        token: Of the Hub; by default the one that is stored.
        truncate_dim: Numbers of a vector that are kept.
        trust_remote_code: Whether a model that needs code of somebody else may run it.

    Raises:
        InputError: No such model within reach, a damaged one, or one that needs code of somebody else, which was not
            allowed.
    """
    return load_model(
        name,
        device=device,
        revision=revision,
        token=token,
        truncate_dim=truncate_dim,
        trust_remote_code=trust_remote_code,
    )


def require_this_package(folder: str | Path) -> None:
    """Have a saved model say that it needs this package, where it does; sentence-transformers then says so before it loads.

    A release never does: it is of built-in modules, or carries its code. What a training run keeps of its own form may.

    Args:
        folder: What ``save_pretrained`` wrote.
    """
    folder = Path(folder)
    listed = folder / "modules.json"
    modules = json.loads(listed.read_text("utf-8")) if listed.is_file() else []
    if not any(one["type"].startswith(_OWN) for one in modules):
        return
    file = folder / "config_sentence_transformers.json"
    settings = json.loads(file.read_text("utf-8"))
    reason = "this model has modules of st-biomed: load it with st_biomed.load(path)"
    settings.setdefault("requirements", {})["st-biomed"] = {"specifier": f">={__version__}", "reason": reason}
    file.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
