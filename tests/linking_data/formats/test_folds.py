from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "folds"
NAMES = FOLDER / "names.txt"
BENCHMARKS = Path(__file__).parents[3] / "evaluation" / "benchmarks"


class TestFolds(LinkingContract):
    format = "folds"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "zorb_fold-0.train.txt"


def test_one_fold_is_read() -> None:
    dataset = open_linking("folds", FOLDER, dictionary=NAMES)
    assert [(m.text, m.gold) for m in dataset.split("train")] == [
        ("so very skarky", (frozenset({"X0002"}),)),
        ("both at once", (frozenset({"X0002"}), frozenset({"X0003"}))),
    ]
    assert dataset.split("test")[1].gold == ()
    assert dataset.name == "folds-fold-0"


def test_folders_of_folds_with_names_of_concepts(tmp_path: Path) -> None:
    (tmp_path / "fold_3").mkdir()
    (tmp_path / "fold_3" / "valid.tsv").write_text("X0001\tFlumpa\tflumped\n")
    options = {"fold": 3, "columns": ["id", "name", "mention"], "pattern": "fold_{fold}/{split}.tsv"}
    dataset = open_linking("folds", tmp_path, **options)
    assert (list(dataset.mentions), dataset.dictionary.names) == (["dev"], ["Flumpa"])


def test_a_fold_may_have_names_of_its_own(tmp_path: Path) -> None:
    """CODER's folders of CADEC; catches the names of another fold."""
    for fold, name in enumerate(["Flumpa", "Skark"]):
        folder = tmp_path / f"ZORB_{fold}"
        folder.mkdir()
        (folder / "test.txt").write_text("X0001\tflumped\n")
        (folder / "standard.txt").write_text(f"X0001\t{name}\nX0002\tother\n")
    options = {"columns": "id,mention", "pattern": "ZORB_{fold}/{split}.txt", "names": "ZORB_{fold}/standard.txt"}
    found = [open_linking("folds", tmp_path, fold=fold, **options).dictionary for fold in (0, 1)]
    assert [mention.names for mention in found] == [["Flumpa", "other"], ["Skark", "other"]]
    assert [list(mention.ids) for mention in found] == [["X0001", "X0002"]] * 2
    (tmp_path / "ZORB_0" / "standard.txt").write_text("X0001\t\n")
    with pytest.raises(InputError, match=r"standard.txt:1: the name is empty"):
        open_linking("folds", tmp_path, fold=0, **options)


CODER = {
    "columns": ["id", "mention"],
    "pattern": "fold_{fold}/{split}.txt",
    "names": "fold_{fold}/standard.txt",
    "quoted": True,
}
"""The options of evaluation/benchmarks/psytar.yaml."""


def test_the_quoting_of_a_csv_is_undone() -> None:
    """PsyTAR and CADEC as CODER has them; catches quotes that no patient wrote, and an inch mark that is lost."""
    dataset = open_linking("folds", FIXTURES / "coder_folds", fold=1, **CODER)
    assert [mention.text for mention in dataset.split("train")] == [
        "flumped",
        'so "flumped" again',
        "skarky all day",
        'zorby 5" wide',
    ]
    assert [mention.text for mention in dataset.split("test")] == [
        "at first, flumpish",
        "so skarkish",
        '"zorbs" at night',
    ]
    as_they_are = open_linking("folds", FIXTURES / "coder_folds", fold=1, **{**CODER, "quoted": False})
    assert as_they_are.split("test")[0].text == '"at first, flumpish"'


@pytest.mark.parametrize("name", ["cadec", "psytar"])
def test_the_benchmarks_of_coders_folds_undo_it(name: str) -> None:
    benchmark = yaml.safe_load((BENCHMARKS / f"{name}.yaml").read_text("utf-8"))
    assert benchmark["settings"]["options"]["quoted"] is True


def test_a_mention_of_quotes_alone_is_empty(tmp_path: Path) -> None:
    (tmp_path / "x_fold-0.test.txt").write_text('""\tX0001\n')
    with pytest.raises(InputError, match=r"x_fold-0.test.txt:1: the mention is empty"):
        open_linking("folds", tmp_path, dictionary=NAMES, quoted=True)


def test_other_encodings_are_asked_for_or_recognized(tmp_path: Path) -> None:
    (tmp_path / "x_fold-0.test.txt").write_bytes("flumpé\tX0001\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"x_fold-0.test.txt:1: is not UTF-8; set another encoding"):
        open_linking("folds", tmp_path, dictionary=NAMES)
    dataset = open_linking("folds", tmp_path, dictionary=NAMES, encoding="cp1252")
    assert dataset.split("test")[0].text == "flumpé"
    assert dataset.tallies["mentions"].notes == ["x_fold-0.test.txt was read as cp1252"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fold": 7}, r"contains no file of a split; looked for \*fold\[-_\]7\[._\]train\|dev\|test"),
        ({"columns": "mention,code"}, r"unknown column 'code': allowed are 'id', 'ignored', 'mention', 'name'"),
        ({"columns": "mention,name"}, r"columns: one of them must be 'id', found mention, name"),
        ({"columns": "mention,id,name"}, r"fold-0.train.txt:1: 2 cells, expected 3 \(mention, id, name\)"),
        (
            {"pattern": "*fold-{fold}.train.txt"},
            r"pattern: expected a path below the folder with {fold} and {split}, found '\*fold-{fold}",
        ),
        (
            {"pattern": "{split}.txt"},
            r"pattern: expected a path below the folder with {fold} and {split}, found '{split}.txt'",
        ),
        ({"pattern": "/{fold}/{split}.txt"}, r"pattern: expected a path below the folder"),
        ({"pattern": "{fold}_{split}_{x}"}, r"contains no file of a split; looked for 0_train\|dev\|test_{x}"),
        ({"encoding": "utf-nine"}, r"encoding: 'utf-nine' is unknown to Python"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_linking("folds", FOLDER, dictionary=NAMES, **options)


def test_two_files_for_a_split_are_refused(tmp_path: Path) -> None:
    """Catches one of them taken at random."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    shutil.copy(FOLDER / "zorb_fold-0.train.txt", tmp_path / "other_fold-0.train.txt")
    with pytest.raises(InputError, match=r"two files for the split train: other_fold-0.train.txt and zorb_fold"):
        open_linking("folds", tmp_path, dictionary=NAMES)
