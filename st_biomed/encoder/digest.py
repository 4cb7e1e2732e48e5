"""A digest of a model's computation: two models with the same digest give the same vectors."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules.tokenizer import WordTokenizer
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from st_biomed.modules.name_vectors import NameVectors

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
_PLACES = {"name_or_path", "vocab_file"}  # of a tokenizer's files


def model_digest(model: SentenceTransformer) -> str:
    """SHA-256 of the weights or the graph, the modules' configuration, the tokenizer, the length limit and the prompts.

    The digest does not depend on where the model was loaded from, on its device, or on earlier calls. It does not
    change when the model is saved and loaded, if sentence-transformers saves ``truncate_dim`` (sentence-transformers 6.2 does).
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
    if adapters := _adapters(module):
        described["adapters"] = adapters
    if (tokenizer := getattr(module, "tokenizer", None)) is not None:
        described["tokenizer"] = tokenizer_settings(tokenizer)
    if isinstance(module, NameVectors):
        described["table"] = table_digest(module.names, module.vectors.numpy())
    if isinstance(module, Router):
        described["routes"] = {
            route: [_module(part) for part in parts.children()] for route, parts in module.sub_modules.items()
        }
    return described


def _adapters(module: Any) -> list[Any]:
    """The distinct states of a module's adapters of peft: which are active, scaled how, switched off or merged."""
    states = {
        json.dumps(
            [list(part.active_adapters), part.scaling, part.disable_adapters, list(part.merged_adapters)], default=str
        )
        for part in module.modules()
        if hasattr(part, "active_adapters") and hasattr(part, "merged_adapters") and hasattr(part, "scaling")
    }
    return sorted(states)


def tokenizer_settings(tokenizer: Any) -> dict[str, Any]:
    """Everything that determines the tokens of a text: of transformers, of tokenizers (static encoders) or of words."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if isinstance(backend, Tokenizer):
        settings = {key: value for key, value in json.loads(backend.to_str()).items() if key not in _LEFT_BY_A_CALL}
        side = getattr(tokenizer, "truncation_side", "right")  # of transformers: which end of a long text is cut
        return settings if side == "right" else {**settings, "truncation_side": side}
    if isinstance(wrapped := getattr(tokenizer, "tokenizer", None), PreTrainedTokenizerBase):
        return tokenizer_settings(wrapped)
    if isinstance(tokenizer, WordTokenizer):
        values = {key: sorted(value) if isinstance(value, set) else value for key, value in vars(tokenizer).items()}
        return {"class": type(tokenizer).__name__, **values}
    given = {key: value for key, value in getattr(tokenizer, "init_kwargs", {}).items() if key not in _PLACES}
    return {"class": type(tokenizer).__name__, "vocab": tokenizer.get_vocab(), "arguments": given}


def table_digest(texts: list[str], matrix: np.ndarray) -> str:
    """SHA-256 of a table of vectors: ``[N]`` texts and ``[N, D]`` numbers."""
    digest = hashlib.sha256(json.dumps([texts, matrix.dtype.str, matrix.shape]).encode())
    digest.update(np.ascontiguousarray(matrix).view(np.uint8).data)
    return digest.hexdigest()
