from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "medmentions"


class TestMedMentions(LinkingContract):
    format = "medmentions"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "corpus_pubtator.txt"


def test_split_lists_decide_and_documents_in_none_are_counted() -> None:
    dataset = open_linking("medmentions", FOLDER, dictionary=FOLDER / "names.txt")
    assert {split: {m.document for m in found} for split, found in dataset.mentions.items()} == {
        "train": {"9200001"},
        "dev": {"9200002"},
        "test": {"9200003"},
    }
    assert dataset.tallies["mentions"].dropped == {"mentions of documents in no split list": 2}
    assert dataset.split("train")[0].ids == {"UMLS:X0001"}
    assert dataset.dictionary.entry(1) == ("flumpa", frozenset({"UMLS:X0001", "UMLS:X0002"}))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "corpus_pubtator_pmids_dev.txt",
            "9200002\n9200001\n",
            r"dev.txt:2: document 9200001 is also in the train list",
        ),
        ("corpus_pubtator_pmids_dev.txt", "9200002\n9200009\n", r"dev.txt:2: document 9200009 is not in corpus_pub"),
    ],
)
def test_bad_split_lists_are_named(tmp_path: Path, file: str, content: str, message: str) -> None:
    """Catches a test document that trains, and a list of another corpus."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message):
        open_linking("medmentions", tmp_path, dictionary=FOLDER / "names.txt")
