"""Builds a model from its modules, each of an installed class, and from the settings of its folder."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub import is_offline_mode
from sentence_transformers import SentenceTransformer, SentenceTransformerModelCardData
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.util import check_version_requirements, get_device_name
from transformers.utils import logging as transformers_logging

from st_biomed.encoder.check_loaded import check_vectors, check_vocabulary
from st_biomed.encoder.damage import reported_damage
from st_biomed.encoder.exported import HEADER, Export
from st_biomed.encoder.graph_transformer import GraphTransformer
from st_biomed.encoder.json_files import AGAIN, read_object
from st_biomed.encoder.listed_modules import ListedModule, routes
from st_biomed.encoder.sources import Source
from st_biomed.encoder.text_limit import limit_to_positions
from st_biomed.encoder.weights import check_files, check_finite_weights, check_loaded
from st_biomed.errors import InputError
from st_biomed.settings.devices import check_device

_SETTINGS = "config_sentence_transformers.json"
_LOCAL = {"local_files_only": True, "trust_remote_code": False}


def assemble(
    source: Source,
    listed: Sequence[ListedModule],
    *,
    truncate_dim: int | None = None,
    card: SentenceTransformerModelCardData | None = None,
    export: Export | None = None,
) -> SentenceTransformer:
    """A model on the CPU, with its prompts, its similarity and its card.

    Args:
        source: The files of the model.
        listed: Its modules; none for a plain checkpoint, which gets the default pooling of sentence-transformers.
        truncate_dim: Dimensions of a vector to keep; by default the folder's setting.
        card: Card data; sentence-transformers' by default.
        export: The record of an exported encoder, whose graph replaces the weights of the Transformer.

    Raises:
        InputError: A damaged file, or a requirement that is not met.
    """
    folder = source.folder
    settings = _settings(folder) if listed else {}
    if export is not None and [entry.kind for entry in listed].count(Transformer) != 1:
        raise InputError(f"{folder / HEADER}: an exported encoder has one Transformer among its modules: {AGAIN}")
    modules = {entry.name: _module(folder, entry, export) for entry in listed} if listed else _plain(folder)
    with reported_damage(folder):
        model = SentenceTransformer(
            modules=cast(Any, OrderedDict(modules)),
            device="cpu",
            prompts=settings.get("prompts"),
            default_prompt_name=settings.get("default_prompt_name"),
            similarity_fn_name=settings.get("similarity_fn_name"),
            truncate_dim=settings.get("truncate_dim") if truncate_dim is None else truncate_dim,
            model_card_data=card,
            local_files_only=not source.repository,
        )
    if any(entry.kwargs for entry in listed):
        model.module_kwargs = OrderedDict((entry.name, entry.kwargs) for entry in listed)
    _keep_card(model, source, keep=bool(listed))
    for entry in listed or [ListedModule(name="0", path="", kind=Transformer, kwargs=[])]:
        check_finite_weights(folder / entry.path, modules[entry.name])
        for where, module in _encoders(folder / entry.path, modules[entry.name]):
            check_vocabulary(where, module)
            if not isinstance(module, GraphTransformer):
                check_loaded(where, module, model)
            _forget_code(module)
            _named(module, source, where)
    return model


def place(model: SentenceTransformer, source: Source, device: str | torch.device | None) -> SentenceTransformer:
    """The model on its device, tested there; texts are cut after the encoder's positions at the latest.

    Args:
        model: The model on the CPU.
        source: The source of the model.
        device: The device; by default the best available.

    Raises:
        InputError: Its vectors are invalid, or there is no such device.
    """
    check_device(None if device is None else str(device))
    model.to(str(device) if device is not None else get_device_name())
    limit_to_positions(model, source.folder)
    check_vectors(model, source.folder)
    return model


def _settings(folder: Path) -> dict[str, Any]:
    """Apply the folder's settings of the whole model."""
    file = folder / _SETTINGS
    settings = read_object(file)
    prompts, default = settings.get("prompts") or {}, settings.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise InputError(f"{file}: prompts must map names to texts, found {prompts!r}: {AGAIN}")
    if default is not None and (not isinstance(default, str) or default not in prompts):
        raise InputError(
            f"{file}: default_prompt_name {default!r} is not among its prompts {sorted(prompts)}: {AGAIN}"
        )
    similarity = settings.get("similarity_fn_name")
    if similarity not in (None, *(str(supported) for supported in SentenceTransformer.SUPPORTED_SIMILARITY_FN_NAMES)):
        raise InputError(f"{file}: similarity_fn_name {similarity!r} is unknown: {AGAIN}")
    width = settings.get("truncate_dim")
    if width is not None and (isinstance(width, bool) or not isinstance(width, int) or width < 1):
        raise InputError(f"{file}: truncate_dim must be an integer of at least 1, found {width!r}: {AGAIN}")
    try:
        check_version_requirements(settings.get("requirements"), source=str(folder))
    except ImportError as error:
        raise InputError(" ".join(str(error).split())) from error
    return settings


def _module(folder: Path, entry: ListedModule, export: Export | None = None) -> Any:
    """One module; its class does not load code or anything outside of the folder."""
    where = folder / entry.path
    if export is not None and entry.kind is Transformer:
        if entry.path:
            raise InputError(f"{folder / HEADER}: the Transformer must be in the folder itself, not in {entry.path}")
        with _quiet(), reported_damage(folder, Transformer):
            return GraphTransformer.of(export, folder, **_LOCAL)
    for place in _checkpoints(where, entry.kind):
        check_files(place)
    with _quiet(), reported_damage(where, entry.kind):
        return entry.kind.load(
            str(folder),
            subfolder=entry.path,
            token=None,
            cache_folder=None,
            revision=None,
            model_kwargs=None,
            processor_kwargs=None,
            config_kwargs=None,
            backend="torch",
            **_LOCAL,
        )


def _checkpoints(where: Path, kind: Any) -> list[Path]:
    """Folders of a module that must contain weights."""
    if issubclass(kind, Router):
        return [
            place for path, route_kind in routes(where).items() for place in _checkpoints(where / path, route_kind)
        ]
    if issubclass(kind, Transformer):
        return [where, *(place for place in [where / "knowledge_injection"] if place.is_dir())]
    return [where] if where.is_dir() and any((*where.glob("*.safetensors"), *where.glob("*.bin"))) else []


def _plain(folder: Path) -> dict[str, Any]:
    """An encoder from a plain checkpoint: mean pooling, or the last token for a decoder."""
    check_files(folder)
    with _quiet(), reported_damage(folder, Transformer):
        transformer = Transformer(
            str(folder), model_kwargs=dict(_LOCAL), processor_kwargs=dict(_LOCAL), config_kwargs=dict(_LOCAL)
        )
        modules: dict[str, Any] = {"0": transformer}
        if transformer.module_output_name == "token_embeddings":
            config: Any = transformer.config
            last = (config.architectures or [""])[0].endswith("ForCausalLM") and getattr(config, "is_causal", True)
            modules["1"] = Pooling(transformer.get_embedding_dimension(), "lasttoken" if last else "mean")
    return modules


def _encoders(where: Path, module: Any) -> Iterator[tuple[Path, Any]]:
    """The encoders of transformers in a module, each with its folder."""
    if isinstance(module, Transformer):
        yield where, module
    elif isinstance(module, Router):
        file = where / module.config_file_name
        structure = read_object(file if file.exists() else where / "config.json")["structure"]
        for route, made in module.sub_modules.items():
            part: Any
            for path, part in zip(structure[route], made.children()):
                yield from _encoders(where / path, part)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress transformers' report of missing and unused tensors; relevant ones are reported in one line."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def _keep_card(model: Any, source: Source, *, keep: bool) -> None:
    """sentence-transformers' steps after loading a folder: saving keeps its README, and the card names the base model."""
    card = source.folder / "README.md"
    if keep and card.is_file() and hasattr(model, "_model_card_text"):
        model._model_card_text = card.read_text("utf-8", errors="replace")
    if source.repository and not is_offline_mode():
        model.model_card_data.set_base_model(source.repository, revision=source.folder.name)


def _forget_code(module: Any) -> None:
    """Remove references to code that was not run from an encoder, so that no release refers to it."""
    vars(module.model.config).pop("auto_map", None)
    if module.tokenizer is not None:
        module.tokenizer.init_kwargs.pop("auto_map", None)


def _named(module: Any, source: Source, where: Path) -> None:
    """Set the origin of an encoder, which adapters of peft record: its own folder, or the repository and the folder in it.

    sentence-transformers sets the folder of the whole model, which for a repository is that of the cache.
    """
    below = where.relative_to(source.folder).as_posix()
    if not source.repository and below == ".":
        return
    name = f"{source.repository}/{below}".removesuffix("/.") if source.repository else str(where)
    module.model.name_or_path = module.model.config.name_or_path = name
    if module.tokenizer is not None:
        module.tokenizer.name_or_path = name
