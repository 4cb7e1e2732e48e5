"""Losses and miners by name, as compared by SapBERT (Table 6): the values of ``--loss`` and ``--miner``."""

from __future__ import annotations

import importlib
import math
import re
from typing import Any

from torch import nn

from st_biomed.errors import InputError, check_name
from st_biomed.losses.miners import Miner, MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import PRESETS
from st_biomed.losses.published_form import FORMS, check_miner

LOSSES = {
    "ms": ("multi_similarity", "MultiSimilarityLoss"),
    "infonce": ("info_nce", "InfoNCELoss"),
    "nca": ("nca", "NCALoss"),
    "lifted": ("lifted_structure", "LiftedStructureLoss"),
    "lifted_generalized": ("generalized_lifted_structure", "GeneralizedLiftedStructureLoss"),
    "circle": ("circle", "CircleLoss"),
    "triplet": ("max_margin_triplet", "MaxMarginTripletLoss"),
    "cosine": ("cosine", "CosineLoss"),
    "marginal": ("synonym_marginalization", "SynonymMarginalizationLoss"),
}
"""File and class of each loss; the defaults of the classes are those of the published code. The last one is BioSyn's."""

TWO_FORMS = ("infonce", "nca", "lifted")
"""Losses whose published form differs from the loss of the mined pairs; of the others both forms are the same."""

CACHED = {
    "ms": ("cached", "CachedMultiSimilarityLoss"),
    "infonce": ("cached", "CachedInfoNCELoss"),
}

MINERS: dict[str, Miner | None] = {
    "none": None,
    "triplet": TripletMarginMiner(0.2),  # SapBERT's code
    "ms": MultiSimilarityMiner(0.1),  # CODER's
}


_NO_NUMBERS = ("name", "model", "miner", "form", "mini_batch_size", "lookup", "mentions", "names")


def miner_by_name(name: str) -> Miner | None:
    """The miner with a name from :data:`MINERS`; ``None`` for ``"none"``, which uses all pairs.

    Raises:
        InputError: An unknown name.
    """
    return MINERS[check_name("miner", name, MINERS)]


def check_form(name: str, miner: str, form: str) -> None:
    """Reject a form that a loss does not have with a miner, before anything is read.

    Raises:
        InputError: An unknown form, the published form of a loss without published code, or of one of
            :data:`TWO_FORMS` with a miner that lists no triplets.
    """
    if check_name("loss_form", form, FORMS) == "published":
        if name == "cosine":
            raise InputError("loss_form: no code of loss 'cosine' is published; the form 'pairs' is needed")
        if name in TWO_FORMS:
            check_miner(miner_by_name(miner))


def loss_by_name(
    name: str,
    model: nn.Module | None,
    *,
    miner: str = "triplet",
    form: str = "pairs",
    mini_batch_size: int | None = None,
    **options: Any,
) -> nn.Module:
    """A loss of the comparison with the settings of the published code.

    Args:
        name: A key of :data:`LOSSES`.
        model: The encoder, or ``None``.
        miner: A key of :data:`MINERS`; ``"triplet"`` in the paper, for all losses.
        form: ``"pairs"``, or ``"published"`` to count a mined pair once for each of its triplets
            (:class:`~st_biomed.losses.published_form.PublishedFormLoss`). Only the losses of :data:`TWO_FORMS` differ.
        mini_batch_size: Names embedded at a time by the cached form; not cached by default.
        **options: Arguments of the class: ``lookup``, ``gather_across_devices``, or a parameter of the loss.

    Raises:
        InputError: An unknown name or option, a loss without a cached or published form, a loss whose extra is not
            installed, or an argument out of range.
    """
    homes = LOSSES
    check_name("loss", name, LOSSES)
    check_form(name, miner, form)
    if name in TWO_FORMS:
        options = {"form": form, **options}
    if mini_batch_size is not None:
        if name not in CACHED:
            raise InputError(f"mini_batch_size: loss {name!r} has no cached form; {', '.join(map(repr, CACHED))} have")
        homes, options = CACHED, {"mini_batch_size": mini_batch_size, **options}
    file, class_name = homes[name]
    loss_class = getattr(importlib.import_module(f"st_biomed.losses.{file}"), class_name)
    published = PRESETS["sapbert"] if name == "ms" else {}
    try:
        return loss_class(model, **{**published, "miner": miner_by_name(miner), **options})
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None:
            raise
        raise InputError(f"loss {name!r} has no option {unknown[1]!r}") from error


def parse_loss_options(text: str) -> dict[str, float]:
    """``"beta=50,base=0.6"`` as keyword arguments of :func:`loss_by_name`.

    Raises:
        InputError: A part that is not ``name=number`` with a finite number, or an argument that is no number.
    """
    options = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        try:
            options[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not math.isfinite(options[name.strip()]):
            raise InputError(f"loss_options must have the form NAME=NUMBER,..., found {pair!r}")
        if name.strip() in _NO_NUMBERS:
            raise InputError(f"loss_options: {name.strip()} is not a number of a loss")
    return options
