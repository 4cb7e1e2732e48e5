"""Link prediction: knowledge-graph models and the vectors of names under one protocol."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import LinkPredictionEvaluator, scorer_from_vectors, table_embedder
from st_biomed.metrics.link_prediction import SIDES, KnownTriples, rank_metrics, rank_triples
from tests.contracts.evaluator_contract import EvaluatorContract

N = 40
NAMES = [f"flumpa {i}" for i in range(N)]
COUPLES = np.array([[i, 0, i + 1] for i in range(0, N, 2)])
NONE = np.empty((0, 3), dtype=int)


class TestLinkPredictionContract(EvaluatorContract):
    evaluator_class = LinkPredictionEvaluator
    worst = 1 / (N - 1)  # an entity itself is no answer and stands behind
    chance = sum(1 / rank for rank in range(1, N)) / (N - 1)

    def make(self, **options):
        return LinkPredictionEvaluator(NAMES, train=NONE, test=COUPLES, **options)

    def perfect(self, texts):
        return np.eye(N)[[int(text.split()[1]) // 2 for text in texts]]

    def opposite(self, texts):
        signs = [1 - 2 * (int(text.split()[1]) % 2) for text in texts]
        return self.perfect(texts) * np.array(signs)[:, None]


# ---------------------------------------------------------------------- a model of a graph by hand

TRAIN = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 4]])
VALID = np.array([[0, 0, 3]])
TEST = np.array([[0, 0, 4], [1, 1, 5]])
SCORES = {
    "head": np.array([[0.5, 0.5, 0.9, 0.1, 0.5, 0.0], [0.0, 0.8, 0.3, 0.3, 0.0, 0.1]]),
    "tail": np.array([[0.1, 0.9, 0.5, 0.5, 0.5, 0.2], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]),
}
SIX = [f"terkia {i}" for i in range(6)]


def graph_model(given, relations, side):
    """Realistic ranks of TEST: heads 3 and 1; tails 1 (raw: 3) and 3.5."""
    return SCORES[side][relations]


def small(**options) -> LinkPredictionEvaluator:
    options = {"train": TRAIN, "valid": VALID, "test": TEST, "relations": ["has_site", "isa"], **options}
    return LinkPredictionEvaluator(SIX, **options)


def test_a_graph_model_gets_the_figures_worked_out_by_hand():
    """Catches sides averaged one by one, raw ranks under the filtered name, and valid triples that are not left out."""
    metrics = small(name="kg", n_bootstrap=0).measure_scorer(graph_model)
    assert next(iter(metrics)) == "kg_filtered_mrr"
    expected = {
        "filtered_mrr": (1 / 3 + 1 + 1 + 2 / 7) / 4,
        "filtered_mr": 2.125,
        "filtered_hits@1": 0.5,
        "filtered_hits@3": 0.75,
        "filtered_hits@10": 1,
        "raw_mrr": (1 / 3 + 1 + 1 / 3 + 2 / 7) / 4,
        "raw_mr": 2.625,
        "filtered_head_mr": 2,
        "filtered_tail_mr": 2.25,
        "raw_tail_hits@1": 0,
        "n": 2,
    }
    assert {key: metrics[f"kg_{key}"] for key in expected} == pytest.approx(expected)


def test_relations_are_reported_one_by_one_when_asked():
    """Catches the rows of another relation, and a number for a name."""
    metrics = small(per_relation=True, n_bootstrap=0).measure_scorer(graph_model)
    assert (metrics["has_site/filtered_mr"], metrics["has_site/raw_mr"], metrics["has_site/n"]) == (2, 3, 1)
    assert metrics["isa/filtered_mrr"] == pytest.approx((1 + 2 / 7) / 2)
    assert not [key for key in small(n_bootstrap=0).measure_scorer(graph_model) if "/" in key]
    unnamed = small(relations=None, per_relation=True, n_bootstrap=0).measure_scorer(graph_model)
    assert unnamed["0/filtered_mr"] == 2


def test_units_are_triples_with_the_mean_of_their_sides():
    """Catches the two sides of a triple drawn as if they were independent, and units of another figure."""
    evaluator = small(ks=[1, 3])
    metrics = evaluator.measure_scorer(graph_model)
    assert {key.rpartition("@")[2] for key in metrics if "hits" in key and "_tail" in key} == {"1", "3"}
    assert list(evaluator.units) == ["filtered_mrr", "filtered_hits@1", "filtered_hits@3"]
    assert evaluator.units["filtered_mrr"].rows[:, 0] == pytest.approx([(1 / 3 + 1) / 2, (1 + 2 / 7) / 2])
    for metric, units in evaluator.units.items():
        assert (units.unit, len(units)) == ("triple", 2)
        assert units.value == pytest.approx(metrics[metric])
        assert metrics[f"{metric}_low"] <= metrics[metric] <= metrics[f"{metric}_high"]


def test_relations_of_test_alone_have_numbers_of_their_own():
    """Catches (1, 0, 3) of train taken for an answer to (0, 1, ?), where relations are counted in train."""
    evaluator = LinkPredictionEvaluator(SIX, train=np.array([[1, 0, 3]]), test=np.array([[0, 1, 2]]), n_bootstrap=0)
    scores = {"tail": [[0.0, 0, 0.5, 0.9, 0, 0]], "head": [[1.0, 0, 0, 0, 0, 0]]}
    metrics = evaluator.measure_scorer(lambda given, relations, side: np.array(scores[side]))
    assert (metrics["filtered_tail_mr"], metrics["filtered_head_mr"]) == (2, 1)


def test_the_valid_split_is_measured_and_test_filters_it():
    """Catches the test triples measured whatever the split. Of (0, 0, ?) 1, 2 and 4 are left out, so that 3 is first."""
    evaluator = small(split="valid", n_bootstrap=0)
    metrics = evaluator.measure_scorer(graph_model)
    assert (metrics["n"], metrics["filtered_tail_mr"], metrics["raw_tail_mr"]) == (1, 1, 3)
    assert evaluator.get_config_dict()["split"] == "valid"


@pytest.mark.parametrize("other", [{"valid": np.array([[0, 0, 5]])}, {"per_relation": True}], ids=str)
def test_whatever_changes_the_figures_is_in_the_configuration(other):
    """Catches a kept result that is taken although other triples filtered its ranks, or it lacks the relations."""
    assert small().get_config_dict() != small(**other).get_config_dict()


def test_leaks_are_counted():
    """Catches an inverse that is overlooked, and entities counted as seen because another relation has their number."""
    train = np.array([[1, 0, 0], [2, 0, 3]])
    test = np.array([[0, 1, 1], [2, 0, 1], [3, 0, 5], [0, 0, 3]])
    metrics = LinkPredictionEvaluator(SIX, train=train, test=test).measure_scorer(
        lambda given, relations, side: np.zeros((len(given), 6))
    )
    assert metrics["n_joined_in_train"] == 1  # (0, 1, 1) turns (1, 0, 0) round
    assert metrics["n_unseen"] == 2  # relation 1, entity 5


def test_a_measured_model_is_not_remembered(tmp_path):
    """Catches a text encoder that gets the figures of the graph model before it, also where that one failed."""
    evaluator = small(n_bootstrap=0)
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    before = evaluator.measure(table_embedder(SIX, vectors))
    graph = evaluator.measure_scorer(graph_model, str(tmp_path), 1, 10)
    with pytest.raises(InputError, match=r"expected \[2, 6\], found shape \(2, 5\)"):
        evaluator.measure_scorer(lambda given, relations, side: np.zeros((len(given), 5)))
    assert evaluator.measure(table_embedder(SIX, vectors)) == before != graph
    (file,) = tmp_path.iterdir()
    header, row = csv.reader(file.open(encoding="utf-8"))
    assert dict(zip(header, row))["filtered_mrr"] == str(graph["filtered_mrr"])


def test_the_table_shows_the_filtered_figures():
    evaluator = small(name="kg", n_bootstrap=0, ks=[1])
    lines = evaluator.table(graph=evaluator.measure_scorer(graph_model)).splitlines()
    assert [line.split() for line in lines[1:]] == [["mrr", "0.655"], ["mr", "2.125"], ["hits@1", "0.500"]]


# ---------------------------------------------------------------------- vectors of names


def naive_scores(vectors, given, side, similarity, move):
    """One query against all, by loops over scalars' formulas."""
    if similarity == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    query = vectors[given] + (move if side == "tail" else -move)
    if similarity == "euclidean":
        scores = [-np.linalg.norm(query - vector) for vector in vectors]
    else:
        scores = [query @ vector for vector in vectors]
    scores[given] = -np.inf
    return scores


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("translate", [False, True])
def test_vectors_rank_as_a_loop_over_entities_does(similarity, translate):
    """Catches heads moved the wrong way, moves of raw vectors added to unit ones, and an order that is not the distance's."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(9, 4)) * rng.uniform(0.5, 2, size=(9, 1))
    triples = np.array([[h, r, t] for r in range(2) for h in range(9) for t in range(9) if h != t])
    triples = rng.permutation(triples)[:60]
    train = triples[:40]
    score = scorer_from_vectors(vectors, similarity, train=train if translate else None)
    table = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if similarity == "cosine" else vectors
    for side in SIDES:
        ranks = rank_triples(score, triples[40:], side, n_entities=9)["raw"]
        for i, (head, relation, tail) in enumerate(triples[40:].tolist()):
            moves = [table[t] - table[h] for h, r, t in train.tolist() if r == relation]
            move = np.mean(moves, axis=0) if translate else np.zeros(4)
            given, target = (tail, head) if side == "head" else (head, tail)
            scores = naive_scores(vectors, given, side, similarity, move)
            assert ranks.optimistic[i] == ranks.pessimistic[i] == 1 + sum(s > scores[target] for s in scores)


def test_an_evaluator_measures_vectors_as_their_scorer():
    """Catches an evaluator that forgets the settings, and one that lets test triples into the moves."""
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(6, 3))
    known = KnownTriples(np.concatenate([TRAIN, VALID, TEST]), 2)
    for similarity in ("cosine", "dot", "euclidean"):
        for train in (None, TRAIN):
            score = scorer_from_vectors(vectors, similarity, train=train)
            ranks = [rank_triples(score, TEST, side, n_entities=6, known=known)["filtered"] for side in SIDES]
            expected = rank_metrics(np.concatenate([of.realistic for of in ranks]))["mrr"]
            evaluator = small(similarity=similarity, translate=train is not None, n_bootstrap=0)
            assert evaluator.measure(table_embedder(SIX, vectors))["filtered_mrr"] == pytest.approx(expected)


def test_a_relation_that_is_a_translation_is_found_by_its_mean_difference():
    """Catches moves that are not used: neighbors in space are others than neighbors in the graph."""
    rng = np.random.default_rng(5)
    heads = rng.normal(size=(10, 3))
    vectors = np.concatenate([heads, heads + [20, 0, 0]])
    triples = np.array([[i, 0, 10 + i] for i in range(10)])
    names = [f"entity {i}" for i in range(20)]
    options = {"train": triples[:6], "test": triples[6:], "similarity": "euclidean", "n_bootstrap": 0}
    moved, still = (
        LinkPredictionEvaluator(names, translate=translate, **options).measure(table_embedder(names, vectors))
        for translate in (True, False)
    )
    assert moved["filtered_mrr"] == 1 and still["filtered_mrr"] < 0.3


def test_a_relation_without_training_triples_moves_nothing():
    vectors = np.random.default_rng(6).normal(size=(5, 3))
    given, relations = np.array([0, 1]), np.array([1, 1])
    moved = scorer_from_vectors(vectors, train=np.array([[0, 0, 1]]))(given, relations, "tail")
    assert np.array_equal(moved, scorer_from_vectors(vectors)(given, relations, "tail"))


@pytest.mark.parametrize("n_entities", [91, 130, 257])
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_entities_of_one_name_tie_wherever_they_stand(n_entities, batch):
    """Catches ties that the last bits of a product break, which depend on where in the matrix a vector stands."""
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(n_entities, 64)).astype(np.float32)
    same = rng.permutation(n_entities)[:60]
    vectors[same] = vectors[same[0]]
    triples = np.array([[head, 0, tail] for head in range(20) if head not in same for tail in same])
    ranks = rank_triples(
        scorer_from_vectors(vectors), triples, "tail", n_entities=n_entities, cells=batch * n_entities
    )["raw"]
    assert set((ranks.pessimistic - ranks.optimistic).tolist()) == {59}


def test_the_given_entity_is_no_answer():
    """Catches a baseline whose hits at 1 are none because every name is nearest to itself."""
    score = scorer_from_vectors(np.eye(3))
    assert score(np.array([1]), np.array([0]), "tail").tolist() == [[0, -np.inf, 0]]


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "unknown split 'train': allowed are 'test', 'valid'"),
        ({"similarity": "cos"}, "unknown similarity 'cos'"),
        ({"ks": []}, r"ks: expected whole numbers from 1, found \[\]"),
        ({"ks": [0, 1]}, "ks: expected whole numbers from 1"),
        ({"test": NONE}, "test: expected at least one triple to measure, found none"),
        ({"split": "valid", "valid": None}, "valid: expected at least one triple to measure, found none"),
        ({"train": TRAIN[:, :2]}, r"train: expected whole numbers \[T, 3\], found int64 \[3, 2\]"),
        ({"train": TRAIN / 2}, r"train: expected whole numbers \[T, 3\], found float64 \[3, 3\]"),
        ({"test": [[0, 0, 6]]}, "test: tail of triple 1 must be from 0 to 5, found 6"),
        ({"test": [[0, 0, 5], [-1, 0, 1]]}, "test: head of triple 2 must be from 0 to 5, found -1"),
        ({"test": [[0, 2, 5]]}, "test: relation of triple 1 must be from 0 to 1, found 2"),
        ({"test": [[0, -1, 5]], "relations": None}, "test: relation of triple 1 must be from 0, found -1"),
        ({"test": [[0, 0, 4], [0, 0, 1]]}, r"test: triple \[0, 0, 1\] is in train already; triples must be distinct"),
        ({"valid": [[0, 0, 3], [0, 0, 3]]}, r"valid: triple \[0, 0, 3\] is in valid already"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        small(**options)


def test_bad_vectors_and_too_few_entities_are_refused():
    with pytest.raises(InputError, match=r"vectors: expected \[E, D\], found shape \(3,\)"):
        scorer_from_vectors(np.ones(3))
    with pytest.raises(InputError, match="unknown similarity 'l2'"):
        scorer_from_vectors(np.ones((3, 2)), "l2")
    with pytest.raises(InputError, match="entities: at least two are needed, found 1"):
        LinkPredictionEvaluator(["a"], train=NONE, test=TEST)


def test_near_vectors_far_from_the_origin_keep_their_order():
    """Catches differences of distances that are lost in float32 beside the squares of long vectors."""
    vectors = 1000 + np.random.default_rng(0).normal(scale=0.05, size=(50, 8))
    scores = scorer_from_vectors(vectors, "euclidean")(np.array([0]), np.array([0]), "tail")[0]
    distances = np.linalg.norm(vectors - vectors[0], axis=1)
    assert (np.argsort(-scores[1:], kind="stable") == np.argsort(distances[1:], kind="stable")).all()
