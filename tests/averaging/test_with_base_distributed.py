"""Two processes choose one share of the trained weights, though rounding makes their figures differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.two_processes import in_two_processes

BEST = {0: 0.3, 1: 0.8}
"""The share with the best figures, by rank; far apart, so that the chosen one tells whose it is."""


def process(rank: int, folder: str, out: str) -> dict[str, Any]:
    """Average a trained encoder with its base; the share and the weights go to a file."""
    from st_biomed.averaging.with_base import AverageWithBase
    from st_biomed.encoder import load_encoder
    from tests.averaging.test_with_base import Peak, first, set_first

    model = load_encoder(folder, device="cpu")
    set_first(model, 0.0)
    average = AverageWithBase(model, "base", None, [Peak("peak", BEST[rank], model)])
    set_first(model, 1.0)
    found: dict[str, Any] = {
        "shares": [part["weight"] for part in average.apply(model)["models"]],
        "first": first(model),
    }
    return found


@pytest.fixture(scope="module")
def ranks(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_two_processes(process, tiny_bert_folder, tmp_path_factory.mktemp("ranks"))


def test_all_processes_take_the_share_of_the_main_one(ranks: list[dict[str, Any]]):
    """Catches processes that release different averages, each with its own choice."""
    for found in ranks:
        assert found["shares"] == pytest.approx([1 - BEST[0], BEST[0]])
        assert found["first"] == pytest.approx(BEST[0], abs=1e-6)
