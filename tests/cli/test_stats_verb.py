"""``st-biomed stats``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from st_biomed.linking import ConceptIndex
from st_biomed.records import SourceInfo, Term, Xref
from st_biomed.terminology import Terminology


def test_counts_tallies_and_sources_are_listed(run: Callable, toy_folder: Path) -> None:
    result = run("stats", toy_folder)
    assert result.exit_code == 0, result.output
    lines = {line[:27].rstrip(): line[28:] for line in result.stdout.splitlines()}
    assert lines["concepts"] == "30"
    assert lines["concepts with a definition"] == "0"  # the longest of the keys
    assert lines["concepts by depth"] == "0 3, 1 9, 2 18"
    assert re.fullmatch(r"toy trees=2 branching=3 \(st-biomed .*\)", lines["read from"])
    assert lines["terms by kind"] == "preferred 30, synonym 42"
    assert re.search(r"^toy rows read +72\n  kept +72$", result.stdout, re.MULTILINE)
    assert "license: CC0-1.0; may be redistributed" in lines["TOY"]


def test_of_many_sources_the_largest_are_listed(run: Callable, tmp_path: Path) -> None:
    """Catches a line of a thousand sources, and others that are not counted."""
    records = [Term(f"ZORB:{i}", f"zorb {i}", source=f"S{i:02}") for i in range(40)]
    records += [
        Term("ZORB:39", "flumpa", source="S39"),
        Xref("ZORB:1", "GRA:1"),
        Xref("ZORB:2", "GRA:1", source="S02"),
    ]
    sources = [SourceInfo(name=f"S{i:02}", title="Zorb", license="CC0-1.0") for i in range(40)]
    Terminology.merge(
        *(Terminology.from_records([one for one in records if _of(one, source)], source) for source in sources)
    ).save(tmp_path / "many")
    lines = {line[:27].rstrip(): line[28:] for line in run("stats", tmp_path / "many").stdout.splitlines()}
    listed = lines["terms by source"].split(", ")
    assert listed[-2:] == ["S39 2", "10 others 10"] and len(listed) == 31
    assert lines["xrefs by predicate"] == "xref 2"


def _of(record: Term | Xref, source: SourceInfo) -> bool:
    return (record.source or "S01") == source.name


def test_an_index_tells_what_it_was_built_from(
    run: Callable, toy_folder: Path, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches an index whose release nobody can tell."""
    ConceptIndex.build(Terminology.load(toy_folder), tiny_bert_folder, tmp_path / "toy.index")
    result = run("stats", tmp_path / "toy.index")
    assert result.exit_code == 0, result.output
    lines = {line[:27].rstrip(): line[28:] for line in result.stdout.splitlines()}
    assert (lines["concepts"], lines["names"], lines["kind"]) == ("30", "71", "exact")
    assert lines["encoder"].startswith(str(tiny_bert_folder))
    assert "license: CC0-1.0; may be redistributed" in lines["TOY"]


def test_a_folder_without_a_terminology_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "no terminology.json in it" in refused("stats", tmp_path)
    assert "no such folder, and no reader of this name" in refused("stats", tmp_path / "nowhere")
