"""Benchmarks of names over the vectors of concepts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import MCSMEvaluator, RelatednessEvaluator
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.concept_vectors import by_code, graph_evaluator, measure_table, with_vectors
from st_biomed.kge import KGETable
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology

ANGLES = {"Z:1": 0.0, "Z:2": 0.1, "Z:3": 1.2, "Z:4": 1.4, "Z:6": 2.5}
TABLE = KGETable(list(ANGLES), np.array([[np.cos(a), np.sin(a)] for a in ANGLES.values()]), model="transe")
NAMES = [("Z:1", "flumpa"), ("Z:2", "Terkia"), ("Z:3", "gland"), ("Z:4", "gland"), ("Z:5", "flumpa"), ("Z:5", "nub")]
TERMS = Terminology.from_records([Term(code, name) for code, name in NAMES], SourceInfo("Z", "Zorbs"))


def test_mcsm_is_measured_among_the_concepts_with_a_vector() -> None:
    """Types that are shifted by a concept without a vector would be caught here."""
    types = {"Z:1": ["a"], "Z:5": ["b"], "Z:2": ["a"], "Z:3": ["b"], "Z:4": ["b"]}
    whole = MCSMEvaluator(list(types), list(types.values()), k=1, name="mine", n_bootstrap=0)
    found = measure_table(with_vectors(whole, TABLE, n_bootstrap=0), TABLE)
    assert (found["mine_n"], found["mine_mcsm"], found["mine_a/n"], found["mine_b/n"]) == (4, 1.0, 2, 2)
    whole = MCSMEvaluator(list(types), list(types.values()), last_type_only=True, labels={"a": "gland"}, k=7)
    kept = with_vectors(whole, TABLE)
    assert (kept.last_type_only, kept.labels, kept.k) == (True, {"a": "gland"}, 7)
    kept = with_vectors(MCSMEvaluator(list(types), list(types.values()), k=1), TABLE, least_concepts=2)
    assert kept.types.names == ("a", "b")
    kept = with_vectors(MCSMEvaluator(list(types), [["a"], ["b"], ["a"], ["b"], ["c"]], k=1), TABLE, least_concepts=2)
    assert kept.types.names == ("a",), "b has two concepts, one of them with a vector"
    with pytest.raises(InputError, match="mine: 1 of 2 concepts have a vector; at least two are needed"):
        with_vectors(MCSMEvaluator(["Z:1", "Z:5"], [["a"], ["a"]], name="mine"), TABLE)


def test_terms_stand_for_the_first_concept_with_a_vector_that_has_the_name() -> None:
    """Z:5 has no vector, Z:3 and Z:4 share a name; would catch a case that matters, and pairs that vanish."""
    first, second = ["FLUMPA", "flumpa", "terkia ", "nub", "flumpa"], ["Terkia", "gland", "gland", "gland", ""]
    pairs = RelatednessEvaluator(first, second, [5.0, 1.0, 2.0, 3.0, 4.0], name="mine", n_bootstrap=0)
    linked = by_code(pairs, TABLE, TERMS, n_bootstrap=0)
    assert [(linked.texts[a], linked.texts[b]) for a, b in zip(linked.left, linked.right)] == [
        ("Z:1", "Z:2"),
        ("Z:1", "Z:3"),
        ("Z:2", "Z:3"),
    ]
    found = measure_table(linked, TABLE)
    assert (found["mine_n"], found["mine_n_missing"], found["mine_spearman"]) == (3, 2, 1.0)


def test_a_benchmark_of_names_is_measured_by_codes() -> None:
    """Catches names that are looked up among the codes of a table, in which no concept would have a vector."""
    toy = Terminology.read("toy")
    table = KGETable(toy.codes[3:9], np.eye(6), model="transe")
    evaluator = graph_evaluator(Benchmark("mine", "mcsm", {"sources": ["toy"], "k": 2}), table, toy)
    assert isinstance(evaluator, MCSMEvaluator) and evaluator.texts == toy.codes[3:9] and evaluator.k == 2


def test_other_benchmarks_are_refused(tmp_path: Path) -> None:
    tree = Benchmark("mine", "tree", {"sources": ["toy"]})
    with pytest.raises(InputError, match="mine: has evaluator 'tree'; vectors of concepts need 'mcsm' or"):
        graph_evaluator(tree, TABLE, TERMS)
    (tmp_path / "pairs.csv").write_text("term1,term2,mean\nnub,nub,1\nnub,flumpa,2\nflumpa,nub,1\n")
    few = Benchmark("mine", "relatedness", {"path": str(tmp_path / "pairs.csv")})
    with pytest.raises(InputError, match="at least three with both terms are needed, found 0"):
        graph_evaluator(few, TABLE, TERMS)
