"""Claims about spellings: every way of writing a name that leaves its letters in order is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from spelling_corpus import BEYOND, HAN, KANA, LONG, NAME, SHORT, SHORT_NAMES
from zorb_terms import ZORB, terminology

from st_biomed.release.privacy import judge
from st_biomed.release.spellings import readings

NAMES = {NAME, SHORT, HAN, KANA}
FOUND = {**LONG, **SHORT_NAMES}


def names_held(folder: Path, file: tuple[str, bytes]) -> set[str]:
    """The names that are found in a folder of one file."""
    path = folder / file[0]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file[1])
    breaches = judge(folder, [terminology(ZORB, [tuple(sorted(NAMES))])]).breaches
    return {name for name in NAMES for breach in breaches if breach.startswith(f"{file[0]}: holds {name!r}")}


@pytest.mark.parametrize("spelling", FOUND)
def test_every_spelling_is_found(spelling: str, tmp_path: Path) -> None:
    """Catches a decoding that is not undone, and one that is undone only where nothing else is."""
    held = names_held(tmp_path, FOUND[spelling])
    assert len(held) == 1, f"{FOUND[spelling][1]!r}"


@pytest.mark.parametrize("spelling", BEYOND)
def test_other_strings_of_letters_are_not_the_name(spelling: str, tmp_path: Path) -> None:
    """What the documentation says is not found; a search that found these would find names in ordinary text, too."""
    assert names_held(tmp_path, BEYOND[spelling]) == set()


def test_the_corpus_is_as_large_as_it_is_said_to_be() -> None:
    assert len(LONG) == 73 and len(SHORT_NAMES) == 27 and len(BEYOND) == 10


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "a < b and c > d",
        "100 % of 20% are x",
        "C:\\new\\table",
        "2 * 3 * 4",
        "[1](2)",
        "&",
        "\\u{110000000}",
    ],
)
def test_the_text_itself_is_always_read(text: str) -> None:
    """Catches a name that stands between signs which only look like markup."""
    assert readings(text)[0] == text


def test_a_long_text_is_read_in_reasonable_time() -> None:
    """Catches a pattern that goes back and forth: a second would be a thousand times too long."""
    for sign in ("<", "[", "\\", "%", "&", "*", "=", "{", "`", "-\n"):
        assert readings(sign * 20_000 + "zorb")
