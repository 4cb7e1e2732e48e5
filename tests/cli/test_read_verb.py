"""``st-biomed read``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.readers import parse_options
from st_biomed.terminology import Terminology

FIXTURES = Path(__file__).parents[1] / "fixtures" / "readers"
MAP, STRINGS = FIXTURES / "gland_map.csv", FIXTURES / "gland_strings.csv"


def test_a_source_is_saved_and_its_tally_printed(run: Callable, tmp_path: Path) -> None:
    """Catches rows that vanish without a word."""
    result = run("read", "parent_child", MAP, "-o", tmp_path / "g", "--option", f"strings={STRINGS}")
    assert result.exit_code == 0, result.output
    table = [line.rsplit(maxsplit=1) for line in result.stdout.splitlines()]
    assert table[:3] == [["parent_child rows read", "13"], ["  kept", "10"], ["  dropped: map rows of a root", "1"]]
    assert f"5 concepts, 6 texts, 4 parents, 0 relations) saved to {tmp_path / 'g'} after " in result.stdout
    assert Terminology.load(tmp_path / "g", verify=True).n_concepts == 5


def test_options_have_the_type_that_the_reader_declares() -> None:
    """Catches "false" as a true string and "3" as a text."""
    assert parse_options("toy", ["trees=3"]) == {"trees": 3}
    assert parse_options("icd10cm", ["extensions=true", "includes=all"]) == {"extensions": True, "includes": "all"}
    assert parse_options("parent_child", ["header=False", "code=a=b"]) == {"header": False, "code": "a=b"}


def test_a_terminology_in_the_output_folder_is_replaced_when_asked(
    run: Callable, refused: Callable[..., str], toy_folder: Path
) -> None:
    assert "already contains a terminology; choose another folder, or replace it with --overwrite" in refused(
        "read", "toy", "-o", toy_folder
    )
    result = run("read", "toy", "-o", toy_folder, "--option", "trees=1", "--overwrite")
    assert result.exit_code == 0, result.output
    assert Terminology.load(toy_folder, verify=True).n_concepts < 30


def test_a_description_leaves_no_half_of_the_tally_behind(run: Callable) -> None:
    """Catches the second line of an argument whose first one is hidden."""
    described = run("read", "icd9cm", "--describe").output
    assert "tally" not in described and "that continue it" not in described and "form: One of the four" in described


def test_a_reader_describes_itself(run: Callable, refused: Callable[..., str]) -> None:
    """Catches options that a person finds by mistakes alone."""
    result = run("read", "parent_child", "--describe")
    assert result.exit_code == 0, result.output
    assert "Read a parent-child map, its code-string map, and a table of relations." in result.stdout
    assert "strings: The code-string table." in result.stdout
    assert "tally" not in result.stdout
    assert "by default strings=None" in result.stdout
    assert "read needs a folder to save to: --output FOLDER" in refused("read", "toy")


def test_an_option_is_given_once(refused: Callable[..., str], tmp_path: Path) -> None:
    """Catches the first of two values lost without a word."""
    words = ("--option", "trees=1", "--option", "trees=2")
    assert "--option trees is given twice; write a list as trees=1,2" in refused("read", "toy", "-o", tmp_path, *words)


def text(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content)
    return folder / name


def test_bad_files_end_in_one_line(refused: Callable[..., str], tmp_path: Path) -> None:
    """Missing file, folder, wrong delimiter, missing column, code without a string and the reverse, empty hierarchy."""
    out = ("-o", tmp_path / "out", "--option", f"strings={STRINGS}")
    nowhere = tmp_path / "nowhere.csv"
    assert f"{nowhere}: no such file" in refused("read", "parent_child", nowhere, *out)
    assert "is a folder, expected a file" in refused("read", "parent_child", FIXTURES, *out, "--option", "name=G")
    semicolons = text(tmp_path, "semicolons.csv", "parent;child\nF;F1\n")
    assert "wrong delimiter? this line has semicolons" in refused("read", "parent_child", semicolons, *out)
    other = text(tmp_path, "other.csv", "up,child\nF,F1\n")
    assert "columns are ['up', 'child']" in refused("read", "parent_child", other, *out)
    unknown = text(tmp_path, "unknown.csv", "parent,child\nF,F1\nF,F9\n")
    assert f"{unknown}:3: code 'F9' has no string in {STRINGS}" in refused("read", "parent_child", unknown, *out)
    empty = text(tmp_path, "empty.csv", "parent,child\n")
    assert "the hierarchy is empty" in refused("read", "parent_child", empty, *out)
    no_code = text(tmp_path, "no_code.csv", "code,string\n,flu\n")
    assert f"{no_code}:2: string 'flu' has no code" in refused("read", "parent_child", no_code, *out[:2])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("toys",), "unknown reader 'toys'"),
        (("toy", "--option", "trees"), "--option must have the form key=value, found 'trees'"),
        (("toy", "--option", "deep=3"), "did you mean 'depth'?"),
        (("toy", "--option", "trees=many"), "--option trees must be a number like 7, found 'many'"),
        (("icd10cm", "--option", "extensions=1"), "--option extensions must be true or false, found '1'"),
        (("phecode",), "needs the path of the definitions"),
    ],
)
def test_bad_words_end_in_one_line(
    refused: Callable[..., str], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in refused("read", *words, "-o", tmp_path / "out")


def test_a_folder_with_other_files_is_never_written_to(refused: Callable[..., str], tmp_path: Path) -> None:
    """Catches a thesis overwritten, and an hour of reading before the refusal."""
    thesis = text(tmp_path, "thesis.tex", "")
    assert "has no terminology.json (it has thesis.tex); choose a new or empty folder" in refused(
        "read", "toy", "-o", tmp_path
    )
    assert "choose a new or empty folder" in refused("read", "phecode", tmp_path / "nowhere.csv", "-o", tmp_path)
    assert "is a file, expected a folder" in refused("read", "toy", "-o", thesis)
    assert list(tmp_path.iterdir()) == [thesis]
