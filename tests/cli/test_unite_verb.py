"""``st-biomed unite``: a file of sources to one terminology and a report beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from st_biomed.records import SourceInfo, Term, Xref
from st_biomed.terminology import Terminology, union_record

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
    assert "out.conflicts.json: already exists; --overwrite replaces it" in refused(*words)
    assert not (place / "out").exists()
    assert "which is replaced whole" in refused(*words, "--report", place / "out" / "report.json")
    assert "which is replaced whole" in refused(*words, "--report", place / "out")
    assert "no such file" in refused("unite", place / "nowhere.yaml", "-o", place / "new")


def test_a_union_of_the_same_plan_files_and_code_is_left_as_it_is(run: Callable, place: Path) -> None:
    """Catches a union that takes minutes each time a command needs it."""
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out", "--if-changed")
    assert "3 concepts, 2 names" in run(*words).stdout
    before = (place / "out").stat()
    again = run(*words)
    assert again.exit_code == 0, again.output
    assert again.stdout == f"{place / 'out'}: made of the same plan, files and code; nothing to do\n"
    assert (place / "out").stat().st_ino == before.st_ino
    (place / "data").rename(place / "elsewhere")  # the place of the data is no part of them
    moved = run("unite", place / "plan.yaml", "--data", place / "elsewhere", "-o", place / "out", "--if-changed")
    assert "nothing to do" in moved.stdout


def change_plan(place: Path, _: pytest.MonkeyPatch) -> None:
    (place / "plan.yaml").write_text(PLAN.replace("lower", "none"))


def change_source(place: Path, _: pytest.MonkeyPatch) -> None:
    Terminology.load(place / "data" / "a").save(place / "data" / "b")


def change_code(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(union_record, "code_checksum", lambda: "0" * 32)


def lose_report(place: Path, _: pytest.MonkeyPatch) -> None:
    (place / "out.conflicts.json").unlink()


def edit_report(place: Path, _: pytest.MonkeyPatch) -> None:
    report = json.loads((place / "out.conflicts.json").read_text())
    (place / "out.conflicts.json").write_text(json.dumps({**report, "made of": {"plan": []}}))


def replace_output(place: Path, _: pytest.MonkeyPatch) -> None:
    Terminology.load(place / "data" / "a").save(place / "out")


def cut_table(place: Path, _: pytest.MonkeyPatch) -> None:
    table = place / "out" / "terms.parquet"
    table.write_bytes(table.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (change_plan, "'normalize' of the plan changed"),
        (change_source, "b/concepts.parquet is another file; "),
        (change_code, "the code that reads and unites changed"),
        (lose_report, "out.conflicts.json does not say what it was made of"),
        (edit_report, "out.conflicts.json does not say what it was made of"),
        (replace_output, "out.conflicts.json is of another terminology"),
        (cut_table, "terms.parquet: truncated"),
    ],
)
def test_a_union_of_anything_else_is_made_anew_and_says_why(
    run: Callable, place: Path, monkeypatch: pytest.MonkeyPatch, change: Callable, line: str
) -> None:
    """Catches a terminology of last month that is trained on without a word."""
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out", "--if-changed")
    run(*words)
    change(place, monkeypatch)
    result = run(*words)
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.startswith(f"{place / 'out'}: made anew, because ") and line in first
    assert (
        json.loads((place / "out.conflicts.json").read_text())["terminology"] == Terminology.load(place / "out").digest
    )
    assert "nothing to do" in run(*words).stdout


def test_a_file_that_was_missing_makes_the_union_anew(run: Callable, place: Path) -> None:
    words = (
        "unite",
        place / "plan.yaml",
        "--data",
        place / "data",
        "-o",
        place / "out",
        "--if-changed",
        "--skip-missing",
    )
    (place / "plan.yaml").write_text(PLAN + "  c: {path: c}\n")
    assert run(*words).exit_code == 0
    assert "nothing to do" in run(*words).stdout
    Terminology.load(place / "data" / "a").save(place / "data" / "c")
    assert "c/concepts.parquet is new" in run(*words).stdout


def test_a_union_is_replaced_in_any_case_or_if_changed(refused: Callable[..., str], place: Path) -> None:
    words = ("unite", place / "plan.yaml", "--data", place / "data", "-o", place / "out")
    assert "--if-changed: --overwrite replaces" in refused(*words, "--overwrite", "--if-changed")


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
