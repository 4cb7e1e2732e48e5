from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "ncbi_disease"
MEDIC = FOLDER / "medic.txt"


class TestNcbiDisease(LinkingContract):
    format = "ncbi_disease"
    path = FOLDER
    dictionary = "medic.txt"
    damaged = "NCBItestset_corpus.txt"


def test_a_document_that_comes_twice_is_read_once() -> None:
    """Catches the training file's repeated abstract counted as new mentions."""
    dataset = open_linking("ncbi_disease", FOLDER, dictionary=MEDIC)
    tally = dataset.tallies["mentions"]
    assert tally.to_dict() == {"read": 17, "kept": 12, "dropped": {"mentions of a document that came before": 5}}
    assert {split: len(found) for split, found in dataset.mentions.items()} == {"train": 6, "dev": 1, "test": 5}


def test_ids_get_the_prefix_of_their_vocabulary() -> None:
    """Catches OMIM's bare digits called MeSH, and a padded or prefixed id that would not be found."""
    train = open_linking("ncbi_disease", FOLDER, dictionary=MEDIC).split("train")
    assert [mention.gold for mention in train] == [
        (frozenset({"MESH:X0001"}),),
        (frozenset({"MESH:X0001"}),),
        (frozenset({"MESH:X0002"}),),
        (frozenset({"MESH:X0002"}),),
        (frozenset({"MESH:X0003"}), frozenset({"OMIM:900001"})),
        (frozenset({"OMIM:900001"}),),
    ]


def test_a_gold_id_that_the_dictionary_lacks_is_counted_and_named() -> None:
    dataset = open_linking("ncbi_disease", FOLDER, dictionary=MEDIC)
    assert dataset.missing("test") == ["MESH:X0009"]
    assert dataset.tallies["gold ids of test"].to_dict() == {
        "read": 5,
        "kept": 4,
        "dropped": {"absent from the dictionary": 1},
    }


def test_offsets_count_one_character_between_title_and_abstract() -> None:
    """Catches offsets that fit nowhere, and so are left out of every mention of an abstract."""
    dataset = open_linking("ncbi_disease", FOLDER, dictionary=MEDIC)
    for mention in (mention for found in dataset.mentions.values() for mention in found):
        assert dataset.documents[mention.document][mention.start : mention.end] == mention.text


def test_offsets_that_do_not_fit_are_left_out_and_the_mention_stays(tmp_path: Path) -> None:
    """Catches a wrong context around a mention."""
    text = (FOLDER / "NCBItestset_corpus.txt").read_text("utf-8").replace("21\t25\tzorb", "20\t24\tzorb")
    (tmp_path / "NCBItestset_corpus.txt").write_text(text, "utf-8")
    mention = open_linking("ncbi_disease", tmp_path, dictionary=MEDIC).split("test")[1]
    assert (mention.text, mention.start, mention.end) == ("zorb", -1, -1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "9000004\t3\t16",
            "9000005\t3\t16",
            r"corpus.txt:3: is not a title .* annotates '9000005', but .* is 9000004",
        ),
        ("\t3\t16\t", "\tthree\t16\t", r"corpus.txt:3: offsets must be two numbers, found 'three' and '16'"),
        ("\t3\t16\t", "\t3\t", r"corpus.txt:3: 5 cells, expected 6 .* 7 .*, or a relation"),
        ("\tmimpic flumpa\t", "\t \t", r"corpus.txt:3: the mention is empty"),
        ("9000004|t|", "9000005|t|", r"corpus.txt:2: the abstract of 9000004 does not follow the title"),
        ("9000004|t|On mimpic flumpa and zorb.\n", "", r"corpus.txt:1: the abstract of 9000004"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (FOLDER / "NCBItestset_corpus.txt").read_text("utf-8")
    assert old in text
    (tmp_path / "NCBItestset_corpus.txt").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("ncbi_disease", tmp_path, dictionary=MEDIC)


def test_one_split_alone_is_read(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "NCBIdevelopset_corpus.txt", tmp_path)
    assert list(open_linking("ncbi_disease", tmp_path, dictionary=MEDIC).mentions) == ["dev"]
