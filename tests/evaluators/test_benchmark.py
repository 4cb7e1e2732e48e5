"""Benchmarks as files: those that come along are sound, and a mistake in one's own is one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.benchmark import (
    FAMILIES,
    OTHER_LANGUAGES,
    Benchmark,
    benchmark_file,
    benchmark_names,
    evaluator_kinds,
    family_of,
    read_all_settings,
    read_benchmark_settings,
    settings_class,
)
from st_biomed.evaluators.data_folder import data_path, open_terminology
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.relatedness.settings import RelatednessSettings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.terminology import Terminology

READERS = Path(__file__).parents[1] / "fixtures" / "readers"
TEXT = """
name: zorb
title: Invented pairs
evaluator: relatedness
data:
  files: [pairs/zorb.csv]
  license: CC0-1.0
settings:
  path: pairs/zorb.csv
  score: mean
published:
  - source: Terkia 1999, Table 1
    protocol: three pairs, cosine
    settings: {score: mean, path: pairs/zorb.csv}
    n: 3
    figures:
      - {system: Flumpa, metric: zorb_spearman, value: 0.5}
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    (folder / "pairs").mkdir(parents=True)
    (folder / "pairs" / "zorb.csv").write_text("term1,term2,mean,other\na,b,1,3\nc,d,2,2\ne,f,3,1\n")
    monkeypatch.setenv("ST_BIOMED_DATA", str(folder))
    (tmp_path / "zorb.yaml").write_text(TEXT)
    return folder


def test_a_file_becomes_an_evaluator(data: Path):
    benchmark = Benchmark.read(data.parent / "zorb.yaml")
    (evaluator,) = benchmark.evaluator_settings().evaluators(n_bootstrap=3)
    assert evaluator.primary_metric == benchmark.published[0].metric == "zorb_spearman"
    assert (benchmark.published[0].protocol, benchmark.published[0].n) == ("three pairs, cosine", 3)
    assert evaluator.scores.tolist() == [1, 2, 3] and evaluator.n_bootstrap == 3
    assert (benchmark.title, benchmark.data.license, benchmark.missing()) == ("Invented pairs", "CC0-1.0", [])
    (data / "pairs" / "zorb.csv").unlink()
    assert benchmark.missing() == ["pairs/zorb.csv"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "name_of:", r"zorb\.yaml: unknown key 'name_of'"),
        ("title:", "language: Italian\ntitle:", r"zorb\.yaml: language must be two letters .* found 'Italian'"),
        ("files:", "terminologies: UMLS\n  files:", r"data: terminologies must be a list of texts, found 'UMLS'"),
        ("name: zorb", "", r"zorb\.yaml: name is missing"),
        ("evaluator: relatedness", "evaluator: relatednes", "unknown evaluator 'relatednes'.*did you mean"),
        ("score: mean", "scores: mean", r"zorb\.yaml: settings: unknown key 'scores'"),
        ("score: mean", "score: 3", r"zorb\.yaml: settings: score must be text, found 3"),
        ("  path: pairs/zorb.csv", "", r"zorb\.yaml: settings: path is missing"),
        (
            "files: [pairs/zorb.csv]",
            "files: pairs/zorb.csv",
            r"data: files must be a list of texts, found 'pairs/zorb.csv'",
        ),
        (", value: 0.5", "", r"published\[0\]: figures\[0\]: value is missing"),
        ("value: 0.5", "value: high", r"published\[0\]: figures\[0\]: value must be a number, found 'high'"),
        ("    protocol: three pairs, cosine\n", "", r"published\[0\]: protocol is missing"),
        ("protocol: three pairs, cosine", "protocol: ''", r"published\[0\]: protocol is empty"),
        ("source: Terkia 1999, Table 1", "source: ' '", r"published\[0\]: source is empty"),
        (
            "settings: {score: mean,",
            "settings: {score: median,",
            r"\[0\]: was measured with score 'median', .* 'mean': published figures",
        ),
        (
            "settings: {score: mean,",
            "settings: {score.of: 1,",
            r"\[0\]: was measured with score.of 1, the benchmark has None",
        ),
        (
            "data:\n  files: [pairs/zorb.csv]\n  license: CC0-1.0",
            "data: here",
            "data must be .*, found 'here'",
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_line(data: Path, old: str, new: str, message: str):
    assert old in TEXT
    (data.parent / "zorb.yaml").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        Benchmark.read(data.parent / "zorb.yaml")


def test_a_name_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="unknown benchmark 'ncbi_diseas'.*did you mean 'ncbi_disease'"):
        Benchmark.read("ncbi_diseas")
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        Benchmark.read(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="has evaluator 'entity_linking', expected 'relatedness'"):
        read_benchmark_settings("ncbi_disease", RelatednessSettings)


@pytest.mark.parametrize("name", sorted(benchmark_names()))
def test_the_benchmarks_that_come_along_are_whole(name: str):
    """Would catch a file without a source or a license, and published figures without theirs."""
    benchmark = Benchmark.read(name)
    assert benchmark.title and benchmark.data.source and benchmark.data.license and benchmark.data.version
    for figure in benchmark.published:
        assert figure.source and figure.metric.startswith(benchmark.name)


def test_recipes_name_benchmarks_by_their_place_or_name():
    by_path = read_benchmark_settings("evaluation/benchmarks/ncbi_disease.yaml", LinkingSettings)
    assert by_path == read_benchmark_settings("ncbi_disease", LinkingSettings) and by_path.format == "ncbi_disease"


@pytest.mark.parametrize("kind", evaluator_kinds())
def test_every_kind_can_be_made(kind: str):
    """A folder without settings is found here, and not by a user."""
    with pytest.raises(InputError, match="unknown key 'no such setting'"):
        Benchmark("zorb", kind, {"no such setting": 1}).evaluator_settings()


def test_every_evaluator_can_be_a_benchmark():
    kinds = {
        evaluator.__module__.split(".")[2]
        for evaluator in EmbeddingEvaluator.__subclasses__()
        if "st_biomed" in evaluator.__module__
    }
    assert kinds <= set(evaluator_kinds())
    assert len({settings_class(kind) for kind in evaluator_kinds()}) == len(evaluator_kinds()) == 7


def test_paths_are_looked_for_here_and_below_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ST_BIOMED_DATA", "elsewhere")
    (tmp_path / "here").mkdir()
    assert data_path("here") == Path("here")
    assert data_path("there") == Path("elsewhere/there")
    monkeypatch.delenv("ST_BIOMED_DATA")
    assert data_path("there") == Path("there")


def test_a_terminology_of_several_benchmarks_is_read_once(data: Path):
    (data / "names.txt").write_text("X1||flumpa\nX1||terkia\n")
    first = open_terminology(["parent_child:names.txt"])
    assert open_terminology(["parent_child:names.txt"]) is first
    assert open_terminology(["parent_child:names.txt", "toy"]).n_concepts == open_terminology(["toy"]).n_concepts + 1


def test_a_source_keeps_its_options_below_the_folder_of_data(data: Path):
    (data / "names.txt").write_text("X1||flumpa\nX1||terkia\n")
    opened = open_terminology(["parent_child:names.txt?name=ZORB"])
    assert list(opened.sources) == ["ZORB"]


def test_the_files_of_options_are_looked_for_below_the_folder_of_data(data: Path):
    (data / "map.csv").write_text("parent,child\nX1,X2\n")
    (data / "names.csv").write_text("code,name\nX1,flumpa\nX2,terkia\n")
    opened = open_terminology(["parent_child:map.csv?strings=names.csv&name=ZORB"])
    assert (opened.parents.num_rows, sorted(opened.strings)) == (1, ["flumpa", "terkia"])
    (data / "names.csv").write_text("code,name\nX1,flumpa\nX2,terk\n")
    again = open_terminology(["parent_child:map.csv?strings=names.csv&name=ZORB"])
    assert sorted(again.strings) == ["flumpa", "terk"], "the file of an option was written anew"


def test_a_folder_is_read_again_when_a_file_in_it_changes(data: Path):
    """Catches the figures of an earlier edition, which was written anew in place below the folder of a reader."""
    shutil.copytree(READERS / "rxnorm", data / "rxnorm")
    first = open_terminology(["rxnorm:rxnorm"])
    assert open_terminology(["rxnorm:rxnorm"]) is first
    file = next((data / "rxnorm").rglob("RXNCONSO.RRF"))
    file.write_text(file.read_text().replace("mimpicol", "mimpinol"))
    again = open_terminology(["rxnorm:rxnorm"])
    assert again.digest != first.digest and not [name for name in again.strings if "mimpicol" in name]


def test_a_terminology_of_one_name_is_that_of_the_folder_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches the figures of a terminology that is not the one in its place: in another folder, or replaced meanwhile."""
    toy = Terminology.read("toy")
    few = toy.subset(below=[toy.codes[1]])
    for place, terminology in (("one", toy), ("two", few)):
        terminology.save(tmp_path / place / "toy")
        monkeypatch.chdir(tmp_path / place)
        assert open_terminology(["toy"]).digest == terminology.digest
        assert open_terminology(["toy"]) is open_terminology(["toy"])
    shutil.rmtree(tmp_path / "two" / "toy")
    toy.save(tmp_path / "two" / "toy")
    assert open_terminology(["toy"]).digest == toy.digest
    monkeypatch.chdir(tmp_path)
    assert open_terminology(["toy"]).digest == toy.digest


# ---------------------------------------------------------------------- families and sources


def test_every_kind_has_its_line_in_a_scorecard():
    """Would catch a new kind whose benchmarks stand behind all others, under a name that nothing lists."""
    assert {family_of(kind) for kind in evaluator_kinds()} == set(FAMILIES)


def test_a_family_that_no_scorecard_has_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Catches an own kind of benchmark whose scorecard ends in a traceback, after everything was measured."""
    monkeypatch.setattr("st_biomed.evaluators.tree.settings.FAMILY", "odd ones")
    with pytest.raises(
        InputError, match="unknown FAMILY of the evaluators 'tree' 'odd ones': allowed are 'clustering'"
    ):
        family_of("tree")


def test_what_is_not_in_english_is_a_family_of_its_own(data: Path):
    path = data.parent / "zorb.yaml"
    assert Benchmark.read(path).family == "relatedness"
    for language in ("no", "mul"):  # Norwegian, not false; several languages
        path.write_text(TEXT.replace("title:", f"language: {language}\ntitle:"))
        assert (Benchmark.read(path).language, Benchmark.read(path).family) == (language, OTHER_LANGUAGES)


@pytest.mark.parametrize("name", sorted(benchmark_names()))
def test_a_benchmark_that_comes_along_says_its_language_and_what_its_dictionary_is_made_of(name: str):
    """Would catch German mentions that count as linking in English, and a dictionary that no training is known to have read."""
    benchmark = Benchmark.read(name)
    options = benchmark.settings.get("options", {})
    assert benchmark.language == options.get(
        "language", (benchmark.settings.get("languages") or [benchmark.language])[0]
    )
    assert (benchmark.language == "it") == ("_it" in name)
    if "icd9" in name:  # in Italian; the English edition has the same codes and parents
        assert benchmark.data.terminologies == ["ICD9CM"]
    else:
        plain_file = benchmark.evaluator == "entity_linking" or "pairs" in benchmark.settings
        assert bool(benchmark.data.terminologies) == plain_file


def test_sources_are_those_of_the_terminology_of_the_dictionary_and_of_the_file(data: Path, tmp_path: Path):
    """Would catch a benchmark of a terminology that was trained on and that nobody marks."""
    Terminology.read("toy", trees=2, branching=2).save(tmp_path / "toy")
    trees = {"sources": [str(tmp_path / "toy")], "whole": True}
    assert Benchmark("t", "tree", trees).source_names() == ["TOY"]
    assert Benchmark("t", "tree", {"pairs": "pairs.txt"}).source_names() == []
    assert Benchmark.read(data.parent / "zorb.yaml").source_names() == []
    for dictionary in (str(tmp_path / "toy"), f"terminology:{tmp_path / 'toy'}"):
        wards = {"format": "bc5cdr", "path": "wards", "dictionary": dictionary}
        assert Benchmark("w", "entity_linking", wards).source_names() == ["BC5CDR", "BC5CDR_DICTIONARY", "TOY"]
    named = ["MEDIC", "MESH", "MSH", "NCBI-DISEASE", "NCBI-DISEASE_DICTIONARY", "OMIM"]
    assert Benchmark.read("ncbi_disease").source_names() == named


def test_a_single_none_selects_no_settings():
    """Catches a configuration whose linking benchmarks the command line cannot leave out."""
    assert read_all_settings(["none"], TreeSettings) == read_all_settings([""], TreeSettings) == []
    assert [settings.name for settings in read_all_settings(["hpo_tree"], TreeSettings)] == ["hpo_tree"]
    with pytest.raises(InputError, match="unknown benchmark 'none'"):
        read_all_settings(["hpo_tree", "none"], TreeSettings)


@pytest.mark.parametrize("name", ["nowhere/mayosrs.yaml", "mine/mayosrs", "/mayosrs.yaml"])
def test_a_path_that_is_not_there_is_no_packaged_benchmark(name: str):
    """Catches figures of the packaged data under the name of somebody's own file."""
    with pytest.raises(InputError, match=f"{name}: no such file; expected a YAML file of a benchmark"):
        benchmark_file(name)
    for packaged in ("mayosrs", "mayosrs.yaml", "evaluation/benchmarks/mayosrs.yaml"):
        assert benchmark_file(packaged).name == "mayosrs.yaml"
