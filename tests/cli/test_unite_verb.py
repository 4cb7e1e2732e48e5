"""``st-biomed unite``: a file of sources to one terminology and a report beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.records import SourceInfo, Term, Xref
from st_biomed.terminology import Terminology

PLAN = "crosswalk: [xref]\nnormalize: lower\nsources:\n  a: {path: a}\n  b: {path: b}\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A plan, and the two terminologies that it names below a folder of data."""
    a = [Term("A:1", "Flumpa"), Term("A:2", "zorb"), Xref("A:1", "B:1")]
    b = [Term("B:1", "flumpa"), Term("B:2", "Zorb")]
    for name, records in (("A", a), ("B", b)):
        source = SourceInfo(name, name, license="CC0-1.0", redistributable=True)
        Terminology.from_records([source, *records], source).save(tmp_path / "data" / name.lower())
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def test_a_plan_becomes_a_terminology_with_its_report(run: Callable, place: Path) -> None:
    """Catches a report of another terminology, and a folder that holds it and is refused the next time."""
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out")
    result = run(*words)
    assert result.exit_code == 0, result.output
    united = Terminology.load(place / "out", verify=True)
    assert united.codes == ["A:1", "A:2", "B:2"]
    assert united.strings == ["flumpa", "zorb"]
    report = json.loads((place / "out.conflicts.json").read_text())
    assert report["terminology"] == united.digest
    assert report["equal names of different concepts"]["pairs"] == [
        {"sources": ["A", "B"], "names": 1, "examples": [{"names": ["zorb"], "concepts": ["A:2", "B:2"]}]}
    ]
    assert "1 names stand for several concepts" in result.stdout
    assert "4 names were equal to another but for case, 1 of them in lower case at different concepts" in result.stdout
    assert "3 concepts, 2 names, 0 definitions, 0 parents and 0 relations saved to" in result.stdout
    again = run(*words, "--overwrite")
    assert again.exit_code == 0, again.output


def test_the_folder_of_data_is_that_of_the_environment(
    run: Callable, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ST_BIOMED_DATA", str(place / "data"))
    result = run("unite", place / "plan.yaml", "-o", place / "out", "--report", place / "deep" / "report.json")
    assert result.exit_code == 0, result.output
    assert (place / "deep" / "report.json").is_file()
    assert not (place / "out.conflicts.json").exists()


def test_missing_files_are_a_line_each_and_refused_unless_skipped(run: Callable, place: Path) -> None:
    """Catches a first missing file that hides the second, and a smaller terminology that nobody asked for."""
    (place / "plan.yaml").write_text(f"{PLAN}  c: {{reader: obo, path: c.obo}}\n  d: {{reader: obo, path: d.obo}}\n")
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out")
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"missing: c needs {place / 'data' / 'c.obo'}",
        f"missing: d needs {place / 'data' / 'd.obo'}",
        "error: 2 of 4 sources lack files; --data names their folder, --skip-missing unites the others",
    ]
    assert not (place / "out").exists()
    skipped = run(*words, "--skip-missing")
    assert skipped.exit_code == 0, skipped.output
    assert json.loads((place / "out.conflicts.json").read_text())["left out"] == ["c", "d"]


def test_what_is_there_is_not_replaced_unasked(refused: Callable[..., str], place: Path) -> None:
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out")
    (place / "out.conflicts.json").write_text("mine")
    assert "out.conflicts.json: exists; --overwrite replaces it" in refused(*words)
    assert not (place / "out").exists()
    assert "which is replaced whole" in refused(*words, "--report", place / "out" / "report.json")
    assert "which is replaced whole" in refused(*words, "--report", place / "out")
    assert "no such file" in refused("unite", place / "nowhere.yaml", "-o", place / "new")


def test_names_of_one_terminology_are_normalized_by_subset_and_those_of_several_by_merge(
    run: Callable, refused: Callable[..., str], place: Path
) -> None:
    """Catches an option that is taken and does nothing."""
    a, b = place / "data" / "a", place / "data" / "b"
    result = run("subset", a, "-o", place / "small", "--normalize", "lower")
    assert result.exit_code == 0, result.output
    assert "normalize lower read" in result.stdout
    assert Terminology.load(place / "small", verify=True).strings == ["flumpa", "zorb"]
    result = run(
        "merge", a, b, "-o", place / "both", "--normalize", "lower", "--same-name", "lower", "--preferred-names"
    )
    assert result.exit_code == 0, result.output
    both = Terminology.load(place / "both", verify=True)
    assert (both.codes, both.strings) == (["A:1", "A:2"], ["flumpa", "zorb"])
    assert "unknown normalizer 'lowr'" in refused("subset", a, "-o", place / "new", "--normalize", "lowr")
    assert "unknown normalizer 'lowr'" in refused("merge", a, b, "-o", place / "new", "--normalize", "lowr")
    assert "--preferred-names needs --same-name" in refused("merge", a, b, "-o", place / "new", "--preferred-names")
