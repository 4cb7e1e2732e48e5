"""The files of this package's code that a released model may carry for people who do not have the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from st_biomed.encoder.json_files import nested, read_object

OWN_CODE = {
    f"{name}.py": Path(__file__).parents[1] / "modules" / f"{name}.py"
    for name in (
        "bottleneck_adapter",
        "knowledge_injected_transformer",
        "knowledge_injection_layer",
        "mention_pooling",
    )
}
"""Files of code that a released model may carry, and where this package has them. Loading a model here never reads them."""


def is_own_code(path: Path) -> bool:
    """Whether a file is, byte for byte, one that a release may carry."""
    return path.name in OWN_CODE and path.read_bytes() == OWN_CODE[path.name].read_bytes()


def code_of_others(folder: Path) -> tuple[Path, str] | None:
    """The first class of somebody else that a saved model's files name as code to fetch, and the file; nothing where all are ours.

    Args:
        folder: Of the model.

    Raises:
        InputError: A file that cannot be read.
    """
    for file in sorted((*folder.rglob("config.json"), *folder.rglob("*_config.json"))):
        for keys, value in nested(read_object(file)):
            if keys[-1] == "auto_map":
                for named in _names(value):
                    if f"{named.rpartition('.')[0]}.py" not in OWN_CODE:
                        return file, f"auto_map asks for {named}"
    return None


def _names(value: Any) -> Iterator[str]:
    """Every class in an ``auto_map``, which holds names, or lists of a slow and a fast one."""
    if isinstance(value, dict):
        value = list(value.values())
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, (dict, list)):
            yield from _names(one)
        elif one is not None:
            yield str(one)
