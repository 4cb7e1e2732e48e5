"""Sources of a YAML file as one terminology, and what the report says of their conflicts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Definition, Parent, Record, SourceInfo, Term, Xref
from st_biomed.terminology import Terminology
from st_biomed.terminology.crosswalk import Crosswalk
from st_biomed.terminology.normalization import normalized
from st_biomed.terminology.union import missing_files, unite
from st_biomed.terminology.union_plan import UnionPlan
from st_biomed.terminology.union_record import made_of
from tests.contracts.reader_contract import FIXTURES

OPEN = {prefix: SourceInfo(prefix, prefix, license="CC0-1.0", redistributable=True) for prefix in "AB"}
CLOSED = SourceInfo("C", "C", license="theirs")


def terminology(source: SourceInfo, names: dict[str, list[str]], *more: Record) -> Terminology:
    terms = [
        Term(f"{source.name}:{key}", text, "synonym" if i else "preferred")
        for key, texts in names.items()
        for i, text in enumerate(texts)
    ]
    return Terminology.from_records([source, *terms, *more], source)


A = terminology(
    OPEN["A"],
    {"1": ["Flumpa", "flumpa"], "2": ["terkia"], "3": ["mimpa"]},
    Parent("A:1", "A:2"),
    Xref("A:1", "B:1"),
    Xref("A:2", "B:2"),
    Xref("A:3", "B:3"),
    Xref("A:3", "B:4"),
    Definition("A:1", "A Flumpa, no flumpa."),
)
B = terminology(OPEN["B"], {"1": ["FLUMPA"], "2": ["zorb"], "3": ["Terkia"], "4": ["mimpa"]}, Parent("B:2", "B:1"))
C = terminology(CLOSED, {"1": ["mimpa"], "2": ["ZORB"]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three saved terminologies."""
    for name, part in (("a", A), ("b", B), ("c", C)):
        part.save(tmp_path / name)
    return tmp_path


def plan(folder: Path, text: str) -> UnionPlan:
    file = folder / "plan.yaml"
    file.write_text(text)
    return UnionPlan.read(file)


ALL = "sources: {a: {path: a}, b: {path: b}, c: {path: c}}\n"


# ---------------------------------------------------------------------- names in one case


def test_names_equal_but_for_case_become_one_text() -> None:
    """Catches a text that stays a negative of its own lower case, a lost preferred name, and definitions lowered too."""
    small = normalized(A, "lower")
    assert small.strings == ["flumpa", "mimpa", "terkia"]
    assert small.concept_names("A:1") == ["flumpa"]
    assert small.terms["kind"].to_pylist() == ["preferred"] * 3
    assert small.definition_strings == ["A Flumpa, no flumpa."]
    tally = small.tallies["normalize lower"]
    assert tally.dropped["synonyms equal to the preferred term"] == 1
    assert tally.adds_up()
    assert tally.notes == ["1 texts became equal to another one"]
    assert normalized(A, "none") is A
    with pytest.raises(InputError, match="unknown normalizer 'upper'"):
        normalized(A, "upper")


def test_a_source_that_may_not_be_redistributed_is_not_lost() -> None:
    """Catches a release that thinks its names are free since they were written in small letters."""
    assert not normalized(C, "lower").sources["C"].redistributable


# ---------------------------------------------------------------------- the union


def test_sources_are_united_in_their_order_and_cycles_dropped(folder: Path) -> None:
    """Catches the whole chain: links, normalized names, cycles that only the union makes, and their counts."""
    made = unite(plan(folder, f"{ALL}crosswalk: xref\nnormalize: lower\n"), folder)
    assert made.crosswalk.codes == {"B:1": "A:1", "B:2": "A:2"}
    assert made.terminology.concept_names("A:1") == ["flumpa"]
    assert made.terminology.parents.num_rows == 0
    assert made.report["terminology"] == made.terminology.digest
    assert made.report["cycles"]["parents"] == 2
    assert made.report["cycles"]["dropped"]
    assert made.report["equal names of different concepts"]["names"] == 3
    assert made.report["links that do not hold"][0]["links"] == 2
    assert made.terminology.tallies["without cycles"].n_dropped == 2
    kept = unite(plan(folder, f"{ALL}crosswalk: [xref]\nwithout_cycles: false\n"), folder).terminology
    assert (kept.n_cyclic_parents, kept.n_texts) == (2, 8)


def test_cross_references_of_a_source_may_lead_to_what_is_not_the_same(folder: Path) -> None:
    """Catches a therapy that becomes one with its substance; the cross-reference itself stays."""
    apart = ALL.replace("a: {path: a}", "a: {path: a, apart_from: [B]}")
    made = unite(plan(folder, f"{apart}crosswalk: xref\n"), folder)
    assert (made.crosswalk.codes, made.terminology.n_concepts) == ({}, 9)
    assert made.terminology.xrefs.num_rows == A.xrefs.num_rows
    with pytest.raises(InputError, match="apart_from must have an entry for each of 2, found 1"):
        Crosswalk.between(A, B, predicates=["xref"], apart_from=[["A"]])
    with pytest.raises(
        InputError, match=r"apart_from: no cross-reference of A that is followed leads to C; they lead to"
    ):
        Crosswalk.between(A, B, predicates=["xref"], apart_from=[["C"], []])


def test_names_of_a_source_unite_nothing_where_asked_for(folder: Path) -> None:
    """Catches a setting of a source that is read and not used."""
    without = ALL.replace("a: {path: a}", "a: {path: a, by_name: false}")
    assert unite(plan(folder, f"{ALL}same_name: lower\n"), folder).crosswalk.codes["B:1"] == "A:1"
    assert unite(plan(folder, f"{without}same_name: lower\n"), folder).crosswalk.codes == {"C:1": "B:4", "C:2": "B:2"}


def test_files_of_a_linked_folder_are_among_those_of_a_union(folder: Path, tmp_path: Path) -> None:
    """Catches a release of a source that is another one while its union counts as up to date."""
    (tmp_path / "release" / "rrf").mkdir(parents=True)
    (tmp_path / "release" / "rrf" / "NAMES.RRF").write_text("a")
    (tmp_path / "release" / "rrf" / "round").symlink_to(tmp_path / "release")
    (folder / "a" / "linked").symlink_to(tmp_path / "release" / "rrf")
    assert "a/linked/NAMES.RRF" in made_of(plan(folder, ALL), folder)["files"]


@pytest.mark.parametrize("backwards", [False, True])
def test_of_two_ways_to_a_folder_one_is_taken_on_every_machine(
    folder: Path, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a copied data folder that counts as another one by the order of its entries."""
    (folder / "a" / "real").mkdir()
    (folder / "a" / "real" / "x").write_text("a")
    (folder / "a" / "a_link").symlink_to(folder / "a" / "real")
    walk = os.walk

    def other_way(*given: Any, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for of_folder in walk(*given, **options):
            of_folder[1].sort(reverse=backwards)
            yield of_folder

    monkeypatch.setattr(os, "walk", other_way)
    files = made_of(plan(folder, ALL), folder)["files"]
    assert "a/a_link/x" in files and "a/real/x" not in files


def test_equal_preferred_names_unite_where_asked_for(folder: Path) -> None:
    made = unite(plan(folder, f"{ALL}same_name: lower\npreferred_names: true\n"), folder)
    assert made.terminology.codes == ["A:1", "A:2", "A:3", "B:2"]
    assert made.report["equal names of different concepts"]["names"] == 0


def test_a_reader_takes_its_options_and_files_below_the_folder(tmp_path: Path) -> None:
    """Catches an option that names a file looked for in the working directory."""
    text = (
        "sources:\n  mesh:\n    reader: mesh\n    path: mesh_terms_2031.tsv\n"
        "    options: {trees: mtrees2031.bin, without_tags: [TRD, LAB], permuted: true}\n  toy: {reader: toy}\n"
    )
    made = unite(plan(tmp_path, text), FIXTURES)
    assert made.terminology.concept_names("MESH:D990004") == ["Terkimab"]
    assert made.terminology.sources.keys() == {"MESH", "TOY"}
    assert {reading["reader"] for reading in made.terminology.readings} == {"mesh", "toy"}


@pytest.mark.parametrize(
    ("concepts", "paths", "kept"),
    [
        ("[C0000001, C0000002]", 1, "C0000001,C0000002"),
        ("'C0000001,C0000002'", 1, "C0000001,C0000002"),
        ("nowhere.txt", 1, "nowhere.txt"),  # the reader says that there is no such file
        ("cuis.txt", 2, None),
    ],
)
def test_codes_in_an_option_are_no_files(tmp_path: Path, concepts: str, paths: int, kept: str | None) -> None:
    """Catches a list of codes that is looked for as a file, and a file of them that is not looked for below the folder."""
    (tmp_path / "cuis.txt").write_text("C0000001\n")
    text = f"sources: {{umls: {{reader: umls, path: META, options: {{concepts: {concepts}}}}}}}"
    (source,) = plan(tmp_path, text).sources
    placed = source.below(tmp_path)
    assert placed.options["concepts"] == (kept or tmp_path / "cuis.txt")
    assert placed.paths == [tmp_path / "META", tmp_path / "cuis.txt"][:paths]


@pytest.mark.parametrize("also", ["nowhere", "[snomed, nowhere]", "'snomed, nowhere'"])
def test_a_missing_folder_among_those_of_an_option_is_missing(folder: Path, also: str) -> None:
    """Catches a second edition that is taken for a code, so that its source is neither reported nor skipped."""
    (folder / "snomed").mkdir()
    text = f"sources: {{a: {{path: a}}, twin: {{reader: snomed, path: snomed, options: {{also: {also}}}}}}}"
    assert missing_files(plan(folder, text), folder) == {"twin": [folder / "nowhere"]}
    assert unite(plan(folder, text), folder, skip_missing=True).report["left out"] == ["twin"]


def test_missing_files_are_all_named_and_skipped_only_where_asked_for(folder: Path) -> None:
    """Catches a union that is smaller than its settings without a word."""
    text = "sources: {a: {path: a}, gone: {reader: obo, path: nowhere.obo}, b: {path: b}}\ncrosswalk: [xref, exactMatch]\n"
    chosen = plan(folder, f"{text}through: [UMLS]\n")
    assert missing_files(chosen, folder) == {"gone": [folder / "nowhere.obo"]}
    with pytest.raises(InputError, match=r"1 of 3 sources lack files, 'gone' for one: .*nowhere\.obo"):
        unite(chosen, folder)
    made = unite(chosen, folder, skip_missing=True)
    assert made.report["left out"] == ["gone"]
    assert made.terminology.n_concepts == 5
    with pytest.raises(InputError, match="no source of the plan has its files"):
        unite(plan(folder, "sources: {gone: {path: nowhere}}"), folder, skip_missing=True)


def test_what_a_source_refuses_names_the_source(folder: Path) -> None:
    (folder / "x.obo").write_text("no stanza\n")
    with pytest.raises(InputError, match=r"source 'bad': .*x\.obo:1: expected 'tag: value' or a stanza"):
        unite(plan(folder, "sources: {bad: {reader: obo, path: x.obo}}"), folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crosswalk: xref\n", "'sources' must have a source's name with its reader and path, found None"),
        ("sources: [a]\n", "'sources' must have a source's name"),
        ("sources: {a: obo}\n", "source 'a' must have a reader and a path, found 'obo'"),
        ("sources: {a: {read: obo}}\n", "unknown option of .*source 'a' 'read': .*did you mean 'reader'"),
        ("sources: {a: {reader: oboe, path: x}}\n", "source 'a': unknown reader 'oboe'"),
        (
            "sources: {a: {reader: obo, path: x, options: {scope: EXACT}}}\n",
            "source 'a': unknown option of reader 'obo'",
        ),
        ("sources: {a: {reader: toy, options: {depth: deep}}}\n", "source 'a': option depth must be a number like 3"),
        ("sources: {a: {reader: toy, options: [depth]}}\n", "source 'a': 'options' must have names and values"),
        ("sources: {a: {path: [x]}}\n", r"source 'a': 'path' must be a text, found \['x'\]"),
        ("sources: {a: {path: x, options: {a: b}}}\n", "source 'a' needs a reader, or the path of a saved"),
        ("sources: {a: {}}\n", "source 'a' needs a reader, or the path of a saved"),
        ("sources: {a: {path: x, apart_from: [1]}}\n", r"'sources.a.apart_from' must be a list of words, found \[1\]"),
        ("sources: {a: {path: x, by_name: no one}}\n", "source 'a': 'by_name' must be true or false, found 'no one'"),
        (f"{ALL}normalize: upper\n", "unknown normalizer 'upper'"),
        (f"{ALL}without_cycles: 1\n", "'without_cycles' must be true or false, found 1"),
        (f"{ALL}crosswalk: [1]\n", r"'crosswalk' must be a list of words, found \[1\]"),
        (f"{ALL}through: UMLS\n", "'through' needs 'crosswalk'"),
        (f"{ALL}preferred_names: true\n", "'preferred_names' needs 'same_name'"),
        (f"{ALL}normalise: lower\n", "did you mean 'normalize'"),
    ],
)
def test_bad_plans_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Catches a wrong key that is found after an hour of reading, or never."""
    with pytest.raises(InputError, match=message) as refused:
        plan(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_a_plan_extends_another(folder: Path) -> None:
    """Catches sources that are lost, or come before those whose codes should stay, and settings of the extended file that win."""
    (folder / "first.yaml").write_text("sources: {a: {path: a}}\nnormalize: lower\nsame_name: lower\n")
    chosen = plan(folder, "extends: first.yaml\nnormalize: none\nsources: {b: {path: b}}\n")
    assert [source.name for source in chosen.sources] == ["a", "b"]
    assert (chosen.normalize, chosen.same_name) == ("none", "lower")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: nowhere.yaml\n", "'extends' must be the name of a file beside it, found 'nowhere.yaml'"),
        ("extends: [first.yaml]\n", "'extends' must be the name of a file beside it"),
        ("extends: plan.yaml\n", "plan.yaml: extends itself through plan.yaml"),
        (
            "extends: first.yaml\nsources: {a: {path: b}}\n",
            "source 'a' is in first.yaml already; give it another name",
        ),
        ("extends: first.yaml\nsources: [b]\n", "'sources' must have a source's name"),
    ],
)
def test_a_plan_that_extends_wrongly_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "first.yaml").write_text("sources: {a: {path: a}}\n")
    with pytest.raises(InputError, match=message):
        plan(tmp_path, text)


@pytest.mark.parametrize(("name", "least"), [("open_terminology", 15), ("open_terminology_multilingual", 25)])
def test_the_plans_of_open_sources_can_be_read(name: str, least: int) -> None:
    """Catches an option of a reader that was renamed and is still in the project's own file."""
    chosen = UnionPlan.read(Path(__file__).parents[2] / "evaluation" / f"{name}.yaml")
    assert len(chosen.sources) >= least
    assert len(missing_files(chosen, Path("nowhere"))) == len(chosen.sources)
