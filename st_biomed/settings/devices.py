"""Checks that a requested device exists."""

from __future__ import annotations

from st_biomed.errors import InputError
from st_biomed.settings.checks import Check


def check_device(device: str | None) -> None:
    """Reject a device that does not exist.

    Args:
        device: Its name in torch; ``None`` for the best available.

    Raises:
        InputError: Torch knows no such device, or this machine has none.
    """
    if device is None:
        return
    import torch

    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    try:
        if torch.device(device).type == "meta":
            raise RuntimeError
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError):
        raise InputError(f"device {device!r} is not available; available are {', '.join(devices)}") from None


def _not_there(name: str, value: str) -> str | None:
    try:
        check_device(value)
    except InputError as error:
        return str(error)
    return None


DEVICE = Check(_not_there)
"""The check of an option."""
