"""The split of the Italian experiment: nothing that is measured is in what is trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluation.italian_split import HeldOut, hold_out, write
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark, read_benchmark_settings
from st_biomed.evaluators.data_folder import DATA_VARIABLE, open_terminology
from st_biomed.evaluators.mcsm.settings import MCSMSettings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.kge import KnowledgeGraph
from st_biomed.kge.triples import ISA, TripleOptions
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.evaluation.italian_sources import merged

INVENTED = SourceInfo(name="INV", title="Invented", license="none", url="none")
CHAPTERS = ["Q:1-9", "Q:10-19"]


def italian(code: str, text: str) -> Term:
    return Term(code, text, language="it")


def invented(*extra: Term | Parent) -> Terminology:
    """Two chapters with six categories each, and two codes in each category."""
    records: list[Term | Parent] = []
    for chapter, first in zip(CHAPTERS, (1, 10)):
        records.append(italian(chapter, f"capitolo {first}"))
        for category in range(first, first + 6):
            records += [italian(f"Q:{category}", f"categoria {category}"), Parent(f"Q:{category}", chapter)]
            for digit in (0, 1):
                code = f"Q:{category}.{digit}"
                records += [italian(code, f"malattia {category} {digit}"), Term(code, f"disease {code}")]
                records += [italian(code, f"morbo {category} {digit}"), Parent(code, f"Q:{category}")]
    return Terminology.from_records([*records, *extra], INVENTED)


def split(terminology: Terminology) -> HeldOut:
    return hold_out(terminology, Hierarchy(invented()), CHAPTERS, depth=1, share=0.17)


def test_no_held_out_concept_name_edge_or_type_is_trained_on():
    """Catches the graph of the committed runs, which had the 18 chapters and the edges of all measured concepts."""
    held = split(invented())
    kept, measured = {*held.train.codes}, {*held.names.codes}
    categories = {code.partition(".")[0] for code in measured}
    assert (len(categories), len(measured), len(kept)) == (4, 12, 24)
    assert measured == {code for code in invented().codes if code.partition(".")[0] in categories}
    assert not kept & (measured | {*CHAPTERS}) and kept | measured | {*CHAPTERS} == {*invented().codes}
    assert not {name.lower() for name in held.train.strings} & {name.lower() for name in held.names.strings}
    assert not {*KnowledgeGraph.from_terminology(held.train, TripleOptions(least_triples=1)).entities} & (
        measured | {*CHAPTERS}
    )
    assert held.names.languages == ["it"]
    assert {code for code, _ in held.types} == measured and {kind for _, kind in held.types} == {*CHAPTERS}
    assert held.counts["parents with a held-out concept"] == 12
    assert held.counts["parents that are types, of other concepts"] == 8


def test_what_has_the_code_or_the_name_of_a_held_out_concept_goes_too():
    """Catches a second source whose codes the tree lacks, and a held-out name in capitals elsewhere."""
    code = next(code for code in split(invented()).names.codes if "." in code)
    category, digit = code.partition(".")[0], code[-1]
    more = [italian(f"{category}.77", "altra"), italian("Z:1", f"MALATTIA {category[2:]} {digit}")]
    held = split(invented(*more, italian("Z:1", "zeta")))
    assert f"{category}.77" not in held.train.codes and f"{category}.77" not in held.names.codes
    assert "Z:1" in held.train.codes and f"MALATTIA {category[2:]} {digit}" not in held.train.strings
    assert held.counts["held-out concepts that are not in the hierarchy"] == 1
    assert held.counts["terms of other concepts with a held-out name"] == 1


def test_a_terminology_of_other_codes_is_refused():
    with pytest.raises(InputError, match=r"has none of 12 held-out concepts; .* like 'Q:\S+', its codes like 'W:1'"):
        split(Terminology.from_records([italian("W:1", "uno"), italian("W:2", "due")], INVENTED))


def test_the_benchmarks_it_writes_measure_the_held_out_names(tmp_path: Path):
    held = split(invented())
    invented().save(tmp_path / "tree")
    write(held, tmp_path, TreeSettings(sources=[str(tmp_path / "tree")], depth=1, pairs_per_class=3))
    names = set(held.names.strings)
    for kind, wanted in (("clustering", 16), ("tree", 12)):
        evaluator = Benchmark.read(tmp_path / f"{kind}_held.yaml").evaluator_settings().evaluators()[0]
        assert 0 < len(evaluator.texts) <= wanted
        assert {*evaluator.texts} <= names | {name for name in invented().strings if name.startswith("disease")}
    of_types = Benchmark.read(tmp_path / "mcsm_held.yaml").evaluator_settings()
    assert isinstance(of_types, MCSMSettings) and of_types.types == str(tmp_path / "types.tsv")


@pytest.mark.realdata
def test_the_graph_of_the_experiment_and_that_of_the_older_runs(realdata: Path, monkeypatch: pytest.MonkeyPatch):
    """The older runs had 15,448 triples of ICD-9-CM's tree in training, its chapters, and 24,218 test triples."""
    monkeypatch.setenv(DATA_VARIABLE, str(realdata))
    older, known = (merged(realdata, hpo=hpo) for hpo in (True, False))
    assert older.n_concepts == 77_789
    chapters = read_benchmark_settings("mcsm_icd9_it", MCSMSettings).branches
    graph = KnowledgeGraph.from_terminology(older, seed=42)
    assert [len(part) for part in graph.parts.values()] == [363_266, 16_145, 24_218]
    assert (of_tree(graph, graph.train), len({*graph.entities} & {*chapters})) == (15_448, 18)
    tree = Hierarchy(open_terminology(read_benchmark_settings("icd9cm_it_tree", TreeSettings).sources))
    held = hold_out(known, tree, chapters, depth=2)
    assert held.counts == {
        "concepts of the terminology": 57_604,
        "held-out concepts": 5_948,
        "held-out concepts that are not in the hierarchy": 7,
        "types": 18,
        "parents with a held-out concept": 8_286,
        "parents that are types, of other concepts": 142,
        "terms of other concepts with a held-out name": 455,
        "concepts to train on": 51_505,
    }
    graph = KnowledgeGraph.from_terminology(held.train, seed=42)
    assert [len(part) for part in graph.parts.values()] == [123_630, 5_495, 8_242]
    assert of_tree(graph, graph.triples) == 10_774
    assert not {*graph.entities} & {*chapters, *held.names.codes}
    assert not [code for code in graph.entities if code.startswith("HP:")]


def of_tree(graph: KnowledgeGraph, triples: np.ndarray) -> int:
    """Triples of parents within ICD-9-CM."""
    inside = np.array([code.startswith("ICD9CM:") for code in graph.entities])
    isa = triples[:, 1] == graph.relations.index(ISA)
    return int((isa & inside[triples[:, 0]] & inside[triples[:, 2]]).sum())
