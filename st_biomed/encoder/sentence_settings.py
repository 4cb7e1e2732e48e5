"""The settings of sentence-transformers beside a checkpoint, whose keys are arguments, and those that are allowed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from st_biomed.encoder.foreign_code import ForeignCode
from st_biomed.encoder.json_files import AGAIN, read_object
from st_biomed.errors import InputError

SENTENCE_SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""sentence-transformers reads the first one that is not empty."""

_OWN_SETTINGS = {
    "max_seq_length",
    "do_lower_case",
    "transformer_task",
    "modality_config",
    "module_output_name",
    "processing_kwargs",
    "unpad_inputs",
    "query_length",
    "document_length",
    "query_expansion",
    "knowledge_injection",  # of a release of this package; its module reads it again from its own file
}
_HANDED_ON = {
    "model": {"dtype", "torch_dtype", "attn_implementation", "add_pooling_layer", "low_cpu_mem_usage"},
    "config": {
        "is_causal",
        "is_decoder",
        "use_cache",
        "use_bidirectional_attention",
        "attn_implementation",
        "max_position_embeddings",
    },
    "tokenizer": {
        "model_max_length",
        "padding_side",
        "truncation_side",
        "use_fast",
        "do_lower_case",
        "add_prefix_space",
    },
}
"""Arguments of ``from_pretrained`` that a folder may set for the model, its configuration and its tokenizer. Others
determine where files are read from and what is unpickled, for example ``weights_only``."""
_ARGUMENTS = {
    "model_args": "model",
    "model_kwargs": "model",
    "config_args": "config",
    "config_kwargs": "config",
    "tokenizer_args": "tokenizer",
    "processor_kwargs": "tokenizer",
}
_TASKS = ("feature-extraction", "fill-mask", "sequence-classification", "text-generation")
_METHODS = re.compile(r"forward|get_\w+_(features|embeddings?)")


def check_sentence_settings(where: Path) -> None:
    """Check the settings of sentence-transformers beside a checkpoint: arguments of classes and ``from_pretrained``.

    Args:
        where: Folder of the checkpoint, also of a training checkpoint that the trainer loads.

    Raises:
        ForeignCode: A forbidden setting: ``weights_only``, for example, determines whether pickles are run.
        InputError: A damaged file.
    """
    for name in SENTENCE_SETTINGS:
        _check_sentence_settings(where / name)  # all of them: sentence-transformers ignores an empty one


def _check_sentence_settings(path: Path) -> None:
    settings = read_object(path)
    for key, value in settings.items():
        if key in _ARGUMENTS:
            _check_handed_on(path, key, value)
        elif key not in _OWN_SETTINGS:
            raise ForeignCode(path, f"{key} is not a setting that a folder may give")
    if (task := settings.get("transformer_task", _TASKS[0])) not in _TASKS:
        raise ForeignCode(path, f"transformer_task {task!r} must be one of {', '.join(_TASKS)}")
    limit = settings.get("max_seq_length")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InputError(f"{path}: max_seq_length must be an integer of at least 1, found {limit!r}: {AGAIN}")
    methods = [
        method.get("method") if isinstance(method, dict) else method
        for method in _values(path, settings, "modality_config")
    ]
    for method in methods:
        if not isinstance(method, str) or not _METHODS.fullmatch(method):
            raise ForeignCode(path, f"modality_config calls {method!r}")


def _values(path: Path, settings: dict[str, Any], key: str) -> list[Any]:
    value = settings.get(key) or {}
    if not isinstance(value, dict):
        raise InputError(f"{path}: {key} must be an object, found {value!r}: {AGAIN}")
    return list(value.values())


def _check_handed_on(path: Path, key: str, value: object) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{path}: {key} must be an object, found {value!r}: {AGAIN}")
    for name, setting in value.items():
        if name == "trust_remote_code":
            continue  # sentence-transformers drops it
        if name not in _HANDED_ON[_ARGUMENTS[key]] or isinstance(setting, (dict, list)):
            raise ForeignCode(path, f"{key} {name} is not a setting that a folder may give")
        if name == "attn_implementation":
            check_kernel(path, f"{key} {name}", setting)


def check_kernel(path: Path, key: object, value: object) -> None:
    """Check the attention: one of transformers has a plain name; one of a repository is downloaded and run.

    Args:
        path: Path of the file.
        key: The key with its name.
        value: Its name, or one for each part of the model.

    Raises:
        ForeignCode: It is from a repository.
    """
    for name in value.values() if isinstance(value, dict) else [value]:
        if isinstance(name, str) and not re.fullmatch(r"\w*", name):
            raise ForeignCode(path, f"{key} {name!r} is code of a repository")
