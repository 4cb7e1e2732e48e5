"""The weights of a model: complete files, all tensors that its vectors depend on, and only finite numbers."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from st_biomed.encoder.check_loaded import unused_parameters
from st_biomed.encoder.json_files import AGAIN, read_object
from st_biomed.errors import InputError

Shapes = dict[str, tuple[int, ...]]

_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
"""sentence-transformers reads the first one that exists."""
_DISTRIBUTED = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors|\.metadata")
_OF_OTHERS = ("*.h5", "*.msgpack", "*.onnx", "*.gguf", "*.ckpt", "*.pt", "*.pth", "*.safetensors", "*.bin")
_SAFE_TORCH = (2, 6)
"""In earlier versions, a pickle could run code although torch was to read only tensors (CVE-2025-32434)."""
_SHOWN = 3


def check_files(where: Path) -> Shapes:
    """Read the names and shapes of the tensors in a module's folder.

    Args:
        where: The folder.

    Returns:
        Tensor to shape.

    Raises:
        InputError: A file that is missing, damaged or truncated, or that contains objects other than tensors.
    """
    if sharded := [file.name for file in where.iterdir() if _DISTRIBUTED.fullmatch(file.name)]:
        raise InputError(f"{where / sharded[0]}: belongs to a distributed checkpoint: save the model in one piece")
    first = next((where / name for name in _FILES if (where / name).exists()), None)
    if first is None:
        others = sorted(file.name for pattern in _OF_OTHERS for file in where.glob(pattern))
        held = f"; the folder has {', '.join(others[:_SHOWN])}" if others else ""
        raise InputError(f"{where / _FILES[0]}: is missing; it has the weights{held}: {AGAIN}")
    if first.suffix != ".json":
        return _tensors(first)
    shapes: Shapes = {}
    listed = read_object(first).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise InputError(f"{first}: has no weight_map, tensor to file: {AGAIN}")
    for name in sorted({str(file) for file in listed.values()}):
        if not re.fullmatch(r"[\w.-]+\.(safetensors|bin)", name) or not (where / name).is_file():
            raise InputError(f"{where / name}: is missing, but {first.name} lists it: {AGAIN}")
        shapes |= _tensors(where / name)
    if lost := [tensor for tensor in listed if tensor not in shapes]:
        raise InputError(f"{first}: lists {first_few(lost)}, which none of its files contains: {AGAIN}")
    return shapes


def _tensors(file: Path) -> Shapes:
    if file.suffix == ".safetensors":
        try:
            with safe_open(file, framework="pt") as tensors:
                return {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise InputError(f"{file}: is damaged or truncated ({error}): {AGAIN}") from error
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < _SAFE_TORCH:
        raise InputError(
            f"{file}: is a pickle, which torch {torch.__version__} cannot read without running it: install torch "
            f"{'.'.join(map(str, _SAFE_TORCH))} or newer, or save the model as safetensors"
        )
    try:
        tensors = torch.load(file, map_location="meta", weights_only=True, mmap=zipfile.is_zipfile(file) or None)
        return {name: tuple(tensor.shape) for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
    except Exception as error:  # torch may raise any exception for a damaged pickle
        raise InputError(
            f"{file}: holds objects other than tensors, or is truncated ({type(error).__name__}); no code was run: "
            f"{AGAIN}, as safetensors if you can"
        ) from error


def check_loaded(where: Path, transformer: Any, model: Any) -> None:
    """Check that every tensor that a model's vectors depend on was in its files.

    transformers initializes missing tensors at random. Some tensors may be missing: a checkpoint of a masked language
    model has no pooler, which no vector depends on.

    Args:
        where: Folder of the encoder.
        transformer: The module with the encoder, on the CPU.
        model: The whole model.

    Raises:
        InputError: With the tensors' names.
    """
    encoder, held = transformer.model, check_files(where)
    suspects = _not_by_name(encoder, held)
    if suspects and (suspects := suspects - unused_parameters(model, encoder, suspects)):
        lost = sorted(suspects & _reported_missing(where, encoder))
        if lost:
            raise InputError(
                f"{where}: the weights lack {first_few(lost)}, which transformers would initialize at random: {AGAIN}"
            )


def check_finite_weights(where: Path, module: Any) -> None:
    """Check that the weights of a module are finite.

    Args:
        where: Its folder.
        module: The module on the CPU.

    Raises:
        InputError: With the name of a tensor with NaN or infinity.
    """
    for name, tensor in module.named_parameters():
        if tensor.is_floating_point() and tensor.numel() and not all(edge.isfinite() for edge in tensor.aminmax()):
            file = next((where / file for file in _FILES if (where / file).exists()), where)
            raise InputError(f"{file}: tensor {name} contains NaN or infinity: {AGAIN}")


def _not_by_name(encoder: Any, held: Shapes) -> set[str]:
    """Parameters without a tensor of the same name in the files, ignoring prefixes; no tied ones if one has a tensor."""
    names = {old.replace(".gamma", ".weight").replace(".beta", ".bias") for old in held} | set(held)
    ends = {".".join(parts[i:]) for parts in (name.split(".") for name in names) for i in range(len(parts))}
    groups: dict[int, list[str]] = {}
    for name, tensor in encoder.named_parameters(remove_duplicate=False):
        groups.setdefault(tensor.data_ptr(), []).append(name)
    return {group[0] for group in groups.values() if not any(name in ends for name in group)}


def _reported_missing(where: Path, encoder: Any) -> set[str]:
    """The tensors that transformers reports as missing; it knows those that were renamed."""
    with torch.random.fork_rng(devices=[]):
        _, report = type(encoder).from_pretrained(
            str(where), config=encoder.config, output_loading_info=True, local_files_only=True
        )
    return set(report["missing_keys"])


def wrong_shapes(where: Path) -> list[str]:
    """Tensors whose shape differs from the configuration, each in one message."""
    from transformers import AutoModel

    with torch.random.fork_rng(devices=[]):
        _, report = AutoModel.from_pretrained(
            str(where),
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    return [f"{name} is {list(shape)}, not {list(expected)}" for name, shape, expected in report["mismatched_keys"]]


def first_few(tensors: list[str]) -> str:
    """The first of some tensors, and the number of further ones."""
    more = f" and {len(tensors) - _SHOWN:,} more" if len(tensors) > _SHOWN else ""
    return f"{', '.join(tensors[:_SHOWN])}{more}"
