"""Options that nothing reads: refused where they are given, allowed where a later choice ends their use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.settings.checks import check_unused
from st_biomed.settings.recipe import read_settings, read_stage


@dataclass
class Example:
    weight: float = 0.0
    share: float = 1.0

    def check(self) -> None:
        if not self.weight:
            check_unused(self, ("share",), "weight 0", by=("weight",))


@pytest.fixture
def own(tmp_path: Path):
    """Writes a file that extends another, and gives its path."""

    def write(base: str, own: str) -> str:
        (tmp_path / "base.yaml").write_text(base)
        (tmp_path / "own.yaml").write_text(f"extends: base.yaml\n{own}\n")
        return str(tmp_path / "own.yaml")

    return write


@pytest.mark.parametrize(
    ("base", "above", "words"),
    [
        ("weight: 2\nshare: .5", "{}", ["--weight", "0"]),
        ("share: .5", "{}", ["--weight=0"]),
        ("weight: 2\nshare: .5", "weight: 0", []),
        ("{}", "weight: 2\nshare: .5", ["--weight", "0"]),
        ("weight: 0", "weight: 1", ["--share", ".5"]),
        ("weight: 0", "{}", ["--share", "1"]),
    ],
)
def test_a_value_of_a_file_may_lose_its_use(base: str, above: str, words: list[str], own):
    """Catches a configuration whose weight cannot be switched off."""
    path = own(base, "" if above == "{}" else above)
    read_settings((Example,), [path, *words])[0].check()


@pytest.mark.parametrize(
    ("base", "above", "words"),
    [
        ("{}", "{}", ["--share", ".5"]),
        ("{}", "{}", ["--share", ".5", "--weight", "0"]),
        ("weight: 0", "{}", ["--share=.5"]),
        ("weight: 2\nshare: .3", "{}", ["--share", ".5", "--weight", "0"]),
        ("weight: 0\nshare: .5", "{}", []),
        ("weight: 0", "share: .5", []),
        ("share: .5", "{}", []),
    ],
)
def test_a_value_that_nothing_made_useless_is_refused(base: str, above: str, words: list[str], own):
    """Catches an option that is given in vain, on the command line or in a file."""
    path = own(base, "" if above == "{}" else above)
    with pytest.raises(InputError, match=r"^share: is not used with weight 0, found 0\.5$"):
        read_settings((Example,), [path, *words])[0].check()


def test_without_known_origins_every_value_counts_as_given():
    with pytest.raises(InputError, match="share: is not used with weight 0, found 0.5"):
        Example(share=0.5).check()


def test_the_arguments_of_a_stage_are_later_than_its_file(own):
    """Catches origins that a copy loses."""
    path = own("weight: 2\nshare: .5", "")
    read_stage((Example,), path, weight=0)[0].check()
    with pytest.raises(InputError, match="share"):
        read_stage((Example,), own("weight: 0", ""), share=0.5)[0].check()
