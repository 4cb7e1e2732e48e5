"""A release in the layout of sentence-transformers 5, which versions from 5.3 on and 6 load with the same vectors.

Version 6 saves modules under their present places, which version 5 does not have. Version 6 still knows the older
names, for models of that time.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError, shown
from st_biomed.files import copy_folder, replacing
from st_biomed.release.folder import PROBES, check_free
from st_biomed.release.read_release import unreplaced
from st_biomed.release.run_data import read_run

Configuration = dict[str, Any]

_POOLING_MODES = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
"""In the order in which version 5 concatenates the vectors of several modes."""

_TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}
"""How a transformer computes token embeddings of texts in version 5."""

_TRANSFORMER: dict[str, tuple[object, ...]] = {
    "transformer_task": ("feature-extraction",),
    "module_output_name": ("token_embeddings",),
    "modality_config text": (_TEXT,),
    "processing_kwargs": (None, {}),
    "unpad_inputs": (None, False),
    "query_length": (None,),
    "document_length": (None,),
    "query_expansion": (None,),
}
"""Settings of a transformer in version 6 with the values that are the behavior of version 5."""

_SENTENCE = {
    "module_input_name": "sentence_embedding",
    "module_output_name": "sentence_embedding",
    "use_residual": False,
}
"""The behavior of modules in version 5, which is the default in version 6."""


def save_legacy(folder: str | Path, output: str | Path) -> Path:
    """Write a release for sentence-transformers 5.

    Only its configuration changes. Version 5 also needs a transformers that reads the tokenizer, which 4.57 does.

    Args:
        folder: A release folder; it is not changed.
        output: A new or empty folder.

    Returns:
        The new folder, which is also a release folder.

    Raises:
        InputError: No release folder, a link or a special file in it, a folder in use, a module or a setting that
            version 5 does not have, or vectors that differ.
    """
    folder, output = Path(folder), Path(output)
    read_run(folder / "run.json")
    if folder.resolve() in output.resolve().parents:
        raise InputError(f"{output}: is in the release {folder}, which is copied; choose a folder outside it")
    check_free(output)
    with replacing(output) as draft, unreplaced(folder):  # checked before the draft is put in place
        copy_folder(folder, draft)
        model = load_encoder(folder, device="cpu")
        rewrite_for_version_5(draft, model.max_seq_length, named=folder)
        expected = model.encode(PROBES, show_progress_bar=False)
        vectors = load_encoder(draft, device="cpu").encode(PROBES, show_progress_bar=False)
        if not np.allclose(vectors, expected, atol=1e-6):
            raise InputError(
                f"{folder}: the older layout gives other vectors: it cannot express the behavior of a module"
            )
    return output


def rewrite_for_version_5(draft: Path, max_seq_length: int | None, *, named: str | Path) -> None:
    """Write the older configuration into a saved model.

    Args:
        draft: Folder of the saved model.
        max_seq_length: The model's own limit of tokens.
        named: The model, for messages.

    Raises:
        InputError: A module or a setting that version 5 does not have.
    """
    path = draft / "modules.json"
    modules = json.loads(path.read_text("utf-8"))
    for module in modules:
        kind = module["type"].rpartition(".")[2]
        if not module["type"].startswith("sentence_transformers.") or kind not in _OLDER:
            raise InputError(
                f"{named}: module {module['type']} has no older form; modules with one are {', '.join(sorted(_OLDER))}"
            )
        module["type"] = f"sentence_transformers.models.{kind}"
        _OLDER[kind](draft / module["path"], max_seq_length)
    path.write_text(json.dumps(modules, indent=2) + "\n", "utf-8")


def _transformer(folder: Path, max_seq_length: int | None) -> None:
    path = folder / "sentence_bert_config.json"
    settings = json.loads(path.read_text("utf-8"))
    settings.pop("max_seq_length", None)
    lower = bool(settings.pop("do_lower_case", False))
    settings["modality_config text"] = (settings.pop("modality_config", None) or {"text": _TEXT}).get("text")
    for name, value in settings.items():
        if value not in _TRANSFORMER.get(name, ()):
            raise InputError(
                f"{path}: {name} {shown(value)} has no older form; version 5 has max_seq_length and do_lower_case"
            )
    _write(path, {"max_seq_length": max_seq_length, "do_lower_case": lower})


def _pooling(folder: Path, max_seq_length: int | None) -> None:
    path = folder / "config.json"
    settings = json.loads(path.read_text("utf-8"))
    if "embedding_dimension" not in settings:
        return  # already has its older form
    named = settings["pooling_mode"]
    modes = [named] if isinstance(named, str) else list(named)
    if modes != [mode for mode in _POOLING_MODES if mode in modes]:
        raise InputError(
            f"{path}: pooling_mode {named!r} has no older form; modes are, in order, {', '.join(_POOLING_MODES)}"
        )
    flags = {flag: mode in modes for mode, flag in _POOLING_MODES.items()}
    width, prompt = settings["embedding_dimension"], settings.get("include_prompt", True)
    _write(path, {"word_embedding_dimension": width, **flags, "include_prompt": prompt})


def _of_sentences(folder: Path, max_seq_length: int | None) -> None:
    """A module with sentence embeddings as input and output, like all modules of version 5."""
    path = folder / "config.json"
    settings = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    for name, usual in _SENTENCE.items():
        if (value := settings.pop(name, usual)) != usual:
            raise InputError(f"{path}: {name} {value!r} has no older form")
    if settings:
        _write(path, settings)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _as_it_is(folder: Path, max_seq_length: int | None) -> None:
    """A module whose configuration has not changed."""


_OLDER: dict[str, Callable[[Path, int | None], None]] = {
    "Transformer": _transformer,
    "Pooling": _pooling,
    "Dense": _of_sentences,
    "Normalize": _of_sentences,
    "WordWeights": _as_it_is,
    "StaticEmbedding": _as_it_is,
}


def _write(path: Path, settings: Configuration) -> None:
    path.write_text(json.dumps(settings, indent=2) + "\n", "utf-8")
