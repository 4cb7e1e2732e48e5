"""The modules that a model's folder lists, each with its installed class, and all classes that they name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from st_biomed.encoder.allowed_classes import is_activation, is_host_module, module_classes, word_tokenizers
from st_biomed.encoder.foreign_code import ForeignCode
from st_biomed.encoder.json_files import AGAIN, read_list, read_object
from st_biomed.encoder.transformer_files import check_inside, check_plain_path, check_tokenizer, check_transformer
from st_biomed.errors import InputError

MODULES = "modules.json"


@dataclass(frozen=True)
class ListedModule:
    """An entry of ``modules.json``.

    Attributes:
        name: Its name in the model.
        path: Path of its files below the model's folder; empty for the folder itself.
        kind: The installed class.
        kwargs: Names of the arguments of ``encode`` that it accepts.
    """

    name: str
    path: str
    kind: Any
    kwargs: list[str]


def listed_modules(folder: Path) -> list[ListedModule]:
    """The entries of a folder's ``modules.json``; nothing for a plain checkpoint of transformers.

    All files of the folder that name a class, a file or another repository are read, but nothing is loaded yet.

    Args:
        folder: Folder of the model.

    Raises:
        ForeignCode: A file names a class that neither sentence-transformers nor this package has.
        InputError: A damaged file, or a path that leads out of the folder.
    """
    listed = folder / MODULES
    model = read_object(folder / "config_sentence_transformers.json")
    if not listed.exists():
        if model:
            raise InputError(f"{listed}: is missing, but config_sentence_transformers.json needs it: {AGAIN}")
        check_transformer(folder, folder)
        return []
    if (kind := model.get("model_type", "SentenceTransformer")) != "SentenceTransformer":
        raise InputError(f"{folder}: is a {kind}; expected a SentenceTransformer")
    modules = [_listed(folder, entry) for entry in read_list(listed)]
    if len({entry.name for entry in modules}) != len(modules):
        raise InputError(f"{listed}: names two modules {[entry.name for entry in modules]}: {AGAIN}")
    for entry in modules:
        _check(folder, folder / entry.path, entry.kind)
    return modules


def _listed(folder: Path, entry: dict[str, Any]) -> ListedModule:
    file = folder / MODULES
    named, name, path, kwargs = (entry.get(key) for key in ("type", "name", "path", "kwargs"))
    if not isinstance(named, str) or not isinstance(name, str) or not isinstance(path, str) or not name or "." in name:
        raise InputError(f"{file}: a module needs a name, a path and a type, found {entry}: {AGAIN}")
    if not isinstance(kwargs or [], list) or not all(isinstance(argument, str) for argument in kwargs or []):
        raise InputError(f"{file}: kwargs of a module must be names, found {kwargs!r}: {AGAIN}")
    kind = module_classes().get(named)
    if kind is None:
        raise ForeignCode(file, f"{named} is a class of neither sentence_transformers nor this package")
    check_inside(file, path)
    where = folder / path
    if path and not where.is_dir() and kind.__name__ not in _WITHOUT_FILES:
        raise InputError(f"{where}: is missing; it is the folder of module {name!r} of type {named}: {AGAIN}")
    return ListedModule(name, path.rstrip("/"), kind, list(kwargs or []))


_WITHOUT_FILES = ("Normalize",)
"""Modules that save nothing: Git and the Hub do not keep empty folders."""


def _check(folder: Path, where: Path, kind: Any) -> None:
    """Check the names in the files of one module."""
    from sentence_transformers.base.modules import Dense, Router, Transformer
    from sentence_transformers.sentence_transformer.modules import WordEmbeddings

    if issubclass(kind, Transformer):
        check_transformer(folder, where)
        return
    if issubclass(kind, Router):
        for path, route in routes(where).items():
            _check(folder, where / path, route)
        return
    settings = read_object(where / kind.config_file_name)
    if issubclass(kind, Dense):
        named = settings.get("activation_function")
        if named is not None and not (isinstance(named, str) and is_activation(named)):
            raise ForeignCode(
                where / kind.config_file_name, f"activation_function {named!r} is not a module of torch.nn"
            )
    elif issubclass(kind, WordEmbeddings):
        named = settings.get("tokenizer_class")
        if named not in word_tokenizers():
            fault = f"tokenizer_class {named!r} is not of sentence_transformers"
            raise ForeignCode(where / kind.config_file_name, fault)
        if word_tokenizers()[named] == "TransformersTokenizerWrapper":
            check_tokenizer(where, needed=True)


def routes(where: Path) -> dict[str, Any]:
    """The modules of a router by their folders below its own.

    Raises:
        ForeignCode: A foreign class; this package's classes count as foreign, because the router imports by name.
        InputError: A damaged file, or a folder that is not below its own.
    """
    file = where / "router_config.json"
    file = file if file.exists() else where / "config.json"  # its name in earlier versions
    types = read_object(file).get("types")
    if not isinstance(types, dict) or not types:
        raise InputError(f"{file}: a router needs types, folder to class, found {types!r}: {AGAIN}")
    kinds = {}
    for path, named in types.items():
        kind = module_classes().get(named) if isinstance(named, str) else None
        if kind is None or not is_host_module(kind):
            raise ForeignCode(file, f"{named} is not a class of sentence_transformers")
        check_plain_path(file, path)
        kinds[path] = kind
    return kinds
