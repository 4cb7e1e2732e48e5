"""The files of this package's code that a released model may carry for people who do not have the package."""

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
"""Files of code that a released model may carry, and where this package has them. Loading a model here never reads them."""


def is_own_code(path: Path) -> bool:
    """Whether a file is, byte for byte, one that a release may carry."""
    return path.name in OWN_CODE and path.read_bytes() == OWN_CODE[path.name].read_bytes()
