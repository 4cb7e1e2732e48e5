"""The files of this package's code that a released model may contain, for users without the package."""

from __future__ import annotations

from pathlib import Path

OWN_CODE = {
    f"{name}.py": Path(__file__).parents[1] / "modules" / f"{name}.py"
    for name in (
        "bottleneck_adapter",
        "knowledge_injected_transformer",
        "knowledge_injection_layer",
        "mention_pooling",
    )
}
"""Files of code in released models, and their places in this package. Loading a model never reads them."""


def is_own_code(path: Path) -> bool:
    """Whether a file is byte for byte one that a release may contain."""
    return path.name in OWN_CODE and path.read_bytes() == OWN_CODE[path.name].read_bytes()
