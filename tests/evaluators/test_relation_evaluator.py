"""The relation evaluator's metrics and mistakes; how pairs are drawn is in test_relation_draw."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from st_biomed import Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import RelationDrawSettings, RelationEvaluator, table_embedder
from st_biomed.evaluators.relation.lists import HIPRBERT_28, HIPRBERT_CLINICAL
from tests.contracts.evaluator_contract import EvaluatorContract

RELATIONS = {
    f"relation_{r}": [(f"flumpa {r} {i} head", f"flumpa {r} {i} tail") for i in range(4 + r)] for r in range(5)
}
NEGATIVES = [(f"terkia {9} {i} head", f"terkia {9} {i} tail") for i in range(60)]


class TestRelationContract(EvaluatorContract):
    evaluator_class = RelationEvaluator

    def make(self, **options):
        return RelationEvaluator(RELATIONS, NEGATIVES, **options)

    def at_angles(self, texts, related, unrelated):
        angles = []
        for text in texts:
            word, r, i, end = text.split()
            apart = related if word == "flumpa" else unrelated
            angles.append(10 * int(r) + int(i) + (apart if end == "tail" else 0))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def perfect(self, texts):
        return self.at_angles(texts, 0.2, 1.0)

    def opposite(self, texts):
        return self.at_angles(texts, 1.0, 0.2)


def embedder(evaluator: RelationEvaluator, seed: int = 0):
    vectors = np.random.default_rng(seed).normal(size=(len(evaluator.texts), 6))
    return table_embedder(evaluator.texts, vectors), dict(zip(evaluator.texts, vectors))


def cosine(vectors, pair) -> float:
    a, b = (vectors[text] for text in pair)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


PAIRS = {"part_of": [("a", "b"), ("b", "c"), ("d", "a")], "near": [("a", "b"), ("c", "e")]}
RANDOM = [("a", "f"), ("f", "e"), ("g", "a"), ("e", "g")]


def test_texts_that_stand_in_several_pairs_keep_their_pairs():
    """Catches rows mixed up by embedding each text once, and relations mixed up; scikit-learn is the oracle."""
    evaluator = RelationEvaluator(PAIRS, RANDOM, n_bootstrap=0)
    embed, vectors = embedder(evaluator)
    metrics = evaluator.measure(embed)
    for relation, pairs in PAIRS.items():
        scores = [cosine(vectors, pair) for pair in [*pairs, *RANDOM]]
        label = np.repeat([1, 0], [len(pairs), len(RANDOM)])
        assert metrics[f"{relation}/auc"] == pytest.approx(roc_auc_score(label, scores))
        assert metrics[f"{relation}/n"] == len(pairs)
    assert metrics["macro_auc"] == pytest.approx((metrics["part_of/auc"] + metrics["near/auc"]) / 2)
    assert (metrics["n_relations"], metrics["n_missing"], metrics["n_excluded"]) == (2, 0, 0)


def test_one_relation_has_an_interval_and_can_be_compared():
    """Catches `.650 (.650 to .650)`, and a key that finds the results of before, whose units were the relations."""
    evaluator = RelationEvaluator({"near": RELATIONS["relation_4"]}, NEGATIVES, name="zorb", n_bootstrap=200)
    first, second = (evaluator.measure(embedder(evaluator, seed)[0]) for seed in (1, 2))
    low, high = first["zorb_macro_auc_low"], first["zorb_macro_auc_high"]
    assert 0.05 < high - low < 0.6 and low < first["zorb_macro_auc"] < high
    units = evaluator.units["macro_auc"]
    assert (units.unit, units.statistic, len(units)) == ("pair", "macro_auc", 8 + 60)
    assert second["zorb_macro_auc"] == units.value
    assert evaluator.get_config_dict()["resampling"] == "pairs"
    many = RelationEvaluator({f"r{i}": [(f"a{i}", f"b{i}")] for i in range(20)}, NEGATIVES)
    assert many.get_config_dict()["resampling"] == "relations and pairs"


def test_units_of_relations_keep_their_own_negatives():
    """Catches rows of one relation's negatives under the number of another, and numbers of pairs in another order."""
    negatives = {"near": [("a", "f"), ("f", "e")], "part_of": [("e", "f"), ("g", "a")]}
    evaluator = RelationEvaluator(PAIRS, negatives, n_bootstrap=0)
    metrics = evaluator.measure(embedder(evaluator, 1)[0])
    rows = evaluator.units["macro_auc"].rows
    assert rows[:, 1:3].tolist() == [[0, 1]] * 3 + [[1, 1]] * 2 + [[0, 0]] * 2 + [[1, 0]] * 2
    pair = rows[:, 3].tolist()
    assert pair[0] == pair[3] and pair[5] == pair[8] and len(set(pair)) == 7  # a-b of both relations, e-f and f-e
    for number, relation in enumerate(PAIRS):
        of_it = rows[rows[:, 1] == number]
        assert metrics[f"{relation}/auc"] == pytest.approx(roc_auc_score(of_it[:, 2], of_it[:, 0]))


def test_a_relation_and_its_inverse_are_one_group_of_the_same_pairs():
    """Catches pairs that are told apart by their direction, groups that are no part of a result's key, and a threshold
    that counts relations: a relation and its inverse had intervals as narrow as two independent ones."""
    inverse = {"has_part": [(tail, head) for head, tail in PAIRS["part_of"]]}
    near = {"near": [("a", "b"), ("c", "e"), ("c", "x")]}  # one pair of three in common
    evaluator = RelationEvaluator(PAIRS | near | inverse, RANDOM, n_bootstrap=0)
    assert evaluator.groups == {"part_of": 0, "near": 1, "has_part": 0}
    assert evaluator.get_config_dict()["n_groups"] == 2
    evaluator.measure(embedder(evaluator)[0])
    _, relation, related, pair = evaluator.units["macro_auc"].rows.T
    of_relation = [pair[(relation == i) & (related == 1)].tolist() for i in range(3)]
    assert of_relation[0] == of_relation[2] and of_relation[0][0] == of_relation[1][0]
    assert len(set(pair)) == 5 + len(RANDOM)
    many = {f"r{i}": [(f"a{i}", f"b{i}")] for i in range(14)}
    with_inverses = many | {f"inverse {name}": [(b, a)] for name, [(a, b)] in many.items()}
    config = RelationEvaluator(with_inverses, NEGATIVES).get_config_dict()
    assert (config["n_groups"], config["resampling"]) == (14, "pairs")


def test_relations_may_have_negatives_and_nulls_of_their_own():
    """Catches the negatives of one relation used for another, and a power that is taken from the negatives."""
    negatives = {"near": RANDOM[:2], "part_of": RANDOM[2:]}
    nulls = {"near": [("x", "y")] * 3, "part_of": [("x", "z")]}
    evaluator = RelationEvaluator(PAIRS, negatives, nulls=nulls, n_bootstrap=0)
    embed, vectors = embedder(evaluator, 1)
    metrics = evaluator.measure(embed)
    assert list(metrics)[:2] == ["macro_auc", "macro_power"]
    for relation, pairs in PAIRS.items():
        positive = [cosine(vectors, pair) for pair in pairs]
        scores = positive + [cosine(vectors, pair) for pair in negatives[relation]]
        assert metrics[f"{relation}/auc"] == pytest.approx(roc_auc_score([1] * len(pairs) + [0] * 2, scores))
        threshold = cosine(vectors, nulls[relation][0])
        assert metrics[f"{relation}/power"] == pytest.approx(np.mean([score > threshold for score in positive]))
    assert evaluator.get_config_dict()["negatives"] == {"part_of": 2, "near": 2}


def test_related_pairs_among_the_negatives_are_left_out_and_counted():
    """Catches a pair of another relation, or turned round, that counts as unrelated, and a name paired with itself."""
    negatives = [*RANDOM, ("b", "a"), ("c", "e"), ("q", "q"), ("d", "a")]
    evaluator = RelationEvaluator(PAIRS, negatives, relations=["near"], n_bootstrap=0)
    plain = RelationEvaluator({"near": PAIRS["near"]}, RANDOM, n_bootstrap=0)
    embed, _ = embedder(evaluator)
    metrics = evaluator.measure(embed)
    assert metrics["n_excluded"] == evaluator.n_excluded == 4
    assert metrics["near/auc"] == plain.measure(embed)["near/auc"]


def test_relations_that_the_data_lack_are_named_and_counted(caplog):
    """Catches a mean over fewer relations than were asked for, in silence."""
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        evaluator = RelationEvaluator(PAIRS, RANDOM, relations=["near", "isa", "treats"], name="kg")
    assert "kg: relations without enough pairs: 'isa', 'treats'" in caplog.text
    assert evaluator.missing == {"isa": 0, "treats": 0}
    metrics = evaluator.measure(embedder(evaluator)[0])
    assert (metrics["kg_n_relations"], metrics["kg_n_missing"]) == (1, 2)
    assert "kg_part_of/auc" not in metrics
    assert evaluator.get_config_dict()["missing"] == {"isa": 0, "treats": 0}


def test_without_a_list_relations_of_too_few_pairs_are_left_out_and_counted():
    """Catches a minimum that drops in silence, and one that also cuts a list that was asked for."""
    evaluator = RelationEvaluator(PAIRS, RANDOM, min_pairs=3)
    assert (list(evaluator.positives), evaluator.missing) == (["part_of"], {"near": 2})
    assert list(RelationEvaluator(PAIRS, RANDOM, relations=["near"], min_pairs=3).positives) == ["near"]


def test_one_relation_with_one_pair_and_one_negative_is_enough():
    metrics = RelationEvaluator({"near": [("a", "b")]}, [("a", "c")]).measure(
        table_embedder(["a", "b", "c"], np.array([[1, 0], [1, 0.1], [0, 1]]))
    )
    assert (metrics["macro_auc"], metrics["macro_auc_low"], metrics["macro_auc_high"]) == (1, 1, 1)


def test_the_table_shows_the_mean_and_each_relation():
    evaluator = RelationEvaluator(PAIRS, RANDOM, name="kg", n_bootstrap=0)
    lines = evaluator.table(model=evaluator.measure(embedder(evaluator)[0])).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["mean", "part_of", "near"]


def test_lists_become_relations():
    """Catches pairs that follow the wrong relation."""
    pairs = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "e"), ("d", "a")]
    evaluator = RelationEvaluator.from_pairs(pairs, ["part_of", "near", "part_of", "near", "part_of"], RANDOM)
    assert evaluator.pairs_digest == RelationEvaluator(PAIRS, RANDOM).pairs_digest
    with pytest.raises(InputError, match="must be equally many, found 5 and 1"):
        RelationEvaluator.from_pairs(pairs, ["near"], RANDOM)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (({}, RANDOM), {}, "positives: expected pairs of at least one relation, found none"),
        ((PAIRS, RANDOM), {"relations": []}, r"relations: expected a list with at least one name, found \[\]"),
        ((PAIRS, RANDOM), {"relations": "near"}, "expected a list with at least one name, found 'near'"),
        ((PAIRS, RANDOM), {"relations": ["isa"]}, "none of 'isa' has 1 pairs or more; there are 'part_of', 'near'"),
        ((PAIRS, RANDOM), {"min_pairs": 9}, "none of 'part_of', 'near' has 9 pairs or more"),
        ((PAIRS, RANDOM), {"min_pairs": 0}, "min_pairs must be at least 1, found 0"),
        ((PAIRS, []), {}, "negatives: expected at least one unrelated pair, found none among 0"),
        ((PAIRS, [("b", "a")]), {}, "negatives: expected at least one unrelated pair, found none among 1"),
        ((PAIRS, {"near": RANDOM}), {}, "negatives of part_of: expected at least one unrelated pair"),
        ((PAIRS, RANDOM), {"nulls": {"near": RANDOM}}, "nulls of part_of: expected at least one unrelated pair"),
        (({"isa": [("a", "b"), ("a",)]}, RANDOM), {}, r"isa: pair 2: expected two texts, found \('a',\)"),
        ((PAIRS, [("a", None)]), {}, r"negatives: pair 1: expected two texts, found \('a', None\)"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        RelationEvaluator(*arguments, **options)


# ---------------------------------------------------------------------- from a terminology


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy")


def test_a_terminology_becomes_an_evaluator_of_names_or_of_codes(toy):
    """Catches names where a table of a graph has codes, and what was drawn that is not told."""
    draws = [RelationDrawSettings(keys=keys, n_negatives=30, seed=4) for keys in ("names", "codes")]
    names, codes = (RelationEvaluator.from_terminology(toy, ["has_site", "treats"], draw) for draw in draws)
    assert set(names.texts) <= set(toy.strings) and set(codes.texts) <= set(toy.codes)
    for evaluator in (names, codes):
        assert (list(evaluator.positives), evaluator.missing) == (["has_site"], {"treats": 0})
        assert len(evaluator.negatives) == 30
        assert evaluator.drawn["negatives"]["kept"] == 30
        assert evaluator.n_excluded == evaluator.drawn["negatives"]["dropped"].get("related", 0)
        config = json.dumps(evaluator.get_config_dict())
        assert not [text for text in evaluator.texts if text in config]


def test_relations_of_a_terminology_can_be_pooled_under_a_label(toy):
    """Catches a group of which a part is missing in silence."""
    groups = {"place": ["has_site", "adjacent_to", "treats"], "course": ["progresses_to"], "none": ["ddx"]}
    evaluator = RelationEvaluator.from_terminology(toy, groups, RelationDrawSettings(n_negatives=20))
    pairs = toy.relations["relation"].to_pylist()
    assert {name: len(rows) for name, rows in evaluator.positives.items()} == {
        "place": pairs.count("has_site") + pairs.count("adjacent_to"),
        "course": pairs.count("progresses_to"),
    }
    assert evaluator.missing == {"none": 0, "treats": 0}


def test_power_and_matched_types_reach_the_metrics(toy):
    draw = RelationDrawSettings(negatives="type_matched", n_negatives=40, power=True, min_pairs=10)
    evaluator = RelationEvaluator.from_terminology(toy, draw=draw, n_bootstrap=0)
    metrics = evaluator.measure(embedder(evaluator)[0])
    assert list(evaluator.positives) == ["has_site", "progresses_to"] and evaluator.missing == {"adjacent_to": 6}
    assert 0 <= metrics["has_site/power"] <= 0.2
    n_related = [evaluator.drawn[stage]["dropped"]["related"] for stage in ("negatives", "nulls")]
    assert min(n_related) > 0 and metrics["n_excluded"] == sum(n_related)
    assert {name: len(rows) for name, rows in evaluator.negatives.items()} == {"has_site": 40, "progresses_to": 40}


def test_by_default_pairs_are_drawn_as_those_of_hiprbert():
    """Catches another number of pairs, which moves the figure of every terminology."""
    assert RelationDrawSettings() == RelationDrawSettings(
        negatives="random", n_negatives=5000, power=False, max_pairs=5000, min_pairs=50, keys="names", seed=0
    )


def test_the_list_of_hiprbert_has_its_28_relations():
    """Catches a name lost or written twice: the published mean is one of 28."""
    assert len(HIPRBERT_28) == len(set(HIPRBERT_28)) == 28
    assert {"isa", "inverse_isa", "class_of", "classifies", "has_inactive_ingredient"} <= set(HIPRBERT_28)
    assert len(HIPRBERT_CLINICAL) == 5 and all(HIPRBERT_CLINICAL.values())


def test_relations_that_are_not_measured_are_not_embedded():
    """Catches a table that is refused because it lacks texts that no figure needs."""
    pairs = {"a": [("x", "y"), ("y", "z")], "b": [("u", "w")]}
    evaluator = RelationEvaluator(pairs, [("x", "z"), ("u", "w")], relations=["a"], n_bootstrap=0)
    whole = RelationEvaluator(pairs, [("x", "z"), ("u", "w")], n_bootstrap=0)
    assert sorted(evaluator.texts) == ["x", "y", "z"] and evaluator.n_excluded == whole.n_excluded == 1
    vectors = {"x": (1.0, 0.0), "y": (0.9, 0.5), "z": (0.0, 1.0)}
    found = evaluator.measure(lambda texts: np.array([vectors[text] for text in texts]))
    assert found["a/auc"] == 1.0
