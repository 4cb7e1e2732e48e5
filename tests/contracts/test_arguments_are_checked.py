"""Every number, name and mask of a loss, a miner or a plan of batches is checked where it is made."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from st_biomed import losses, samplers
from st_biomed.errors import InputError
from st_biomed.losses import miners
from st_biomed.samplers.mixing import RankAlignedMixing

GIVEN: dict[str, Any] = {"model": None, "kge": None, "teacher": np.ones((3, 2)), "graph_encoder": None}
NEEDED: dict[str, dict[str, Any]] = {
    name: {"node_weight": 0, "intermodal_weight": 0, "dgi_weight": 0}
    for name in ("BergamotLoss", "CachedBergamotLoss")
}
WRONG = (math.nan, math.inf, -1, "nonsense", [object()], object())


def makers() -> list[type]:
    """The losses that need no tables of their own, all miners, and the plans of batches."""
    made = [
        getattr(losses, name) for name in losses.__all__ if name.endswith("Loss") and not name.startswith("Cached")
    ]
    tables = ("EntityLinkingLoss", "KnowledgeInjectionLoss", "FewShotLoss", "DistilledLoss")
    made = [kind for kind in made if kind.__name__ not in tables]
    plans = [kind for name in samplers.__all__ if name.endswith("Plan") for kind in [getattr(samplers, name)]]
    return [*made, miners.TripletMarginMiner, miners.MultiSimilarityMiner, *plans, RankAlignedMixing]


def arguments_of(kind: type) -> dict[str, Any]:
    """The arguments of a class and of those that it hands the rest to, by their defaults."""
    found: dict[str, Any] = {}
    for base in (
        base for base in kind.__mro__ if "__init__" in vars(base) and base.__module__.startswith("st_biomed")
    ):
        for name, argument in inspect.signature(base).parameters.items():
            if argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
                found.setdefault(name, argument.default)
    return found


def checked() -> list[Any]:
    return [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}")
        for kind in makers()
        for name, default in arguments_of(kind).items()
        if name not in ("model", "settings") and not isinstance(default, bool) and not name.endswith("_language")
    ]


@pytest.mark.parametrize(("kind", "name"), checked())
def test_an_argument_that_cannot_work_is_one_line(kind: type, name: str) -> None:
    """Catches NaN that is trained on, a traceback, and a name of one source taken for its letters."""
    given = {key: value for key, value in GIVEN.items() if key in arguments_of(kind)} | NEEDED.get(kind.__name__, {})
    kind(**given)
    cosine = name.endswith("base") or (kind.__name__, name) in (("CircleLoss", "m"), ("CosineLoss", "margin"))
    for wrong in (value for value in WRONG if not (cosine and value == -1)):
        with pytest.raises(InputError) as error:
            kind(**{**given, name: wrong})
        assert "\n" not in str(error.value)
