from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDictionary, open_linking
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.contracts.linking_contract import FIXTURES

FILE = FIXTURES / "tsv" / "mentions.tsv"


@pytest.fixture
def terminology() -> Terminology:
    terms = [Term("ZORB:X0001", "flumpa"), Term("ZORB:X0001", "flumpas", "synonym"), Term("ZORB:X0002", "flumpa")]
    return Terminology.from_records(terms, SourceInfo("ZORB", "Zorb"))


def test_a_terminology_is_a_dictionary_with_one_entry_for_equal_names(terminology: Terminology) -> None:
    dataset = open_linking("tsv", FILE, dictionary=terminology, prefix="ZORB")
    entries = {dataset.dictionary.entry(i) for i in range(len(dataset.dictionary))}
    assert entries == {("flumpa", frozenset({"ZORB:X0001", "ZORB:X0002"})), ("flumpas", frozenset({"ZORB:X0001"}))}
    assert dataset.missing("all") == ["ZORB:X0003"]


def test_a_dictionary_that_is_given_keeps_its_ids() -> None:
    """Catches a prefix added to ids that somebody else made."""
    dictionary = LinkingDictionary.from_entries([("flumpa", ["X0001"])])
    dataset = open_linking("tsv", FILE, dictionary=dictionary)
    assert dataset.dictionary is dictionary
    assert dataset.missing("all") == ["X0002", "X0003"]
    tally = dataset.tallies["gold ids of all"]
    assert tally.to_dict() == {"read": 3, "kept": 1, "dropped": {"absent from the dictionary": 2}}


def test_unknown_formats_missing_dictionaries_and_no_mention_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown linking format 'ncbi': allowed are .*'ncbi_disease'"):
        open_linking("ncbi", FILE)
    with pytest.raises(
        InputError,
        match=r"dictionary: the files of this format have no names of concepts; pass the names with dictionary=",
    ):
        open_linking("tsv", FILE)
    (tmp_path / "empty.tsv").write_text("\n")
    with pytest.raises(InputError, match=r"empty.tsv: no mention was read \(0 read, 0 kept, 0 dropped\)"):
        open_linking("tsv", tmp_path / "empty.tsv", dictionary=FIXTURES / "tsv" / "names.txt")
