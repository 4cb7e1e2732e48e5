"""A digest of a model's computation: two models with the same digest give the same vectors."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_NOT_COMPUTED = {
    "_name_or_path",
    "transformers_version",
    "architectures",
    "auto_map",
    "dtype",
}  # settings of a transformer's configuration
_LEFT_BY_A_CALL = {"padding", "truncation"}  # settings of a tokenizer that depend on the last batch


def model_digest(model: SentenceTransformer) -> str:
    """SHA-256 of the weights or the graph, the modules' configuration, the tokenizer, the length limit and the prompts.

    The digest does not depend on where the model was loaded from, on its device, or on earlier calls. It does not
    change when the model is saved and loaded, apart from ``truncate_dim``, which sentence-transformers does not save.
    """
    digest = hashlib.sha256()
    described: dict[str, Any] = {
        "modules": [_module(module) for module in model],
        "max_seq_length": model.max_seq_length,
        "prompts": {name: prompt for name, prompt in model.prompts.items() if prompt},
        "default_prompt": model.prompts.get(model.default_prompt_name or "") or "",
        "truncate_dim": model.truncate_dim,
    }
    digest.update(json.dumps(described, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(memoryview(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()))
    return digest.hexdigest()


def _module(module: Any) -> dict[str, Any]:
    """The settings that determine a module's output, besides its weights."""
    described: dict[str, Any] = {"class": f"{type(module).__module__}.{type(module).__qualname__}"}
    if (graph := getattr(module, "graph_sha256", None)) is not None:
        described["graph"] = graph  # in place of weights
    if hasattr(module, "get_config_dict"):
        described["settings"] = module.get_config_dict()
    if (config := getattr(getattr(module, "auto_model", None), "config", None)) is not None:
        described["config"] = {key: value for key, value in config.to_dict().items() if key not in _NOT_COMPUTED}
    if (tokenizer := getattr(module, "tokenizer", None)) is not None:
        described["tokenizer"] = _tokenizer(tokenizer)
    return described


def _tokenizer(tokenizer: Any) -> Any:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return [type(tokenizer).__name__, tokenizer.get_vocab(), getattr(tokenizer, "init_kwargs", {})]
    written = json.loads(backend.to_str())
    return {key: value for key, value in written.items() if key not in _LEFT_BY_A_CALL}


def table_digest(texts: list[str], matrix: np.ndarray) -> str:
    """SHA-256 of a table of vectors: ``[N]`` texts and ``[N, D]`` numbers."""
    digest = hashlib.sha256(json.dumps([texts, matrix.dtype.str, matrix.shape]).encode())
    digest.update(np.ascontiguousarray(matrix).view(np.uint8).data)
    return digest.hexdigest()
