"""Rows of all processes as one batch, and whether all processes are in a batch of the same loss."""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError

_numbers: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


def gathered(rows: Tensor) -> Tensor:
    """The rows of all processes, of equally many each; with gradient if they are floating-point numbers."""
    from sentence_transformers.util import all_gather, all_gather_with_grad

    return all_gather_with_grad(rows) if rows.is_floating_point() else all_gather(rows)


def check_same_loss(loss: nn.Module, device: torch.device) -> None:
    """Reject processes that are in batches of different losses; collective over all processes.

    With several datasets and the mixing of sentence-transformers, each process draws its own dataset. Texts of one dataset would
    then be gathered into the loss of another, without an error.

    Args:
        loss: A loss that gathers texts. Two losses of one class, with equal parameters and labels of one kind, are the same.
        device: Device of the batch.

    Raises:
        InputError: On every process, if the losses differ.
    """
    from sentence_transformers.util import get_world_size

    if get_world_size() == 1:
        return
    number = torch.tensor([_number(loss)], device=device)
    if (gathered(number) != number).any():
        raise InputError(
            f"gather_across_devices of {type(loss).__name__}: the processes are in batches of different datasets; give the "
            "training arguments multi_dataset_batch_sampler=RankAlignedMixing()"
        )


def _number(loss: nn.Module) -> int:
    """A number that stands for the class and the parameters of a loss, the same in every process."""
    if loss not in _numbers:
        settings: Any = loss.get_config_dict()  # type: ignore[operator]
        _numbers[loss] = crc32(f"{type(loss).__name__} {json.dumps(settings, sort_keys=True, default=_kind)}".encode())
    return _numbers[loss]


def _kind(value: object) -> str:
    return type(value).__name__
