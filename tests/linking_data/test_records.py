from __future__ import annotations

import numpy as np
import pytest

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDictionary, Mention


@pytest.mark.parametrize("text", ["ZF", "Z-F", "ZF2", "mZFs", "ZFA IV", "H.ZF"])
def test_what_is_written_as_an_abbreviation(text: str) -> None:
    assert Mention(text, ()).is_abbreviation


@pytest.mark.parametrize("text", ["Z", "zf", "Zorb", "Zorb Flumpa", "ZF of the vole", "SKARKS OF FLUMPA", "ZorbFlump"])
def test_what_is_not(text: str) -> None:
    """Catches capitalized names, and names in capitals, counted as abbreviations."""
    assert not Mention(text, ()).is_abbreviation


def test_an_expansion_changes_nothing_about_it() -> None:
    """Catches figures before and after expansion that are split at different mentions."""
    assert Mention("ZF", (), parts=("zorb flumpa",), expansion="zorb flumpa").is_abbreviation
    assert not Mention("mild ZF lesion", (), expansion="mild zorb flumpa lesion").is_abbreviation


def test_ids_of_a_dictionary_are_distinct() -> None:
    """Catches two places for one id, of which gold would know one."""
    table = CSR.from_pairs(np.array([0, 1]), np.array([0, 1]), 2)
    with pytest.raises(InputError, match=r"dictionary: ids must be distinct, found 'X1' twice"):
        LinkingDictionary(["zorb", "flumpa"], ["X1", "X1"], table)


def test_entries_are_those_one_by_one() -> None:
    dictionary = LinkingDictionary.from_entries([("zorb", ["X2", "X1"]), ("flumpa", ["X1"]), ("zorb", ["X3"])])
    assert [(name, frozenset(ids)) for name, ids in dictionary.entries()] == [dictionary.entry(i) for i in range(3)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LinkingDictionary.from_entries([("zorb", "X1")]),
            "dictionary: the ids of entry 1: expected a list of strings",
        ),
        (lambda: Mention("zorb", "X1"), "gold: expected a list of strings, found 'X1'"),
        (lambda: Mention("zorb", ("X1",)), "gold: the ids of a part: expected a list of strings, found 'X1'"),
        (lambda: Mention("zorb", (frozenset({"X1"}),), parts="zorb"), "parts: expected a list of strings"),
    ],
)
def test_one_string_in_place_of_several_is_refused(make, message: str) -> None:
    """Catches ids that are the letters of one id: every mention would be linked wrongly, or found right by chance."""
    with pytest.raises(InputError, match=f"^{message}"):
        make()
