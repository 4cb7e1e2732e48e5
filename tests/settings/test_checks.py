"""What stands beside an option, one check at a time; the corpus of whole lines is tests/bad_options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError, nearest, one_line, shown, unknown_name
from st_biomed.settings.checks import (
    COUNT,
    FILE,
    FOLDER,
    MAPPING,
    PATH,
    PATTERN,
    SEED,
    Check,
    about,
    above,
    at_least,
    check_fields,
    check_value,
    one_of,
    within,
)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (COUNT, [1, 2**31 - 1], {0: "x must be at least 1, found 0", 2**31: "x must be at most 2147483647"}),
        (SEED, [0, 2**32 - 1], {-1: "x must be at least 0", 2**32: "x is out of range, found 4294967296"}),
        (at_least(1, 2), [1, 2], {3: "x must be at most 2, found 3"}),
        (above(0), [1e-300, 1], {0: "x must be above 0, found 0", -1.5: "found -1.5"}),
        (within("[0, 1)"), [0, 0.999], {1: "x must be at least 0 and below 1, found 1", -0.1: "found -0.1"}),
        (within("(0, 1]"), [1e-9, 1.0], {0: "x must be above 0 and at most 1, found 0", 1.01: "found 1.01"}),
        (one_of("cls", "mean"), ["cls"], {"means": "unknown x 'means': allowed are 'cls', 'mean'; did you mean 'mean'?"}),
        (PATTERN, ["", "layer[.]1"], {"(a": r"x: '(a' is not a regular expression: missing )", "a{9999999999}": "x: "}),
        (MAPPING, ['{"a": 1}', {}], {"[1]": "x must be a JSON object", "{": "x: '{' is not JSON"}),
        (PATH, ["toy", "a/b"], {"": "x is empty", "a" * 256: "x is too long for a path", "é" * 128: "x is too long"}),
        (None, ["anything", 0.5], {float("nan"): "x must be a finite number, found nan", "a\0": "x contains a NUL character"}),
        (None, [Path("a")], {"a\udcff": "x contains bytes that are not UTF-8", Path("a" * 256): "x is too long for a path"}),
    ],
)  # fmt: skip
def test_a_check_takes_what_it_should_and_says_why_it_takes_nothing_else(
    check: Check | None, good: list[Any], bad: dict[Any, str]
):
    check_value("x", good, check)  # each of a list
    check_value("x", None, check)
    for value, line in bad.items():
        with pytest.raises(InputError) as caught:
            check_value("x", [*good, value], check)
        assert line in str(caught.value)


def test_a_place_to_write_to_is_looked_at_and_not_made(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    check_value("x", [str(tmp_path / "a" / "b"), "", tmp_path], FOLDER)
    check_value("x", tmp_path / "a" / "b.txt", FILE)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    for check, path, line in (
        (FOLDER, tmp_path / "file" / "a", "x: .*file: is a file"),
        (FILE, tmp_path / "file" / "a", "x: .*file: is a file"),
        (FILE, tmp_path, "x: .*: is a folder"),
    ):
        with pytest.raises(InputError, match=line):
            check_value("x", path, check)


def test_a_dataclass_that_is_made_in_python_is_checked_by_its_fields():
    @dataclass
    class Settings:
        share: float = field(default=0.5, metadata=about("a share", within("[0, 1]")))
        weight: float = 1.0

        def __post_init__(self) -> None:
            check_fields(self)

    assert Settings(1.0).share == 1.0
    with pytest.raises(InputError, match="share must be at least 0 and at most 1, found 2"):
        Settings(2.0)
    with pytest.raises(InputError, match="weight must be a finite number"):
        Settings(weight=float("inf"))


@pytest.mark.parametrize(
    ("written", "likeliest"),
    [
        ("--learningrate", "--learning_rate"),
        ("--epochs", "--num_train_epochs"),
        ("--warmup", "--warmup_steps"),
        ("--output", "--output_dir"),
    ],
)
def test_of_a_long_list_the_three_nearest_are_named(written: str, likeliest: str):
    """Catches a line of 150 names in which nobody finds the one that was meant."""
    names = [
        "--learning_rate",
        "--num_train_epochs",
        "--warmup_steps",
        "--output_dir",
        *(f"--z{i}" for i in range(60)),
    ]
    assert nearest(written, names)[0] == likeliest
    assert str(unknown_name("argument", written, names)).count("'--") == 4
    assert "allowed are" in str(unknown_name("argument", written, names[:4]))


def test_initials_and_what_a_name_holds_are_near():
    assert "--learning_rate" in nearest("--lr", ["--learning_rate", "--loss", "--layer", "--seed"], 2)
    assert nearest("batch_size", ["mini_batch_size", "patience", "bases"], 1) == ["mini_batch_size"]


def test_a_line_stays_a_line():
    """Catches a path with a line break, and a value of 10,000 characters, in a message."""
    assert one_line("a\nb\x1b[31m\u2028") == r"a\nb\x1b[31m\u2028"
    assert len(shown("a" * 10_000)) < 120 and shown(3) == "3"
