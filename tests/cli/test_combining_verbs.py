"""``st-biomed merge``, ``subset`` and ``pairs``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from st_biomed.records import Parent, SourceInfo, Term, Type, Xref
from st_biomed.terminology import Terminology


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two saved terminologies, of which one refers to the other."""
    records_of_a = [
        Term("A:1", "flumpa"),
        Term("A:2", "terkia"),
        Term("A:2", "terkia it", "synonym", "it"),
        Parent("A:2", "A:1"),
    ]
    records_of_a += [Xref("A:1", "B:1"), Xref("A:2", "B:1"), Xref("A:2", "B:2", "exactMatch"), Type("A:2", "T1")]
    records_of_b = [Term("B:1", "flumpa disease"), Term("B:2", "Terkia")]
    folders = []
    for prefix, records in (("A", records_of_a), ("B", records_of_b)):
        folders.append(Terminology.from_records(records, SourceInfo(prefix, prefix)).save(tmp_path / prefix))
    return folders[0], folders[1]


def test_merge_unites_by_crosswalk_and_reports_conflicts(
    run: Callable, refused: Callable[..., str], two: tuple[Path, Path], tmp_path: Path
):
    """Catches links left out without a word."""
    out, table = tmp_path / "merged", tmp_path / "conflicts.tsv"
    result = run("merge", *two, "-o", out, "--crosswalk", "xref,exactMatch", "--conflicts", table)
    assert result.exit_code == 0, result.output
    assert "crosswalk read" in result.stdout
    assert Terminology.load(out).n_concepts == 4
    assert len(table.read_text().splitlines()) == 4
    line = refused("merge", *two, "-o", tmp_path / "other", "--conflicts", table)
    assert f"{table}: already exists; --overwrite replaces it" in line and not (tmp_path / "other").exists()
    exact = run("merge", *two, "-o", out, "--crosswalk", "exactMatch", "--overwrite")
    assert exact.exit_code == 0, exact.output
    assert Terminology.load(out, verify=True).codes == ["A:1", "A:2", "B:1"]
    named = run("merge", *two, "-o", tmp_path / "named", "--same-name", "lower")
    assert named.exit_code == 0, named.output
    assert Terminology.load(tmp_path / "named").codes == ["A:1", "A:2", "B:1"]
    assert [reading["reader"] for reading in Terminology.load(out).readings] == []


@pytest.mark.parametrize(
    ("condition", "codes"),
    [
        (("--below", "A:1"), ["A:1", "A:2"]),
        (("--below", "A:2"), ["A:2"]),
        (("--types", "T1"), ["A:2"]),
        (("--languages", "it"), ["A:2"]),
        (("--codes", "{codes}"), ["A:1"]),
        (("--sources", "A", "--languages", "en"), ["A:1", "A:2"]),
    ],
)
def test_subset_keeps_what_meets_every_condition(
    condition: tuple[str, ...], codes: list[str], run: Callable, two: tuple[Path, Path], tmp_path: Path
):
    (tmp_path / "codes.txt").write_text("A:1\n\n")
    words = [word.format(codes=tmp_path / "codes.txt") for word in condition]
    result = run("subset", two[0], "-o", tmp_path / "part", *words)
    assert result.exit_code == 0, result.output
    assert Terminology.load(tmp_path / "part", verify=True).codes == codes


def test_merge_says_what_became_one_and_what_contradicts_itself(run: Callable, tmp_path: Path):
    """Catches cycles between two terminologies that training meets an hour later."""
    parts = [
        Terminology.from_records(
            [Term("A:1", "flumpa"), Term("A:2", "terkia"), Parent(*edge)], SourceInfo(name, name)
        ).save(tmp_path / name)
        for name, edge in (("X", ("A:1", "A:2")), ("Y", ("A:2", "A:1")))
    ]
    result = run("merge", *parts, "-o", tmp_path / "both")
    assert "2 parents lie on cycles, which a hierarchy refuses: --without-cycles drops them" in result.stdout
    result = run("merge", *parts, "-o", tmp_path / "cut", "--without-cycles", "--same-name", "lower")
    assert result.exit_code == 0, result.output
    assert "lie on cycles" not in result.stdout
    assert Terminology.load(tmp_path / "cut", verify=True).parents.num_rows == 0


def test_verbs_print_the_stages_that_they_added(run: Callable, tmp_path: Path):
    """Catches the cut of an input printed as that of the merge, and a second subset printed as the first."""
    records = [Term("A:1", "flumpa"), Term("A:2", "Terkia"), Parent("A:1", "A:2"), Parent("A:2", "A:1")]
    whole = Terminology.from_records(records, SourceInfo("A", "A")).save(tmp_path / "whole")
    other = Terminology.from_records([Term("B:1", "drod")], SourceInfo("B", "B")).save(tmp_path / "other")
    run("subset", whole, "-o", tmp_path / "cut", "--without-cycles")
    again = run("subset", tmp_path / "cut", "-o", tmp_path / "lower", "--without-cycles", "--normalize", "lower")
    assert _stages(again) == ["normalize lower", "without cycles (2)"]
    merged = run("merge", tmp_path / "lower", other, "-o", tmp_path / "both")
    assert _stages(merged) == ["merge"]
    (tmp_path / "plan.yaml").write_text(
        f"without_cycles: false\nsources:\n  a: {{path: {tmp_path / 'both'}}}\n  b: {{path: {other}}}\n"
    )
    assert _stages(run("unite", tmp_path / "plan.yaml", "-o", tmp_path / "united")) == ["merge (2)"]
    assert {"without cycles", "without cycles (2)", "merge", "merge (2)"} <= {
        *Terminology.load(tmp_path / "united").tallies
    }


def _stages(result: Any) -> list[str]:
    """The names of the stages that a verb printed."""
    assert result.exit_code == 0, result.output
    return [line.partition(" read")[0].strip() for line in result.stdout.splitlines() if " read" in line]


def test_every_verb_counts_the_definitions(run: Callable, tmp_path: Path):
    """Catches definitions that a person cannot know of, and a line about none where there are none."""
    toy, part, both = (tmp_path / name for name in ("toy", "part", "both"))
    sizes = ("--option", "trees=2", "--option", "branching=2")
    assert (
        "14 definitions of 14 concepts" in run("read", "toy", "-o", toy, *sizes, "--option", "definitions=true").stdout
    )
    assert "6 definitions of 6 concepts" in run("subset", toy, "-o", part, "--below", "TOY:D0").stdout
    assert "14 definitions of 14 concepts" in run("merge", toy, part, "-o", both).stdout
    assert ["definitions", "6"] in [line.split() for line in run("stats", part).stdout.splitlines()]
    assert "definitions" not in run("read", "toy", "-o", tmp_path / "bare", *sizes).stdout


def test_subset_cuts_cycles(run: Callable, tmp_path: Path):
    records = [Term("A:1", "flumpa"), Term("A:2", "terkia"), Term("B:1", "drod"), Parent("A:1", "A:2")]
    records += [Parent("A:2", "A:1"), Parent("B:1", "A:1")]
    whole = Terminology.from_records(records, SourceInfo("A", "A")).save(tmp_path / "whole")
    result = run("subset", whole, "-o", tmp_path / "part", "--without-cycles")
    assert result.exit_code == 0, result.output
    assert "parents on a cycle" in result.stdout
    assert Terminology.load(tmp_path / "part", verify=True).parents.num_rows == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("merge", "{a}", "-o", "{out}"), "merge takes two terminologies or more, found 1"),
        (
            ("merge", "{a}", "{b}", "-o", "{a}"),
            "already contains a terminology; choose another folder, or replace it with --overwrite",
        ),
        (("merge", "{a}", "{b}", "-o", "{out}", "--crosswalk", "xrefs"), "no cross-reference has predicate 'xrefs'"),
        (("merge", "{a}", "{b}", "-o", "{out}", "--same-name", "lowr"), "unknown normalizer 'lowr'"),
        (("subset", "{a}", "-o", "{out}"), "subset needs a condition"),
        (("subset", "{a}", "-o", "{out}", "--types", "T9"), "no concept has type 'T9'"),
        (("subset", "{a}", "-o", "{out}", "--below", "A:9"), "no concept has code 'A:9'"),
        (
            ("subset", "{a}", "-o", "{out}", "--languages", "it", "--below", "A:1", "--types", "T1", "--sources", "B"),
            "'B'",
        ),
        (("pairs", "{b}", "-o", "{out}"), "no concept of .* has two names"),
        (("pairs", "{a}", "-o", "{out}", "--max-pairs-per-concept", "0"), "--max-pairs-per-concept"),
    ],
)
def test_bad_words_end_in_one_line(
    words: tuple[str, ...], message: str, refused: Callable[..., str], two: tuple[Path, Path], tmp_path: Path
):
    import re

    filled = [word.format(a=two[0], b=two[1], out=tmp_path / "out") for word in words]
    assert re.search(message, refused(*filled))
    assert not (tmp_path / "out").exists()


def test_outputs_are_looked_at_before_the_work(refused: Callable[..., str], two: tuple[Path, Path], tmp_path: Path):
    """Catches a merge that is saved and then ends in a traceback."""
    (tmp_path / "file").write_text("")
    for inside in (tmp_path / "out", tmp_path / "out" / "deep" / "c.tsv"):
        line = refused("merge", *two, "-o", tmp_path / "out", "--conflicts", inside)
        assert (
            f"--conflicts: {inside} is in {tmp_path / 'out'}, which is replaced whole; choose a file elsewhere" in line
        )
    line = refused("merge", *two, "-o", tmp_path / "out", "--conflicts", tmp_path / "file" / "c.tsv")
    assert "file: is a file, expected a folder" in line
    assert not (tmp_path / "out").exists()
    assert "is a folder, expected a file to write" in refused("pairs", two[0], "-o", tmp_path, "--overwrite")


def test_pairs_writes_both_forms_and_never_over_a_file(
    run: Callable, refused: Callable[..., str], two: tuple[Path, Path], tmp_path: Path
):
    out = tmp_path / "new" / "pairs.txt"
    result = run("pairs", two[0], "-o", out)
    assert result.exit_code == 0, result.output
    assert out.read_text() == "A:2||terkia||terkia it\n"
    assert "already exists; --overwrite replaces it" in refused("pairs", two[0], "-o", out)
    assert run("pairs", two[0], "-o", out, "--form", "names", "--overwrite").exit_code == 0
    assert out.read_text() == "A:1||flumpa\nA:2||terkia\nA:2||terkia it\n"
    odd = Terminology.from_records([Term("A:1", "a||b"), Term("A:1", "c")], SourceInfo("A", "A")).save(
        tmp_path / "odd"
    )
    result = run("pairs", odd, "-o", out, "--form", "names", "--overwrite")
    assert "dropped: lines whose name holds || or a line break" in result.stdout
    assert out.read_text() == "A:1||c\n"
