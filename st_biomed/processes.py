"""Values that all processes of a training share."""

from __future__ import annotations

from typing import Any


def from_first_process(value: Any) -> Any:
    """The value of the first process, in all processes; it is pickled."""
    from sentence_transformers.util import get_world_size

    if get_world_size() == 1:
        return value
    import torch.distributed as dist

    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]
