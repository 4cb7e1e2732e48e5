from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FILE = FIXTURES / "tsv" / "mentions.tsv"
NAMES = FIXTURES / "tsv" / "names.txt"


class TestTsv(LinkingContract):
    format = "tsv"
    path = FILE
    dictionary = "names.txt"
    damaged = ""


def test_two_columns_and_a_context() -> None:
    dataset = open_linking("tsv", FILE, dictionary=NAMES)
    plain, composite, unknown = dataset.split("all")
    assert (plain.document, unknown.gold) == ("", ())
    assert composite.gold == (frozenset({"X0002"}), frozenset({"X0003"}))
    assert dataset.documents[composite.document][composite.start : composite.end] == composite.text
    assert dataset.missing("all") == ["X0003"]


def test_a_prefix_makes_curies_on_both_sides() -> None:
    dataset = open_linking("tsv", FILE, dictionary=NAMES, prefix="ZORB")
    assert dataset.split("all")[0].ids == {"ZORB:X0001"}
    assert dataset.dictionary.ids == ["ZORB:X0001", "ZORB:X0002"]


def test_folders_have_splits_and_bad_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "validation.tsv").write_text("flumpas\tX0001\n")
    assert list(open_linking("tsv", tmp_path, dictionary=NAMES).mentions) == ["dev"]
    (tmp_path / "test.tsv").write_text("flumpas\tX0001\nflumpas\n")
    with pytest.raises(InputError, match=r"test.tsv:2: expected mention, ids and optionally the context"):
        open_linking("tsv", tmp_path, dictionary=NAMES)


def test_a_header_is_no_mention(tmp_path: Path) -> None:
    """Catches a first line that is measured as a mention of no concept."""
    (tmp_path / "test.tsv").write_text("mention\tid\nflumpa\tX1\n")
    (tmp_path / "names.txt").write_text("X1||flumpa\n")
    with pytest.raises(InputError, match=r"test\.tsv:1: looks like a header \('mention.tid'\)"):
        open_linking("tsv", tmp_path / "test.tsv", dictionary=tmp_path / "names.txt")


def test_a_place_is_that_of_the_text_as_it_stands(tmp_path: Path) -> None:
    """Catches a place in the text in lower case, which may be longer: "İ" has two characters there."""
    (tmp_path / "test.tsv").write_text("Ateş\tX1\tİki gün İzmir'de ateş var (38+)\n38+\tX1\tİki 38+\n", "utf-8")
    (tmp_path / "names.txt").write_text("X1||flumpa\n")
    dataset = open_linking("tsv", tmp_path / "test.tsv", dictionary=tmp_path / "names.txt")
    found = [dataset.documents[m.document][m.start : m.end] for m in dataset.split("all")]
    assert found == ["ateş", "38+"]
