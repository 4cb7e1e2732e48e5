from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "biosyn"
DICTIONARY = FOLDER / "dictionary.txt"


class TestBioSyn(LinkingContract):
    format = "biosyn"
    path = FOLDER
    dictionary = "dictionary.txt"
    damaged = "processed_train/9300001.concept"
    separator = b"||"


def test_parts_groups_alternatives_and_missing_concepts() -> None:
    """Catches a composite looked up as one string, ``+`` read as part of an id, and CUI-less read as a concept."""
    dataset = open_linking("biosyn", FOLDER, dictionary=DICTIONARY)
    _, composite = dataset.split("train")
    assert composite.parts == ("skark disease", "vorb disease")
    assert composite.gold == (frozenset({"X0003"}), frozenset({"X0004"}))
    assert (composite.start, composite.end) == (10, 32)
    assert dataset.split("dev")[0].gold == ()
    assert dataset.split("dev")[0].start == -1
    plus, comma = dataset.split("test")
    assert plus.gold == (frozenset({"X0005"}), frozenset({"X0006"}))
    assert comma.gold == (frozenset({"X0001", "X0011"}),)
    assert dataset.missing("test") == ["X0006"]
    assert dataset.documents == {"9300001": "flumpa of skark and vorb disease in voles"}


def test_raw_folders_and_a_single_folder() -> None:
    raw = open_linking("biosyn", FOLDER, dictionary=DICTIONARY, processed=False)
    assert [mention.text for mention in raw.split("test")] == ["Terkin"]
    alone = open_linking("biosyn", FOLDER / "processed_test", dictionary=DICTIONARY)
    assert list(alone.mentions) == ["all"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1||0|6||Disease||flumpa", r"1.concept:1: 4 cells, expected 5 \(pmid"),
        ("1||zero||Disease||flumpa||X1", r"1.concept:1: the span must be two numbers, start\|end, found 'zero'"),
        ("1||0|6||Disease|| ||X1", r"1.concept:1: the mention is empty"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "1.concept").write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        open_linking("biosyn", tmp_path, dictionary=DICTIONARY)
