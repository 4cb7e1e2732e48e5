from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "xlbel"
NAMES = FOLDER / "names.txt"


class TestFile(LinkingContract):
    format = "xlbel"
    path = FOLDER / "es_1k_test_query.txt"
    dictionary = "names.txt"
    damaged = ""
    separator = b"||"


class TestContext(LinkingContract):
    format = "xlbel"
    path = FOLDER
    dictionary = "names.txt"
    options = {"language": "zz"}
    damaged = "zz_1k_test_query_with_context.txt"
    separator = b"||"


def test_several_ids_are_alternatives() -> None:
    """Catches them read as the parts of a composite mention."""
    dataset = open_linking("xlbel", FOLDER, dictionary=NAMES, language="es")
    assert [m.gold for m in dataset.split("test")] == [
        (frozenset({"UMLS:X0001"}),),
        (frozenset({"UMLS:X0002", "UMLS:X0003"}),),
    ]


def test_the_sentence_is_the_document_without_its_marks() -> None:
    """Catches ``||`` inside a sentence taken for a separator, and an unmarked sentence."""
    dataset = open_linking("xlbel", FOLDER, dictionary=NAMES, language="zz")
    first, second = dataset.split("test")
    assert dataset.documents[first.document] == "Le flumpaz || zorbon."
    assert (first.start, first.end) == (3, 10)
    assert (dataset.documents[second.document], second.start) == ("Zorb skarkaz.", -1)


@pytest.mark.parametrize(
    ("language", "message"),
    [("", "is a folder; choose one of its files with language="), ("xx", "0 files xx_[*]test_query")],
)
def test_a_folder_needs_a_language(language: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_linking("xlbel", FOLDER, dictionary=NAMES, language=language)


def test_bad_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("X0001||flumpa\nX0002\n")
    with pytest.raises(InputError, match=r"q.txt:2: expected id\|\|mention or .*, found 'X0002'"):
        open_linking("xlbel", tmp_path / "q.txt", dictionary=NAMES)
