"""What a card says of the open points of a paper, under arguments that are not the defaults."""

from __future__ import annotations

from typing import Any

import pytest

from recipes.hiprbert import HiPrBERTArguments
from recipes.italian_kge import ItalianArguments
from recipes.knowledge_injection import InjectionArguments
from recipes.open_encoder import OpenEncoderArguments
from recipes.sapbert import SapBERTArguments
from st_biomed.losses.miners import MODES
from st_biomed.training.readings import (
    hiprbert_readings,
    injection_readings,
    italian_readings,
    open_encoder_readings,
    sapbert_readings,
)


def test_the_steepness_is_that_of_the_options():
    """Catches a card with the default beside another value in the table of arguments."""
    assert "alpha (1)" in sapbert_readings(SapBERTArguments())[0]
    changed = sapbert_readings(SapBERTArguments(loss_options="alpha=2,beta=50"))[0]
    assert "alpha (2) is the steepness of positives and beta (50)" in changed


@pytest.mark.parametrize(
    ("given", "says", "silent"),
    [
        ({}, "not at least the margin farther", "All positives"),
        ({"mining": "hard"}, "whose negative is not farther than the positive", "at least the margin"),
        ({"mine": "negatives"}, "not at least the margin farther than the positive. All positives are kept.", "mode"),
        ({"synonym_preset": "coder"}, "Hard pairs are mined", "triplets"),
        ({"synonym_preset": "coder", "margin": 0.1}, "triplets", "All positives"),
    ],
)
def test_the_kept_pairs_are_those_of_the_miner(given: dict[str, Any], says: str, silent: str):
    """Catches triplets of the margin where another mode or miner is in force."""
    (sentence,) = hiprbert_readings(HiPrBERTArguments(**given), ["synonyms"])
    assert says in sentence and silent not in sentence


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_told(mode: str):
    (sentence,) = hiprbert_readings(HiPrBERTArguments(mining=mode), ["synonyms"])
    assert "kept here are those whose negative is " in sentence


def test_synonyms_with_a_temperature_are_not_mined():
    """Catches a card that speaks of mined synonyms where none are, and one that forgets the mined relations."""
    mined, contrasted = (
        open_encoder_readings(OpenEncoderArguments(parts=["synonyms"], synonym_temperature=t)) for t in (None, 0.05)
    )
    assert "Hard pairs are mined" in mined[0] and "InfoNCE" not in " ".join(mined)
    assert "InfoNCE, temperature 0.05" in contrasted[0] and "mined from" not in " ".join(contrasted)
    both = open_encoder_readings(OpenEncoderArguments(parts=["synonyms", "relations"], synonym_temperature=0.05))
    assert "Hard pairs are mined" in both[0] and "InfoNCE" in both[1]


def test_the_temperature_of_the_injection_is_told():
    assert "similarities unscaled" in injection_readings(InjectionArguments())[1]
    assert "similarities divided by 0.5" in injection_readings(InjectionArguments(temperature=0.5))[1]


@pytest.mark.parametrize("pools_mentions", [True, False])
def test_pooling_over_mentions_is_told_where_it_is(pools_mentions: bool):
    """Catches a card of a first token that says that all tokens are pooled."""
    sentences = italian_readings(ItalianArguments(loss="barlow_twins"), False, pools_mentions)
    assert any("pool" in sentence for sentence in sentences) is pools_mentions
    assert not any("are positives" in sentence for sentence in sentences)
