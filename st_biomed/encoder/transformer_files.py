"""The allowed names in the files of a transformers checkpoint: installed types and tokenizers, no imports."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path, PureWindowsPath
from typing import Any

from st_biomed.encoder.allowed_classes import is_model_type
from st_biomed.encoder.foreign_code import ForeignCode
from st_biomed.encoder.json_files import AGAIN, nested, read_object
from st_biomed.encoder.sentence_settings import check_kernel, check_sentence_settings
from st_biomed.errors import InputError

_CLASSES = {
    "tokenizer_class": re.compile(r"\w*Tokenizer(Fast)?|\w+Backend"),
    "slow_tokenizer_class": re.compile(r"\w*Tokenizer(Fast)?|\w+Backend"),
    "processor_class": re.compile(r"\w*Processor"),
    "image_processor_type": re.compile(r"\w*ImageProcessor(Fast|Pil)?"),
    "video_processor_type": re.compile(r"\w*VideoProcessor"),
    "feature_extractor_type": re.compile(r"\w*FeatureExtractor"),
}
_KERNELS = ("attn_implementation", "experts_implementation")
_PROCESSORS = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
_OF_BYTES = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
_WITHOUT_VOCABULARY = ("canine", "perceiver")
_VOCABULARIES = re.compile(
    r"tokenizer\.json|vocab\.(txt|json|model)|.*\.(model|spm|tiktoken)|bpe\.codes|tekken\.json|vocab\.bpe|tokenizer\.model\..*"
)


def check_transformer(folder: Path, where: Path) -> None:
    """Reject files that would run or import code, or read another repository, and damaged files.

    Args:
        folder: Folder of the model.
        where: Folder of the checkpoint: the model's folder or one in it.

    Raises:
        ForeignCode: A file names code, a kernel or another repository.
        InputError: A file that is damaged or missing.
    """
    for place in dict.fromkeys((folder, where)):
        if (adapter := place / "adapter_config.json").exists():
            base = read_object(adapter).get("base_model_name_or_path")
            raise ForeignCode(
                adapter,
                f"the folder contains only an adapter, for {base!r} (merge both with peft's merge_and_unload)",
            )
    kind = check_configuration(where / "config.json")
    check_tokenizer(where, needed=kind not in _WITHOUT_VOCABULARY)
    check_sentence_settings(where)


def check_configuration(path: Path, above: Collection[Path] = ()) -> str:
    """Check the configuration of an encoder, and the configurations that it names.

    Args:
        path: The file.
        above: Files that name it, which are being checked.

    Returns:
        The encoder's type.

    Raises:
        ForeignCode: A type that is not installed and has its own code, or a kernel of a repository.
        InputError: A damaged file, or an unknown type.
    """
    if not path.is_file():
        raise InputError(f"{path}: is missing: {AGAIN}")
    settings = read_object(path)
    kind, code = settings.get("model_type"), settings.get("auto_map")
    if not isinstance(kind, str) or not is_model_type(kind):
        if code:
            raise ForeignCode(path, f"model_type {kind!r} is not of transformers, auto_map asks for {_shown(code)}")
        raise InputError(f"{path}: model_type {kind!r} is unknown to the installed version of transformers: {AGAIN}")
    for keys, value in nested(settings):
        if keys[-1] == "auto_map" and len(keys) > 1:
            raise ForeignCode(path, f"{'.'.join(map(str, keys))} asks for {_shown(value)}")
        if str(keys[-1]).strip("_").removesuffix("_internal") in _KERNELS:
            check_kernel(path, keys[-1], value)
    if "transformers_weights" in settings:
        raise InputError(f"{path}: transformers_weights is not supported: name the weights model.safetensors")
    _check_classes(path, settings)
    others = settings.get("configuration_files") or []
    if not isinstance(others, list):
        raise InputError(f"{path}: configuration_files must be a list, found {others!r}: {AGAIN}")
    for name in others:
        check_plain_path(path, name)
        if (other := path.with_name(name)) not in (path, *above):
            check_configuration(other, (path, *above))
    return kind


def check_tokenizer(where: Path, *, needed: bool) -> None:
    """Check the settings of a tokenizer and of the processors that may replace it.

    Raises:
        ForeignCode: A class that is not of transformers.
        InputError: A damaged file, or a missing vocabulary.
    """
    for name in ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", *_PROCESSORS):
        settings = read_object(where / name)
        _check_classes(where / name, settings)
        if name in _PROCESSORS and settings.get("auto_map"):
            raise ForeignCode(where / name, f"auto_map asks for {_shown(settings['auto_map'])}")
    needed = needed and read_object(where / "tokenizer_config.json").get("tokenizer_class") not in _OF_BYTES
    if needed and not any(_VOCABULARIES.fullmatch(file.name) for file in where.iterdir()):
        raise InputError(f"{where}: has no vocabulary (for example tokenizer.json or vocab.txt): {AGAIN}")


def check_inside(file: Path, path: str) -> None:
    """Reject a path that leads out of a model's folder, on any system.

    Raises:
        InputError: It leads out of the folder.
    """
    windows_path = PureWindowsPath(path)
    if windows_path.anchor or ".." in windows_path.parts or "\0" in path:
        raise InputError(f"{file}: path {path!r} leads out of the model's folder; paths must be below it")


def check_plain_path(path: Path, name: object) -> None:
    """Reject a name that is not the plain name of a file.

    Raises:
        InputError: It contains a folder.
    """
    if not isinstance(name, str) or not name or "/" in name or "\\" in name or name in (".", ".."):
        raise InputError(f"{path}: names {name!r}; expected the name of a file in the same folder")


def _check_classes(path: Path, settings: dict[str, Any]) -> None:
    """Check names of classes, which transformers looks up among its own classes; no others are allowed."""
    for key, pattern in _CLASSES.items():
        value = settings.get(key)
        if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
            raise ForeignCode(path, f"{key} {value!r} is not a class of transformers")


def _shown(code: object) -> str:
    """The first class in an ``auto_map``."""
    named = next(iter(code.values()), None) if isinstance(code, dict) else code
    named = next(filter(None, named), None) if isinstance(named, list) else named
    return f"{named}"
