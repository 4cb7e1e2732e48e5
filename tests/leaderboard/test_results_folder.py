"""A folder of results: several processes write to it, old ones are read, what is damaged is made again."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.comparison import compare
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.leaderboard.unit_files import columns_of, read_about, unit_file_name
from st_biomed.metrics.significance import PairedTest, Units

SETTINGS = {"n_bootstrap": 9, "bootstrap_seed": 0, "as_published": False}
UNITS = {"spearman": Units("pair", np.arange(8.0).reshape(4, 2), "spearman")}


def result(model: str = "one", number: int = 0) -> Result:
    name = f"zorb{number}"
    counted = {f"{name}_spearman": [4, "pair"]}
    return Result(name, name, model, "d", SETTINGS, {f"{name}_spearman": 0.5}, f"{name}_spearman", {}, counted)


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_results_folder import UNITS, ResultsFolder, result
folder = ResultsFolder(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(15):
    folder.add(result(sys.argv[3], number), UNITS)
"""


@pytest.mark.long
def test_processes_that_share_a_folder_keep_all_their_results(tmp_path: Path):
    """Would catch a command that writes back what it read before another one had added its own."""
    command = [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(tmp_path / "out")]
    writers = [
        subprocess.Popen([*command, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for model in ("one", "two")
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 2
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.wait(60) for writer in writers] == [0, 0]
    folder = ResultsFolder(tmp_path / "out")
    assert {(result.model, result.benchmark) for result in folder.results} == {
        (model, f"zorb{number}") for model in ("one", "two") for number in range(15)
    }
    assert all(len(folder.units(result)["spearman"]) == 4 for result in folder.results)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.suffix != ".npz") == [
        "out",
        "results.jsonl",
        "units",
    ]


def test_what_is_asked_for_again_is_the_latest(tmp_path: Path):
    folder = ResultsFolder(tmp_path)
    first, second = (folder.add(result(number=number), UNITS) for number in (0, 1))
    folder.add(first)
    assert ResultsFolder(tmp_path).results == [second, first]
    uno = folder.add(replace(first, model="uno"))
    assert folder.find(first.key) == uno and len(folder.results) == 3


def test_a_line_that_was_cut_is_dropped_and_one_before_it_is_named(tmp_path: Path):
    ResultsFolder(tmp_path).add(result(), UNITS)
    path = tmp_path / "results.jsonl"
    whole = path.read_text()
    path.write_text(whole + whole[:30])
    folder = ResultsFolder(tmp_path)
    folder.add(result(number=1), UNITS)
    assert len(folder.results) == len(path.read_text().splitlines()) == 2
    path.write_text(whole[:30] + "\n" + whole)
    with pytest.raises(InputError, match=r"results\.jsonl:1: is not a result"):
        ResultsFolder(tmp_path)


def test_a_folder_of_an_older_version_is_read(tmp_path: Path):
    """Its lines have neither provenance nor a file of units, which is then named by the key."""
    folder = ResultsFolder(tmp_path)
    kept = folder.add(result(), UNITS)
    path = tmp_path / "results.jsonl"
    line = json.loads(path.read_text())
    for field in ("units_file", "units_checksum", "definition", "encoder", "computation", "measured_at", "checksum"):
        del line[field]
    path.write_text(json.dumps(line) + "\n")
    (tmp_path / "units" / kept.units_file).rename(tmp_path / "units" / f"{kept.key}.npz")
    (old,) = ResultsFolder(tmp_path).results
    assert (old.key, old.units_file, old.definition) == (kept.key, "", {})
    np.testing.assert_array_equal(folder.units(old)["spearman"].rows, UNITS["spearman"].rows)


# ---------------------------------------------------------------------- units


def test_a_file_of_units_says_what_it_holds(tmp_path: Path):
    """Would catch numbers that nobody can lay beside a model and a benchmark once the folder is copied."""
    kept = ResultsFolder(tmp_path).add(result("a model/of <mine>"), UNITS)
    assert kept.units_file == f"a_model_of_mine__zorb0__{kept.key[:12]}.npz"
    about = read_about(tmp_path / "units" / kept.units_file)
    assert (about["model"], about["benchmark"], about["evaluator"]) == ("a model/of <mine>", "zorb0", "zorb0")
    assert about["settings"] == SETTINGS
    described = {"unit": "pair", "statistic": "spearman", "columns": ["score", "given score"]}
    assert about["metrics"] == {"zorb0_spearman": described}


def test_names_of_files_have_nothing_that_a_file_cannot():
    name = unit_file_name("../" + "m" * 99, "x:y\0", "k" * 24)
    assert name == f"{'m' * 60}__x_y__{'k' * 12}.npz"


def test_columns_of_groups_have_their_names():
    units = Units("concept", np.ones((3, 4)), "macro_mean")
    assert columns_of(units, ["a", "b"]) == ["value of a", "count of a", "value of b", "count of b"]
    assert columns_of(units)[2:] == ["value of 1", "count of 1"]
    assert columns_of(Units("mention", np.ones(3))) == ["value", "count"]
    assert len(columns_of(Units("concept", np.ones((3, 3)), "f1"))) == 3


def _of_others(path: Path) -> None:
    other = Units("pair", np.ones((3, 2)), "spearman")
    path.replace(path.with_suffix(".bak"))
    ResultsFolder(path.parents[1]).add(replace(result(), units={}), {"spearman": other})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "cannot be read as the units"),
        (lambda path: path.write_bytes(b""), "is empty, expected the units"),
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "cannot be read as the units"),
        (
            lambda path: path.write_bytes(path.read_bytes().replace(np.float64(5).tobytes(), b"\1" * 8)),
            "cannot be read",
        ),
        (_of_others, "does not contain the 4 units of zorb0_spearman"),
    ],
)
def test_units_that_are_lost_or_damaged_are_named(tmp_path: Path, damage, message: str):
    folder = ResultsFolder(tmp_path)
    kept = folder.add(result(), UNITS)
    damage(tmp_path / "units" / kept.units_file)
    with pytest.raises(InputError, match="cannot be read as the units"):
        folder.units(kept)
    with pytest.raises(InputError, match=message):
        folder.units(replace(kept, units_checksum=""))  # of an older version


def test_a_line_that_was_changed_is_named(tmp_path: Path):
    """Catches a figure that nobody measured."""
    ResultsFolder(tmp_path).add(result(), UNITS)
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text().replace(": 0.5", ": 0.6"))
    with pytest.raises(
        InputError, match=r"results\.jsonl:1: is not a result \(its checksum is not that .*measured again"
    ):
        ResultsFolder(tmp_path)
    path.write_bytes(b"\xff" + path.read_bytes())
    with pytest.raises(InputError, match=r"results\.jsonl:1: is not a result \('utf-8' codec"):
        ResultsFolder(tmp_path)


def test_a_file_that_does_not_say_is_refused(tmp_path: Path):
    np.savez(tmp_path / "x.npz", a=np.ones(1))
    with pytest.raises(InputError, match=r"x\.npz: does not describe its units"):
        read_about(tmp_path / "x.npz")


# ---------------------------------------------------------------------- tests


def test_tests_are_kept_and_a_damaged_file_of_them_is_none(tmp_path: Path):
    folder = ResultsFolder(tmp_path)
    test = PairedTest(0.1, 0.0, 0.2, 0.05, 4)
    folder.add_tests({"a": test})
    folder.add_tests({"b": test})
    assert ResultsFolder(tmp_path).tests() == {"a": test, "b": test}
    kept = (tmp_path / "tests.json").read_text()
    for content in ("[1", "[1]", '{"a": 1}', kept.replace("0.1", "0.7")):
        (tmp_path / "tests.json").write_text(content)
        assert folder.tests() == {}


def test_tests_are_of_the_units_that_are_there(tmp_path: Path):
    """Would catch a difference between two models beside figures that are equal, since one was measured again."""
    folder = ResultsFolder(tmp_path)
    folder.add(result(), UNITS)
    for scores, is_equal in (([3, 1, 2, 0], False), ([0, 1, 2, 3], True)):
        units = Units(
            "pair", np.stack([np.array(scores, dtype=float), UNITS["spearman"].rows[:, 1]], axis=1), "spearman"
        )
        folder.add(replace(result("two"), model_digest="e"), {"spearman": units})
        (test,) = compare(folder.results, "one", folder, n_resamples=9)["zorb0_spearman"].values()
        assert (test.difference == 0) == is_equal
