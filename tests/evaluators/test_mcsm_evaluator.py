"""The MCSM evaluator: which concepts, which neighbors, which figures."""

from __future__ import annotations

from math import log2
from pathlib import Path

import numpy as np
import pytest

from st_biomed import Hierarchy, Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import MCSMEvaluator, table_embedder
from st_biomed.hierarchy.concept_types import ConceptTypes
from st_biomed.metrics import largest_mcsm
from st_biomed.records import SourceInfo, Term, Type
from tests.contracts.evaluator_contract import EvaluatorContract

META = Path(__file__).parents[1] / "fixtures" / "readers" / "umls"
NAMES = [f"flumpa {i}" for i in range(40)]
TYPES = [["gland"] if i % 2 else ["grudth"] for i in range(40)]
MAXIMUM = largest_mcsm(10, 40)


class TestMCSMContract(EvaluatorContract):
    """Two types of twenty concepts and ten neighbors.

    Best: ten of the nineteen others of its type stand first, the whole sum. Chance: each neighbor has the type with
    probability 19 / 39, so that share of the sum. Worst: the twenty of the other type stand first, nothing.
    """

    evaluator_class = MCSMEvaluator
    best, chance, worst, tolerance = MAXIMUM, MAXIMUM * 19 / 39, 0.0, 0.4

    def make(self, **options) -> MCSMEvaluator:
        return MCSMEvaluator(NAMES, TYPES, k=10, **options)

    def perfect(self, texts: list[str]) -> np.ndarray:
        return np.eye(2)[[int(text.split()[1]) % 2 for text in texts]]

    def opposite(self, texts: list[str]) -> np.ndarray:
        """Vectors whose cosine is 0.04 between the types and 0 within them."""
        kind = np.arange(40) % 2
        cosines = np.where(kind[:, None] != kind, 0.04, np.eye(40))
        return np.linalg.cholesky(cosines)[[int(text.split()[1]) for text in texts]]


def naive(vectors: np.ndarray, types: list[list[str]], k: int) -> dict[str, float]:
    """The equation by loops over concepts and their others, ties in the order of the concepts."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (unit @ unit.T).astype(np.float32)
    sums: dict[str, list[float]] = {}
    for v, of_v in enumerate(types):
        order = sorted((w for w in range(len(types)) if w != v), key=lambda w: (-cosines[v, w], w))[:k]
        for kind in of_v:
            sums.setdefault(kind, []).append(sum(1 / log2(i + 2) for i, w in enumerate(order) if kind in types[w]))
    metrics = {"mcsm": float(np.mean([np.mean(of_type) for of_type in sums.values()]))}
    metrics["mcsm_micro"] = float(np.concatenate(list(sums.values())).mean())
    for kind, of_type in sums.items():
        metrics |= {f"{kind}/mcsm": float(np.mean(of_type)), f"{kind}/n": len(of_type)}
    return metrics


def drawn(n: int, dimensions: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimensions))


def test_the_figures_are_those_of_loops_over_concepts_with_several_types():
    """Catches rows of concepts mixed up, untyped concepts left out of the neighbors, and the two means confused."""
    rng = np.random.default_rng(7)
    types = [[kind for kind in "abc" if rng.random() < 0.4] for _ in range(60)]
    assert [] in types and ["a", "b", "c"] in types
    vectors = drawn(60, 5, 8)
    evaluator = MCSMEvaluator([f"term {i}" for i in range(60)], types, k=9, n_bootstrap=0)
    metrics = evaluator.measure(lambda texts: vectors[[int(text.split()[1]) for text in texts]])
    expected = naive(vectors, types, 9)
    assert {key: metrics[key] for key in expected} == pytest.approx(expected)
    n_typed = sum(map(bool, types))
    assert (metrics["n"], metrics["n_untyped"]) == (n_typed, 60 - n_typed)
    assert metrics["maximum"] == pytest.approx(largest_mcsm(9, 60))
    assert metrics["share_of_maximum"] == pytest.approx(expected["mcsm"] / metrics["maximum"])
    assert evaluator.units["mcsm"].value == pytest.approx(expected["mcsm"])
    assert len(evaluator.units["mcsm"]) == n_typed


def test_concepts_of_equal_names_stay_apart_and_are_each_others_neighbors():
    """Catches the concept dropped for self where another one ties with it, and equal names merged into one concept."""
    names = ["zorb", "zorb", "zorb", "flumpa", "flumpa", "terkia"]
    types = [["a"], ["b"], ["a"], ["b"], ["b"], ["a"]]
    table = {"zorb": [1.0, 0.0], "flumpa": [0.6, 0.8], "terkia": [0.0, 1.0]}
    evaluator = MCSMEvaluator(names, types, k=2, n_bootstrap=0)
    assert evaluator.texts == ["zorb", "flumpa", "terkia"]
    metrics = evaluator.measure(lambda texts: np.array([table[text] for text in texts]))
    expected = naive(np.array([table[name] for name in names]), types, 2)
    assert {key: metrics[key] for key in expected} == pytest.approx(expected)
    second = 1 / log2(3)
    # a: 0 has 1, 2 -> second; 2 has 0, 1 -> 1; 5 has 3, 4 -> 0. b: 1 has 0, 2 -> 0; 3 has 4, 5 and 4 has 3, 5 -> 1.
    assert metrics["a/mcsm"] == pytest.approx((second + 1) / 3) and metrics["b/mcsm"] == pytest.approx(2 / 3)


def test_a_collapsed_model_takes_the_first_others_in_their_order():
    """Catches an order of ties that is not that of the concepts, and self found among its many duplicates."""
    types = [["a"]] * 4 + [["b"]] * 4
    evaluator = MCSMEvaluator([f"term {i}" for i in range(8)], types, k=3, n_bootstrap=0)
    metrics = evaluator.measure(lambda texts: np.ones((len(texts), 5)))
    assert (metrics["a/mcsm"], metrics["b/mcsm"]) == (pytest.approx(largest_mcsm(3, 8)), 0.0)


def test_with_one_type_a_concept_it_is_coder_s_figure():
    """Catches the first type for the last, or other concepts among the neighbors than those of the six types."""
    given = {
        "Z:0": ["T033", "T047"],
        "Z:1": ["T047", "T048"],
        "Z:2": ["T037"],
        "Z:3": ["T033"],
        "Z:4": ["T033", "T037"],
        "Z:5": ["T047"],
        "Z:6": ["T071"],
    }
    records = [Term(code, f"zorb {code}") for code in given]
    records += [Type(code, tui) for code, tuis in given.items() for tui in tuis]
    source = SourceInfo("Z", "Zorb", redistributable=True)
    evaluator = MCSMEvaluator.from_terminology(
        Terminology.from_records(records, source), groups="coder", last_type_only=True, k=2, n_bootstrap=0
    )
    table = dict(zip((f"zorb Z:{i}" for i in range(7)), drawn(7, 3, 1)))
    metrics = evaluator.measure(lambda texts: np.stack([table[text] for text in texts]))
    # As the script has it: the last type of each concept, concepts of the six types alone, the nearest one skipped.
    last = {"Z:0": "T047", "Z:2": "T037", "Z:3": "T033", "Z:4": "T037", "Z:5": "T047"}
    vectors = np.stack([table[f"zorb {code}"] for code in last])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    of_type: dict[str, list[float]] = {}
    for i, tui in enumerate(last.values()):
        found = np.argsort(-(unit @ unit[i]))[1:3]
        hits = [1 / log2(rank + 2) for rank, j in enumerate(found) if list(last.values())[j] == tui]
        of_type.setdefault(tui, []).append(sum(hits))
    assert metrics["n"] == 5
    assert metrics["Disease or Syndrome/mcsm"] == pytest.approx(np.mean(of_type["T047"]))
    assert metrics["Injury or Poisoning/mcsm"] == pytest.approx(np.mean(of_type["T037"]))
    assert metrics["Finding/mcsm"] == pytest.approx(np.mean(of_type["T033"])) == 0
    assert evaluator.get_config_dict()["last_type_only"] is True


# ---------------------------------------------------------------------- from a terminology


def test_concepts_of_a_terminology_come_under_their_preferred_terms():
    """Catches a synonym, an order other than that of the codes, and types of a neighboring row."""
    umls = Terminology.read("umls", META)
    evaluator = MCSMEvaluator.from_terminology(umls, groups="italian", k=3)
    typed = ConceptTypes.from_terminology(umls).select(groups="italian")
    names = [umls.strings[umls.preferred_texts[concept]] for concept in typed.typed]
    assert [evaluator.texts[row] for row in evaluator.rows] == names
    codes = [umls.codes[concept] for concept in typed.typed]
    by_code = MCSMEvaluator.from_terminology(umls, groups="italian", k=3, keys="codes", n_bootstrap=0)
    assert by_code.texts == codes == list(by_code.types.codes)
    vectors = dict(zip(names, drawn(len(names), 4, 2)))
    of_graph = np.stack([vectors[name] for name in names])
    assert by_code.measure(table_embedder(codes, of_graph)) == pytest.approx(
        MCSMEvaluator.from_terminology(umls, groups="italian", k=3, n_bootstrap=0).measure(
            lambda texts: np.stack([vectors[text] for text in texts])
        )
    )
    kept = MCSMEvaluator.from_terminology(umls, groups="italian", keep_untyped=True, only_types=["PF", "C"])
    assert len(kept.rows) == umls.n_concepts and kept.types.names == ("PF", "C")
    with pytest.raises(InputError, match="unknown keys 'cuis': allowed are 'codes', 'names'"):
        MCSMEvaluator.from_terminology(umls, keys="cuis")


def test_branches_of_a_hierarchy_are_types():
    """Catches roots and glands among the neighbors, and types that are those of another code."""
    toy = Terminology.read("toy", trees=3, branching=2)
    types = ConceptTypes.from_branches(Hierarchy(toy), ["TOY:D0", "TOY:D1", "TOY:D2", "TOY:D0.1"])
    evaluator = MCSMEvaluator.from_terminology(toy, types, least_concepts=3, k=4, keys="codes", n_bootstrap=0)
    assert evaluator.types.names == ("TOY:D0", "TOY:D1", "TOY:D2")
    below = [code for code in toy.codes if code[:5] in ("TOY:D", "TOY:S") and code not in types.names[:3]]
    assert evaluator.texts == below
    of_codes = [["TOY:D0", "TOY:D1"] if code == "TOY:S0" else [code[:6]] for code in below]
    vectors = drawn(len(below), 3, 4)
    expected = naive(vectors, of_codes, 4)
    metrics = evaluator.measure(table_embedder(below, vectors))
    assert {key: metrics[key] for key in expected} == pytest.approx(expected)


# ---------------------------------------------------------------------- edges and errors


def test_fewer_others_than_k_have_the_maximum_that_they_can_have():
    """Catches a share of 11.09 where only two neighbors exist."""
    metrics = MCSMEvaluator(["a", "b", "c"], [["t"]] * 3).measure(lambda texts: np.eye(3))
    assert metrics["mcsm"] == metrics["maximum"] == pytest.approx(1 + 1 / log2(3))
    assert metrics["share_of_maximum"] == 1.0
    two = MCSMEvaluator(["a", "b"], [["t"], ["u"]]).measure(lambda texts: np.eye(2))
    assert (two["mcsm"], two["maximum"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("names", "types", "options", "message"),
    [
        (["a", "b"], [["t"], ["t"]], {"k": 0}, "k must be at least 1, found 0"),
        (["a", "b"], [["t"]], {}, "names and types must be equally many, found 2 and 1"),
        (["a"], [["t"]], {}, "at least two concepts are needed, found 1"),
        (["a", " "], [["t"], ["t"]], {}, r"names\[1\]: is empty"),
        (["a", None], [["t"], ["t"]], {}, r"names\[1\]: expected a string, found None"),
        (["a", "b"], [[], []], {}, "types: none is left with 1 concepts or more, of none"),
        (["a", "b"], [["t"], "t"], {}, r"types\[1\]: expected a list of names, found 't'"),
    ],
)
def test_bad_concepts_are_refused(names: list[str], types: list, options: dict, message: str):
    """Catches a mistake that is noticed only after the texts were embedded."""
    with pytest.raises(InputError, match=message):
        MCSMEvaluator(names, types, **options)


def test_nan_and_missing_vectors_are_refused():
    """Catches NaN that sorts somewhere, and concepts of a graph that are lost in silence."""
    evaluator = MCSMEvaluator(["a", "b", "c"], [["t"]] * 3)
    with pytest.raises(InputError, match="1 of 3 vectors hold NaN or infinity, e.g. that of 'b'"):
        evaluator.measure(lambda texts: np.array([[1.0, 0], [np.nan, 1], [0, 1]]))
    with pytest.raises(InputError, match="1 of 3 texts have no row: 'c'"):
        evaluator.measure(table_embedder(["a", "b"], np.eye(2)))


def test_the_digest_names_the_concepts_and_their_types():
    """Catches two benchmarks that cannot be told apart on a card."""
    digest, other, again = (
        MCSMEvaluator(["a", "b", "c"], types, k=2).get_config_dict()["concepts_sha256"]
        for types in ([["t"], ["u"], ["u"]], [["t"], ["t"], ["u"]], [["t"], ["u"], ["u"]])
    )
    assert digest == again != other


def test_the_digest_tells_orders_of_the_types_apart(tmp_path: Path):
    """Catches a paired test of the column of one type against the column of another, from a table in another order."""
    digests = []
    for i, order in enumerate((["a,t", "b,u", "c,u"], ["c,u", "b,u", "a,t"])):
        table = tmp_path / f"{i}.csv"
        table.write_text("\n".join(["code,type", *order]) + "\n")
        digests.append(
            MCSMEvaluator(["a", "b", "c"], ConceptTypes.from_file(table).for_codes(["a", "b", "c"])).concepts_digest
        )
    assert len(set(digests)) == 2


def test_the_table_of_the_terminal_shows_the_means_and_every_type():
    """Catches keys without the evaluator's name."""
    evaluator = MCSMEvaluator(["a", "b", "c"], [["t"], ["t"], ["u"]], name="dev", k=1)
    metrics = evaluator.measure(lambda texts: np.array([[1.0, 0], [1, 0], [0, 1]]))
    lines = [line.split() for line in evaluator.table(model=metrics).splitlines()]
    assert [line[-1] for line in lines] == ["model", "0.500", "0.667", "1.000", "0.000"]
    assert list(evaluator.headline) == ["mean of types", "all concepts", "t", "u"]


def test_the_search_runs_where_it_is_told_to():
    evaluator = MCSMEvaluator(NAMES, TYPES, k=10, device="cuda:99")
    with pytest.raises((RuntimeError, AssertionError)):
        evaluator.measure(table_embedder(NAMES, np.random.default_rng(0).normal(size=(40, 4))))
