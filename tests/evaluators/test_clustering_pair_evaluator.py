"""The clustering pair evaluator: what it measures, as published and exactly; the figures themselves are in tests/metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed import Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import ClusteringPairEvaluator
from st_biomed.evaluators.clustering_pair import evaluator as clustering_pair
from tests.contracts.evaluator_contract import EvaluatorContract

TERMS = [f"flumpa {i} {side}" for i in range(20) for side in "ab"]
CONCEPTS = [f"GLAND:{i // 2}" for i in range(40)]


def at(degrees: list[float]) -> np.ndarray:
    return np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1)


class TestClusteringPairContract(EvaluatorContract):
    evaluator_class = ClusteringPairEvaluator
    chance, tolerance = 0.1, 0.07
    worst = 2 * 20 / (40 * 39 / 2 + 20)  # all gold pairs opposite: best is then to predict all pairs

    def make(self, **options) -> ClusteringPairEvaluator:
        return ClusteringPairEvaluator(TERMS, CONCEPTS, **options)

    def perfect(self, texts: list[str]) -> np.ndarray:
        return at([3.0 * int(text.split()[1]) for text in texts])

    def opposite(self, texts: list[str]) -> np.ndarray:
        return at([3.0 * int(text.split()[1]) + 180 * text.endswith("b") for text in texts])


def random_vectors(
    evaluator: ClusteringPairEvaluator, noise: float = 1.0, dimensions: int = 6
) -> dict[str, np.ndarray]:
    """A vector for every text: that of its first concept, moved."""
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(len(evaluator.texts), dimensions))
    vectors = [
        centers[evaluator.concepts.row(i)[0]] + noise * rng.normal(size=dimensions) for i in range(len(centers))
    ]
    return dict(zip(evaluator.texts, vectors)) | {text: rng.normal(size=dimensions) for text in evaluator.short}


def measured(evaluator: ClusteringPairEvaluator, vectors: dict[str, np.ndarray]) -> dict[str, float]:
    return evaluator.measure(lambda texts: np.stack([vectors[text] for text in texts]))


def as_the_script_does(vectors: dict[str, np.ndarray], concepts: dict[str, set[str]]) -> dict[str, float]:
    """The published way, in loops: 30 nearest of all terms, the first of them the term itself; long terms are measured."""
    texts = list(vectors)
    unit = np.stack([vectors[text] / np.linalg.norm(vectors[text]) for text in texts])
    cosines = unit @ unit.T
    nearest = [set(np.argsort(-row)[:30].tolist()) for row in cosines]
    long = [i for i, text in enumerate(texts) if len(text) > 3]
    best: dict[str, float] = {"f1": -1.0}
    for hundredths in range(98, 58, -2):
        counts = {"right": 0, "gold": 0, "predicted": 0, "listed": 0}
        for i in long:
            for j in long:
                if i < j:
                    is_listed = j in nearest[i] or i in nearest[j]
                    is_predicted = is_listed and cosines[i, j] > hundredths / 100
                    is_gold = bool(concepts[texts[i]] & concepts[texts[j]])
                    counts["listed"] += is_listed and is_gold
                    counts["predicted"] += is_predicted
                    counts["gold"] += is_gold
                    counts["right"] += is_predicted and is_gold
        f1 = 2 * counts["right"] / (counts["predicted"] + counts["gold"])
        if f1 > best["f1"]:
            best = {"f1": f1, "theta": hundredths / 100, "n_predicted": counts["predicted"]}
            best |= {"recall": counts["right"] / counts["gold"], "n_gold_pairs": counts["gold"]}
            best |= {"recall_ceiling": counts["listed"] / counts["gold"]}
    return best


def test_as_published_is_what_the_published_loops_find():
    """Would catch 30 neighbors beside the term itself, one-sided lists, short terms out of the lists or among the pairs,
    and the grid left at a step that is not the best."""
    rng = np.random.default_rng(0)
    terms = [f"{'terkia' if i % 6 else 't'}{i}" for i in range(99)]
    rows = [(term, f"C:{c}") for term in terms for c in rng.choice(8, size=1 + (rng.random() < 0.2), replace=False)]
    evaluator = ClusteringPairEvaluator(*zip(*rows), as_published=True)
    assert evaluator.short == terms[::6]
    concepts = {term: {c for t, c in rows if t == term} for term in terms}
    for noise in (0.5, 1.0):
        vectors = random_vectors(evaluator, noise, dimensions=9)
        metrics = measured(evaluator, vectors)
        wanted = as_the_script_does(vectors, concepts)
        assert {key: metrics[key] for key in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize("k", [1, 4, 100])
def test_top_k_has_k_other_terms_in_each_list_even_among_equal_vectors(k: int):
    """Twelve terms of one vector: would catch a list in which the term itself takes a place, or one more where it is not."""
    evaluator = ClusteringPairEvaluator([f"flumpa {i}" for i in range(12)], ["C:0"] * 12, mode="top_k", k=k, theta=0.5)
    pairs = {(min(i, j), max(i, j)) for i in range(12) for j in [j for j in range(12) if j != i][:k]}
    metrics = evaluator.measure(lambda texts: np.ones((len(texts), 3)))
    assert metrics["n_predicted"] == len(pairs)
    assert metrics["recall_ceiling"] == metrics["recall"] == len(pairs) / 66


def test_short_terms_take_no_place_in_a_list_unless_as_published():
    """Catches a short term that stands between two terms and leaves both without the other in their lists of one."""
    evaluator = ClusteringPairEvaluator(["flumpa", "terkia", "zo"], ["A", "A", "B"], mode="top_k", k=1)
    vectors = dict(zip(["flumpa", "terkia", "zo"], at([0, 10, 5])))
    assert measured(evaluator, vectors)["recall_ceiling"] == 1


def test_with_all_neighbors_listed_top_k_is_exact():
    """Would catch one of the two ways to look at pairs scoring or counting them in another way."""
    evaluators = [ClusteringPairEvaluator(TERMS, CONCEPTS, mode=mode, k=39) for mode in ("exact", "top_k")]
    vectors = random_vectors(evaluators[0])
    exact, top_k = (measured(evaluator, vectors) for evaluator in evaluators)
    assert exact == top_k and 0.2 < exact["f1"] < 0.9
    np.testing.assert_array_equal(*(evaluator.units["f1"].rows for evaluator in evaluators))


def test_the_threshold_of_one_measurement_is_fixed_in_another():
    """Would catch a threshold of validation that is searched anew on the test set."""
    dev = ClusteringPairEvaluator(TERMS[:20], CONCEPTS[:20])
    theta = measured(dev, random_vectors(dev))["theta"]
    test = ClusteringPairEvaluator(TERMS[20:], CONCEPTS[20:], theta=theta)
    vectors = random_vectors(test, noise=2.0)
    metrics = measured(test, vectors)
    assert metrics["theta"] == theta
    assert metrics["f1"] < measured(ClusteringPairEvaluator(TERMS[20:], CONCEPTS[20:]), vectors)["f1"]
    assert test.get_config_dict()["theta"] == theta and "theta_search" not in test.get_config_dict()


def test_units_are_concepts_and_their_f1_is_the_metric():
    """Would catch units at another threshold than the one that is reported."""
    for options in ({}, {"theta_search": "grid"}, {"theta": 0.1}, {"mode": "top_k", "k": 3}):
        evaluator = ClusteringPairEvaluator(TERMS, CONCEPTS, **options)
        metrics = measured(evaluator, random_vectors(evaluator))
        units = evaluator.units["f1"]
        assert (units.unit, len(units)) == ("concept", 20)
        assert units.value == pytest.approx(metrics["f1"])
        right, predicted, gold = units.rows.sum(axis=0)
        assert (predicted, gold) == pytest.approx((metrics["n_predicted"], metrics["n_gold_pairs"]))
        assert right == pytest.approx(metrics["precision"] * metrics["n_predicted"])


# ---------------------------------------------------------------------- making one


def test_a_term_of_several_concepts_is_one_term_and_short_ones_are_counted():
    evaluator = ClusteringPairEvaluator(
        ["flumpa", "flp", "terkia", "flumpa", "flp", "nebza", "vog1"], ["A", "A", "A", "B", "B", "B", "C"]
    )
    assert (evaluator.texts, evaluator.short) == (["flumpa", "terkia", "nebza", "vog1"], ["flp"])
    assert list(zip(evaluator.gold.left, evaluator.gold.right)) == [(0, 1), (0, 2)]
    metrics = evaluator.measure(lambda texts: np.ones((len(texts), 2)))
    assert (metrics["n_terms"], metrics["n_short"], metrics["n_gold_pairs"]) == (4, 1, 2)
    assert ClusteringPairEvaluator(["abc", "ab"], ["A", "A"], min_length=2).short == []


def test_many_terms_are_measured_by_their_neighbors_unless_all_pairs_are_asked_for(monkeypatch):
    monkeypatch.setattr(clustering_pair, "_EXACT_TERMS", 39)
    assert ClusteringPairEvaluator(TERMS, CONCEPTS).mode == "top_k"
    assert ClusteringPairEvaluator(TERMS[1:], CONCEPTS[1:]).mode == "exact"
    assert ClusteringPairEvaluator(TERMS, CONCEPTS, mode="exact").mode == "exact"
    assert ClusteringPairEvaluator(TERMS, CONCEPTS).get_config_dict()["k"] == 30


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy")


def test_names_of_a_terminology_keep_all_their_concepts(toy):
    """Would catch an ambiguous name with one concept only, and gold pairs that are not those of the terminology."""
    evaluator = ClusteringPairEvaluator.from_terminology(toy, name="toy")
    assert evaluator.texts == toy.strings
    of_texts = [set(toy.text_concepts.row(i)) for i in range(toy.n_texts)]
    gold = [(i, j) for i in range(toy.n_texts) for j in range(i + 1, toy.n_texts) if of_texts[i] & of_texts[j]]
    assert list(zip(evaluator.gold.left, evaluator.gold.right)) == gold
    assert evaluator.primary_metric == "toy_f1"


def test_the_digest_tells_orders_of_the_terms_apart():
    """Would catch a paired test of one concept's counts against another's, and other wordings or validation terms under
    one digest."""
    rows = [("flumpa", "A"), ("flumpa dor", "A"), ("grudth", "B"), ("grudth nem", "B")]
    forward, backward, repeated = (
        ClusteringPairEvaluator(*zip(*order)) for order in (rows, rows[::-1], [*rows, rows[0]])
    )
    assert forward.terms_digest == repeated.terms_digest != backward.terms_digest


def test_a_sample_is_of_concepts_with_all_their_names(toy):
    """Would catch names drawn one by one, which leaves few pairs, a draw that changes from one process to another, and an
    ambiguous name without the concept that was not drawn, whose other names would then count as false."""
    evaluator, again, other = (
        ClusteringPairEvaluator.from_terminology(toy, sample=80, seed=seed) for seed in (0, 0, 1)
    )
    assert evaluator.texts == again.texts != other.texts
    assert evaluator.terms_digest == again.terms_digest != other.terms_digest
    ids = [toy.strings.index(text) for text in evaluator.texts]
    concepts = {c for i in ids for c in toy.text_concepts.row(i)}
    whole = [c for c in concepts if set(toy.concept_texts.row(c)) <= set(ids)]
    assert len(whole) >= 80 and len(concepts) > 80
    assert evaluator.concepts.counts.tolist() == toy.text_concepts.counts[ids].tolist()
    assert ClusteringPairEvaluator.from_terminology(toy, sample=10_000).texts == toy.strings


def test_held_out_names_are_given_by_a_mask_or_by_their_ids(toy):
    mask = np.arange(toy.n_texts) % 2 == 0
    evaluators = [ClusteringPairEvaluator.from_terminology(toy, texts) for texts in (mask, np.flatnonzero(mask))]
    assert evaluators[0].texts == evaluators[1].texts == toy.strings[::2]
    for other in (390, -1):
        with pytest.raises(InputError, match=r"expected ids from 0 to 389 or a mask \[390\]"):
            ClusteringPairEvaluator.from_terminology(toy, np.array([0, other]))
    with pytest.raises(InputError, match="seed must not be negative, found -1"):
        ClusteringPairEvaluator.from_terminology(toy, sample=2, seed=-1)
    with pytest.raises(InputError, match="sample must be at least 1, found 0"):
        ClusteringPairEvaluator.from_terminology(toy, sample=0)


def test_a_table_is_read_by_the_names_of_its_columns(tmp_path: Path):
    (tmp_path / "Glands.dev.tsv").write_text("code\tterm\nG:1\tflumpa \nG:1\tterkia\nG:2\tflumpa\n")
    evaluator = ClusteringPairEvaluator.from_file(tmp_path / "Glands.dev.tsv", concept="code", min_length=2)
    assert (evaluator.texts, evaluator.name, evaluator.min_length) == (["flumpa", "terkia"], "glands", 2)
    assert len(evaluator.gold.left) == 1
    (tmp_path / "x.csv").write_text("term,concept\nflumpa,G:1\nterkia,\n")
    with pytest.raises(InputError, match=r"x.csv:3: expected a term and a concept, found \['terkia', ''\]"):
        ClusteringPairEvaluator.from_file(tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"x.csv:1: no column 'code'"):
        ClusteringPairEvaluator.from_file(tmp_path / "x.csv", concept="code")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "all"}, "unknown mode 'all': allowed are 'exact', 'top_k'"),
        ({"theta_search": "best"}, "unknown theta_search 'best': allowed are 'exact', 'grid'"),
        ({"k": 0}, "k must be at least 1, found 0"),
        ({"min_length": 0}, "min_length must be at least 1, found 0"),
        ({"theta": 88.0}, "theta must lie between -1 and 1, found 88.0"),
        ({"as_published": True, "k": 30}, "as_published: k is 29, found 30; remove one of the two"),
        ({"as_published": True, "mode": "exact"}, "mode is 'top_k', found 'exact'"),
        ({"as_published": True, "theta": 0.0}, "theta is None, found 0.0"),
        ({"as_published": True, "min_length": 3}, "min_length is 4, found 3"),
        ({"min_length": 99}, "no two of 0 terms share a concept"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ClusteringPairEvaluator(TERMS, CONCEPTS, **options)


def test_bad_lists_are_refused():
    with pytest.raises(InputError, match="must be equally many, found 2 and 1"):
        ClusteringPairEvaluator(["flumpa", "terkia"], ["A"])
    with pytest.raises(InputError, match="no two of 2 terms share a concept"):
        ClusteringPairEvaluator(["flumpa", "terkia"], ["A", "B"])
    for no_concept in (float("nan"), None, ""):  # terms without a concept would be synonyms of one another
        with pytest.raises(
            InputError, match=f"concepts: expected the concept of each term as a text, found {no_concept!r}"
        ):
            ClusteringPairEvaluator(["flumpa", "terkia", "zorb"], ["A", "A", no_concept])
    for no_text in (float("nan"), None):
        with pytest.raises(InputError, match=f"terms: expected texts, found {no_text}"):
            ClusteringPairEvaluator(["flumpa", no_text], ["A", "A"])


def test_the_table_shows_what_the_papers_show():
    evaluator = TestClusteringPairContract().make(name="dev")
    lines = evaluator.table(model=evaluator.measure(TestClusteringPairContract().perfect)).splitlines()
    assert [line[:18].strip() for line in lines[1:]] == [
        "f1", "precision", "recall", "theta", "pr auc", "average precision", "recall ceiling"
    ]  # fmt: skip
    assert lines[1].split() == ["f1", "1.000"]
