"""The concept lookup of a loss, from its argument, and a warning for labels that need one."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING
from weakref import WeakSet

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup


_seen: WeakSet[nn.Module] = WeakSet()


def concept_lookup(lookup: ConceptLookup | Terminology | None) -> ConceptLookup | None:
    """The lookup itself, or one made from a terminology.

    Raises:
        InputError: It is neither.
    """
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

    if lookup is None or isinstance(lookup, ConceptLookup):
        return lookup
    if isinstance(lookup, Terminology):
        return ConceptLookup(lookup)
    raise InputError(f"lookup must be a ConceptLookup, a Terminology or None, found {type(lookup).__name__}")


def warn_of_single_classes(loss: nn.Module, labels: Tensor) -> None:
    """Warn once, at the first training batch of a loss without a lookup, if no two rows of it have the same class.

    Args:
        labels: Classes of the rows, ``[B]``.
    """
    if not torch.is_grad_enabled() or loss in _seen:
        return
    _seen.add(loss)
    if len(labels) > 1 and len(labels.unique()) == len(labels):
        warnings.warn(
            f"{type(loss).__name__}: no two of the {len(labels)} rows of the first batch have the same label, so that none "
            "belong together. If the labels are text ids, pass lookup=terminology; otherwise use batches with several rows "
            "of a class",
            stacklevel=2,
        )
