"""SapBERT's text files: each name once, and what is wrong with a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Term
from st_biomed.terminology import Terminology
from st_biomed.training_data.name_pairs import name_lines, pair_lines
from tests.contracts.reader_contract import FIXTURES, ReaderContract

PAIRS = FIXTURES / "gland_pairs.txt"


class TestNamePairs(ReaderContract):
    reader = "name_pairs"
    separator = b"||"
    path = PAIRS
    options = {"name": "NAME_PAIRS"}


def test_every_name_is_read_once_and_the_first_is_preferred():
    terminology = Terminology.read("name_pairs", PAIRS, name="G")
    assert terminology.codes == ["G:UMLS:F1", "G:UMLS:F2", "G:UMLS:F3"]
    assert terminology.concept_names("G:UMLS:F1") == ["Flumpic gland", "flumpa", "flumpa (upper)"]
    preferred = [terminology.strings[t] for t in terminology.preferred_texts]
    assert preferred == ["flumpa", "terkia", "mimpa, the other"]
    assert terminology.tallies["name_pairs rows"].dropped == {"repeated names of a concept": 3}


def test_what_is_written_is_read_again(tmp_path: Path):
    """Catches a writer and a reader that disagree; every concept with two names comes back whole."""
    records = [
        Term(f"X:{i}", f"name {i} {k}", "synonym" if k else "preferred") for i in range(40) for k in range(i % 6 + 1)
    ]
    toy = Terminology.from_records(records, Terminology.read("toy").sources["TOY"])
    (tmp_path / "names.txt").write_text("\n".join(name_lines(toy)) + "\n")
    (tmp_path / "pairs.txt").write_text("\n".join(pair_lines(toy)) + "\n")
    for file in ("names", "pairs"):
        again = Terminology.read("name_pairs", tmp_path / f"{file}.txt", name="N")
        expected = {code: set(toy.concept_names(code)) for code in toy.codes}
        if file == "pairs":
            expected = {code: names for code, names in expected.items() if len(names) > 1}
        assert {code.removeprefix("N:"): set(again.concept_names(code)) for code in again.codes} == expected


def test_pairs_are_distinct_unordered_and_capped():
    """Catches a pair written twice or with itself, and a cap that does nothing."""
    toy = Terminology.from_records(
        [Term("X:1", f"n{k:02}") for k in range(15)], Terminology.read("toy").sources["TOY"]
    )
    lines = list(pair_lines(toy, max_pairs_per_concept=1000))
    pairs = {frozenset(line.split("||")[1:]) for line in lines}
    assert len(lines) == len(pairs) == 105
    assert all(len(pair) == 2 for pair in pairs)
    capped = list(pair_lines(toy))
    assert len(capped) == 50
    assert capped == list(pair_lines(toy))
    assert capped != list(pair_lines(toy, seed=1))
    for argument, least, wrong in (("max_pairs_per_concept", 1, 0), ("seed", 0, -1)):
        with pytest.raises(InputError, match=f"{argument} must be an integer of at least {least}, found {wrong}"):
            next(pair_lines(toy, **{argument: wrong}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A||flu\n||flu\n", "pairs.txt:2: the names have no label"),
        ("A||flu\n\nA\n", "pairs.txt:3: label 'A' has no name"),
        ("A||flu||\n", "pairs.txt:1: label 'A' has an empty name"),
        ("", "no term was read"),
    ],
)
def test_a_wrong_line_is_named(text: str, message: str, tmp_path: Path):
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Terminology.read("name_pairs", path)
