"""Every published figure of evaluation/benchmarks stands beside its own protocol, and is of a metric that is measured."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from st_biomed.evaluators.benchmark import Benchmark, benchmark_names

FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"
EVERY = [Benchmark.read(name) for name in benchmark_names()]
WITH_FIGURES = [benchmark for benchmark in EVERY if benchmark.published]

DRAWN_TEN_TIMES = list(range(10))
OF_FORMAT: dict[str, Callable[[dict[str, Any]], bool]] = {
    "askapatient": lambda settings: settings.get("folds") == DRAWN_TEN_TIMES,
    "biosyn": lambda settings: settings["dictionary"].endswith("/test_dictionary.txt") and not settings.get("steps"),
    "cometa": lambda settings: settings["options"] == {"level": "general"},
    "medmentions": lambda settings: settings["path"].endswith("/full"),
}
"""Format to what its settings have to say where figures stand beside. Liu et al. 2021, Appendix A: AskAPatient in "the 10-fold
evaluation protocol", "the stratified (general) split" of COMETA, NCBI disease and BC5CDR with "the same data and evaluation
protocol" as BioSyn, whose "test_dictionary includes train and dev mentions" (its README), and MedMentions with "over 350,000
mentions". Those of BERGAMOT's corpora (CodiEsp, CANTEMIST, QUAERO) are over filtered test sets that nobody has."""


def entries(benchmark: Benchmark) -> list[dict[str, Any]]:
    assert benchmark.path is not None
    written: list[dict[str, Any]] = yaml.safe_load(benchmark.path.read_text("utf-8")).get("published", [])
    return written


# ---------------------------------------------------------------------- protocols


@pytest.mark.parametrize("benchmark", WITH_FIGURES, ids=lambda benchmark: benchmark.name)
def test_a_figure_says_its_table_and_its_protocol_and_which_settings_were_its_own(benchmark: Benchmark):
    """What ``Benchmark.read`` then refuses where the settings are others."""
    for entry in entries(benchmark):
        assert re.search(r"\d{4}, (Table \d|code repository)", entry["source"]), entry["source"]
        assert len(entry["protocol"]) > 10 and entry["settings"], entry


@pytest.mark.parametrize(
    "benchmark",
    [benchmark for benchmark in WITH_FIGURES if benchmark.evaluator == "entity_linking"],
    ids=lambda benchmark: benchmark.name,
)
def test_figures_of_linking_stand_beside_the_protocol_of_their_paper(benchmark: Benchmark):
    """Would catch COMETA's other split, one fold of ten, a part of MedMentions, and dictionaries without mentions."""
    assert OF_FORMAT[benchmark.settings["format"]](benchmark.settings)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("askapatient", {"folds": [0]}),
        ("cometa_stratified", {"path": "linking/cometa/splits/zeroshot_general"}),
        ("medmentions_full", {"path": "linking/medmentions/st21pv"}),
        ("bc5cdr_disease_biosyn", {"steps": {"lower_case": {}}}),
        ("bc5cdr_disease_biosyn", {"dictionary": "linking/CTD_diseases.tsv.gz"}),
        ("ncbi_disease_biosyn", {"dictionary": "linking/biosyn/ncbi-disease/train_dictionary.txt"}),
        ("mayosrs", {"path": "benchmarks_dev/similarity/MiniMayoSRS.csv"}),
    ],
)
def test_figures_are_refused_beside_other_settings(name: str, change: dict[str, Any], tmp_path: Path):
    written = yaml.safe_load(benchmark_names()[name].read_text("utf-8"))
    written["settings"] |= change
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(written))
    with pytest.raises(
        ValueError,
        match=r"published\[0\]: was measured with .*, the benchmark has .*: published figures are shown only",
    ):
        Benchmark.read(tmp_path / "other.yaml")


def test_a_table_of_a_paper_stands_beside_one_split_alone():
    """Would catch a row of SapBERT's tables beside both splits of COMETA."""
    tables: dict[tuple[str, str], set[str]] = {}
    for benchmark in WITH_FIGURES:
        if benchmark.settings.get("format") == "cometa":
            for figure in benchmark.published:
                tables.setdefault((figure.source, figure.system), set()).add(benchmark.name)
    assert len(tables) == 8 and all(len(names) == 1 for names in tables.values())


# ---------------------------------------------------------------------- metrics


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.array([[len(text), text.count("a"), text.count("e") - 2.5] for text in texts])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of data in which every benchmark of linking or of pairs of a hierarchy or of relations with figures, and
    its siblings, finds invented files of its form."""
    root = tmp_path_factory.mktemp("data")
    linking = root / "linking"
    for form, places in {
        "bc5cdr": ["bc5cdr"],
        "medmentions": ["medmentions/full", "medmentions/st21pv"],
        "cometa": ["cometa/splits/stratified_general", "cometa/splits/zeroshot_general"],
        "biosyn": [f"biosyn/{corpus}" for corpus in ("ncbi-disease", "bc5cdr-disease", "bc5cdr-chemical")],
    }.items():
        for place in places:
            shutil.copytree(FIXTURES / form, linking / place)
    cdr = linking / "bc5cdr" / "CDR_TestSet.PubTator.txt"
    cdr.write_text(cdr.read_text().rstrip("\n") + "\n9100003\t0\t6\tMimpic\tChemical\tX1001\n")
    for place in (linking / "biosyn").iterdir():
        (place / "dictionary.txt").rename(place / "test_dictionary.txt")
    (linking / "askapatient").mkdir()
    for fold in DRAWN_TEN_TIMES:
        for file in (FIXTURES / "askapatient").glob(f"*fold-{fold % 2}*"):
            (linking / "askapatient" / file.name.replace(f"fold-{fold % 2}", f"fold-{fold}")).write_bytes(
                file.read_bytes()
            )
    shutil.copy(FIXTURES / "medmentions" / "names.txt", linking / "umls_en.txt")
    (linking / "snomed_ct.txt").write_text("90001||Flumpa\n90002||Skark\n90004||Terkin\n")
    ncbi = root / "benchmarks_dev" / "ncbi_disease"
    shutil.copytree(FIXTURES / "ncbi_disease", ncbi)
    (ncbi / "spelling.txt").rename(ncbi / "ncbi-spell-check.txt")
    packed(ncbi / "medic_06Jul2012.txt.gz", (ncbi / "medic.txt").read_text())
    packed(linking / "CTD_diseases.tsv.gz", (FIXTURES / "bc5cdr" / "CTD_diseases.tsv").read_text())
    with (FIXTURES / "bc5cdr" / "CTD_chemicals.csv").open(newline="") as file:
        chemicals = "\n".join("\t".join(row) for row in csv.reader(file)) + "\n"
    for name in ("CTD_chemicals", "CTD_chemicals_2019-11-04"):
        packed(linking / f"{name}.tsv.gz", chemicals)
    for name, lines in {
        "hierarchies/phecode_eval": ["0||ea||bb", "1||c||eee", "2||ab||f", "3||a||be"],
        "relations/cui_cui_eval": ["a||bb||isa", "c||eee||class_of", "f||ea||", "ab||be||random"],
    }.items():
        (root / name).parent.mkdir()
        (root / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return root


def packed(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()))


@cache
def metrics_of(name: str, folder: Path) -> frozenset[str]:
    """The metrics of a benchmark, measured as its file says on invented data."""
    benchmark = next(benchmark for benchmark in EVERY if benchmark.name == name)
    settings = benchmark.settings
    if benchmark.evaluator == "relatedness":
        (folder / "pairs.csv").write_text("term1,term2,score\na,bb,1\nc,eee,3\nea,f,2\n")
        settings = {"path": str(folder / "pairs.csv")}
    evaluators = (
        Benchmark(benchmark.name, benchmark.evaluator, settings).evaluator_settings().evaluators(n_bootstrap=0)
    )
    return frozenset(metric for evaluator in evaluators for metric in evaluator.measure(embed))


def unknown(benchmark: Benchmark, folder: Path) -> list[str]:
    """Metrics of published figures that the benchmark does not have."""
    return [figure.metric for figure in benchmark.published if figure.metric not in metrics_of(benchmark.name, folder)]


PRIMARY = {"relatedness": "spearman", "entity_linking": "acc@1", "tree": "mean_auc", "relation": "macro_auc"}
PREPARED = {*OF_FORMAT, "bc5cdr", "ncbi_disease"}
MEASURED = [benchmark for benchmark in EVERY if benchmark.published or benchmark.settings.get("format") in PREPARED]


@pytest.mark.parametrize("benchmark", MEASURED, ids=lambda benchmark: benchmark.name)
def test_a_published_figure_is_of_a_metric_that_is_measured(
    benchmark: Benchmark, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """By the benchmark's own settings: would catch folds, steps and dictionaries that do not fit together."""
    monkeypatch.setenv("ST_BIOMED_DATA", str(folder))
    assert benchmark.evaluator in PRIMARY, "a stand-in with invented data is needed above"
    assert f"{benchmark.name}_{PRIMARY[benchmark.evaluator]}" in metrics_of(benchmark.name, folder)
    assert unknown(benchmark, folder) == []


def test_a_misspelt_metric_is_seen(folder: Path):
    """Guards the guard."""
    benchmark = next(benchmark for benchmark in WITH_FIGURES if benchmark.evaluator == "relatedness")
    figures = [
        replace(benchmark.published[0], metric=metric) for metric in (f"{benchmark.name}_spaerman", "zorb_acc@1")
    ]
    assert unknown(replace(benchmark, published=figures), folder) == [figure.metric for figure in figures]
    assert len(WITH_FIGURES) > 10
