"""NCI Thesaurus: the first synonym is preferred, parents are codes, and statuses leave concepts out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

THESAURUS = FIXTURES / "Thesaurus.txt"


class TestNCIt(ReaderContract):
    reader = "ncit"
    path = THESAURUS
    separator = b"\t"
    damaged_options = {"without_statuses": ""}


def read(path: Path = THESAURUS, **options: Any) -> Terminology:
    return Terminology.read("ncit", path, **options)


def edges(terminology: Terminology) -> list[tuple[str, str]]:
    codes = terminology.codes
    return [(codes[row["child"]], codes[row["parent"]]) for row in terminology.parents.to_pylist()]


def test_names_definitions_parents_and_types() -> None:
    """Catches a display name before the first synonym, and a quotation mark read as the end of a cell."""
    ncit = read()
    names = {code: ncit.concept_names(code) for code in ncit.codes}
    assert names == {
        "NCIT:C990001": ["ZORBITY", "Zorbity", "Zorbity Disorder"],
        "NCIT:C990002": ["Drod", "Drod of the Flumpa"],
        "NCIT:C990003": ["Drod, small", "Small Drod"],
        "NCIT:C990004": ["Zorbin"],
    }
    assert [ncit.strings[i] for i in ncit.preferred_texts] == ["Zorbity", "Drod", "Small Drod", "Zorbin"]
    assert ncit.definition_strings == ['A state in which the flumpa is "zorbed".', "A drod that is small."]
    assert edges(ncit) == [
        ("NCIT:C990002", "NCIT:C990001"),
        ("NCIT:C990003", "NCIT:C990001"),
        ("NCIT:C990003", "NCIT:C990002"),
    ]
    assert [row["type"] for row in ncit.types.to_pylist() if row["concept"] == 1] == [
        "Disease or Syndrome",
        "Neoplastic Process",
    ]


def test_every_row_is_told_of() -> None:
    tally = read().tallies["ncit rows"]
    assert (tally.n_read, tally.n_kept) == (27, 18)
    assert tally.dropped == {
        "concepts with status Obsolete_Concept": 1,
        "concepts with status Retired_Concept": 1,
        "parents that are no other concept": 2,
        "repeated names of a concept": 2,
        "repeated parents": 1,
        "subsets": 2,
    }


def test_statuses_leave_concepts_out() -> None:
    """Catches the second status of a concept overlooked."""
    everything = read(without_statuses="")
    assert everything.n_concepts == 6
    assert ("NCIT:C990004", "NCIT:C990005") in edges(everything)
    assert "NCIT:C990006" not in read(without_statuses="Header_Concept").codes
    assert "NCIT:C990003" not in read(without_statuses="Provisional_Concept").codes
    assert read(definitions=False).tallies["ncit rows"].dropped["definitions"] == 2
    misspelled = read(without_statuses="Retired").tallies["ncit rows"].notes
    assert len(misspelled) == 1 and misspelled[0].startswith(
        "without_statuses: no concept has status 'Retired'; found "
    )
    assert read().tallies["ncit rows"].notes == []


def test_eight_columns_and_the_version_in_the_name(tmp_path: Path) -> None:
    rows = [line.rpartition("\t")[0] for line in THESAURUS.read_text().splitlines()]
    (tmp_path / "Thesaurus_31.05d.txt").write_text("\n".join(rows) + "\n")
    ncit = read(tmp_path / "Thesaurus_31.05d.txt")
    assert ncit.codes == read().codes
    assert ncit.sources["NCIT"].version == "31.05d"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("C990002\t", "C990001\t", r"x\.txt:2: expected a unique code such as C12345, found 'C990001'"),
        ("C990002\t", "990002\t", r"x\.txt:2: expected a unique code such as C12345, found '990002'"),
        ("\tZorbin\t", "\t\t", r"x\.txt:4: concept C990004 has neither a synonym nor a display name"),
        ("\tC990001\t", "\tZorbity\t", r"x\.txt:2: a parent must be a code such as C12345, found 'Zorbity'"),
        ("Drod|Drod", "Drod\tDrod", r"x\.txt:2: 10 cells, expected 9"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(THESAURUS.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.txt")


def test_another_number_of_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("C1\tZorbity\troot_node\tZorbity\tA state.\n")
    with pytest.raises(InputError, match=r"x\.txt:1: 5 columns, expected 8 or 9 separated by tabs"):
        read(tmp_path / "x.txt")
    with pytest.raises(InputError, match=r"reader 'ncit' needs the path of Thesaurus\.txt"):
        Terminology.read("ncit")
