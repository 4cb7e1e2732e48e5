"""The invented terminology that tests and examples run on."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import ReaderContract


class TestToy(ReaderContract):
    reader = "toy"


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy")


def test_default_size_is_small_but_trainable(toy: Terminology) -> None:
    assert 140 <= toy.n_concepts <= 170
    assert 360 <= toy.n_texts <= 440
    assert toy.sources["TOY"].redistributable


def test_it_has_what_is_awkward_in_real_terminologies(toy: Terminology) -> None:
    """Catches a toy too tame to test with: no ambiguity, one parent each, one relation."""
    assert len(toy.ambiguous_texts) >= 3
    n_parents = {}
    for child in toy.parents["child"].to_pylist():
        n_parents[child] = n_parents.get(child, 0) + 1
    assert max(n_parents.values()) == 2
    assert set(toy.relations["relation"].unique().to_pylist()) == {"has_site", "adjacent_to", "progresses_to"}
    assert set(toy.types["type"].unique().to_pylist()) == {"disorder", "organ"}
    assert (toy.concept_texts.counts == 1).any()


def test_siblings_share_a_head_and_synonyms_a_stem(toy: Terminology) -> None:
    """Catches names that no encoder could learn from their words."""
    assert toy.strings[toy.preferred_texts[toy.concept("TOY:D0.1")]] == "drodthic flumpa disease"
    assert toy.strings[toy.preferred_texts[toy.concept("TOY:D0.2")]] == "terkic flumpa disease"
    for code in toy.codes:
        if code.startswith("TOY:D"):
            names = [set(name.replace(",", "").split()) for name in toy.concept_names(code)]
            assert set.intersection(*names), code


def test_size_follows_the_arguments() -> None:
    small = Terminology.read("toy", trees=2, depth=2, branching=3, synonyms=0)
    diseases = [code for code in small.codes if code.startswith("TOY:D")]
    assert len(diseases) == 2 * (1 + 3)
    assert small.n_concepts == 8 + 2 + 1 + 1  # diseases, glands, their parent, the disease of both trees


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth of reader 'toy' must be at least 1, found 0"),
        ({"synonyms": 4}, "synonyms of reader 'toy' must be 0 to 3, found 4"),
        ({"trees": 400, "branching": 30}, "has 420 words"),
    ],
)
def test_bad_numbers_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("toy", **options)
