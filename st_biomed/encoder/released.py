"""Loads a model of this package from a folder or the Hub, also with modules that only this package has."""

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
    """A model from a folder or the Hub, with the installed classes.

    The classes are those of sentence-transformers and of this package: mention pooling, injected knowledge, bottleneck
    adapters, few-shot encoders. Files of code in the model are not run.

    Args:
        name: A folder, or ``owner/name`` on the Hub.
        device: The device; by default the best available.
        revision: Branch, tag, commit or ``refs/pr/N`` on the Hub.
        token: Access token of the Hub; by default the stored one.
        truncate_dim: Dimensions of a vector to keep.
        trust_remote_code: Whether a model may run its own code.

    Raises:
        InputError: The model is not available, is damaged, or needs foreign code that is not allowed.
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
    """Record that a saved model needs this package, if it does; sentence-transformers reports this before it loads it.

    A release never needs it: it has built-in modules or its own code. The trained form that a run keeps may need it.

    Args:
        folder: The result of ``save_pretrained``.
    """
    folder = Path(folder)
    listed = folder / "modules.json"
    modules = json.loads(listed.read_text("utf-8")) if listed.is_file() else []
    if not any(module["type"].startswith(_OWN) for module in modules):
        return
    file = folder / "config_sentence_transformers.json"
    settings = json.loads(file.read_text("utf-8"))
    reason = "this model has modules of st-biomed: load it with st_biomed.load(path)"
    settings.setdefault("requirements", {})["st-biomed"] = {"specifier": f">={__version__}", "reason": reason}
    file.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
