"""The reader that CONTRIBUTING.md shows is a reader."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Parent, Tally, Term
from st_biomed.terminology import Terminology

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
TABLE = "code,name,synonyms,parent\n1,flumpa,,\n2, terkia ,terkia;drod; drod,1\n"


@pytest.fixture
def glands() -> types.ModuleType:
    module = types.ModuleType("glands")
    exec(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], vars(module))
    return module


def test_the_example_reads_names_and_parents(glands: types.ModuleType, tmp_path: Path):
    """Catches an example that a newcomer copies and that fails the contract."""
    (tmp_path / "glands.csv").write_text(TABLE)
    tally = Tally()
    records = list(glands.records(tmp_path / "glands.csv", tally=tally))
    assert records == [
        Term("GLANDS:1", "flumpa"),
        Term("GLANDS:2", "terkia"),
        Term("GLANDS:2", "drod", "synonym"),
        Parent("GLANDS:2", "GLANDS:1"),
    ]
    assert tally.adds_up() and tally.n_dropped == 3
    assert Terminology.from_records(iter(records), glands.SOURCE).tallies["records"].n_dropped == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,x,,", ":4: expected a unique code"),
        (",x,,", ":4: expected a unique code"),
        ("3,x,,9", ":4: parent '9' of 3"),
    ],
)
def test_the_example_names_the_line(glands: types.ModuleType, tmp_path: Path, row: str, message: str):
    (tmp_path / "glands.csv").write_text(TABLE + row + "\n")
    with pytest.raises(InputError, match=message):
        list(glands.records(tmp_path / "glands.csv", tally=Tally()))
