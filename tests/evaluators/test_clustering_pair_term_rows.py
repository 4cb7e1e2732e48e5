"""Rows of terms and concepts: equal wordings, and terms that choose theta."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import ClusteringPairEvaluator
from st_biomed.evaluators.clustering_pair.term_rows import split_rows, wording
from tests.evaluators.test_clustering_pair_evaluator import CONCEPTS, TERMS, measured, random_vectors


def test_terms_of_one_wording_are_one_term():
    """Would catch case, accents or punctuation that still make a gold pair, and a concept that is lost with its wording."""
    terms = ["Flumpà's Zorb", "flumpa s  zorb", "terkia", "Terkia", "nebza", "FLUMPA'S ZORB"]
    concepts = ["A", "A", "A", "B", "B", "B"]
    evaluator = ClusteringPairEvaluator(terms, concepts, distinct=True)
    assert (evaluator.texts, evaluator.n_equal) == (["Flumpà's Zorb", "terkia", "nebza"], 3)
    assert [evaluator.concepts.row(i).tolist() for i in range(3)] == [[0, 1], [0, 1], [1]]
    assert len(evaluator.gold.left) == 3
    assert evaluator.get_config_dict()["n_equal"] == 3
    assert len(ClusteringPairEvaluator(terms, concepts).texts) == 6


@pytest.mark.parametrize(
    ("term", "other"), [("Maße", "MASSE"), ("zorb B\u00b2", "zorb b2"), ("\ufb02umpa", "flumpa"), ("a-b", "A  b")]
)
def test_a_wording_knows_letters_in_all_their_forms(term: str, other: str):
    """Catches small letters for folded ones, and superscripts or ligatures that make another term."""
    assert wording(term) == wording(other)


def test_string_equality_finds_nothing_among_distinct_terms():
    """Would catch a benchmark that a model of strings solves: every wording is a point of its own."""
    terms = [form for i in range(20) for form in (f"flumpa {i}", f"Flumpa, {i}", f"zorbin {i}")]
    concepts = [f"C:{i}" for i in range(20) for _ in range(3)]

    def strings(texts: list[str]) -> np.ndarray:
        wordings = [text.replace(",", "").lower() for text in texts]
        return np.eye(99)[[sorted(set(wordings)).index(wording) for wording in wordings]]

    assert ClusteringPairEvaluator(terms, concepts, theta=0.5).measure(strings)["recall"] == pytest.approx(1 / 3)
    assert ClusteringPairEvaluator(terms, concepts, theta=0.5, distinct=True).measure(strings)["recall"] == 0


def test_theta_is_chosen_on_validation_terms_and_other_terms_are_measured():
    """Would catch a term on both sides, a concept on both sides, and a threshold that is searched on the measured terms."""
    terms, concepts = [*TERMS, "flumpa 0 c", "flumpa 0 c"], [*CONCEPTS, "GLAND:0", "GLAND:1"]
    evaluator = ClusteringPairEvaluator(terms, concepts, validation=0.4, validation_seed=5)
    dev = evaluator.validation
    assert dev is not None and not set(dev.texts) & set(evaluator.texts)
    assert set(dev.texts) | set(evaluator.texts) == set(terms)
    of = dict(zip(terms, concepts))
    assert not {of[text] for text in dev.texts} & {of[text] for text in evaluator.texts}
    assert 0.3 * 41 <= len(dev.texts) <= 0.4 * 41
    vectors = random_vectors(evaluator, noise=2.0) | random_vectors(dev, noise=0.1)
    metrics = measured(evaluator, vectors)
    assert metrics["theta"] == measured(dev, vectors)["theta"]
    assert (
        metrics["theta"]
        != measured(ClusteringPairEvaluator(evaluator.texts, [of[t] for t in evaluator.texts]), vectors)["theta"]
    )
    other = ClusteringPairEvaluator(terms, concepts, validation=0.4, validation_seed=6)
    assert other.validation is not None and other.validation.texts != dev.texts


def test_theta_is_chosen_as_the_measured_terms_are_scored():
    """Catches a threshold of all pairs and all thresholds for a benchmark of neighbors and a grid."""
    scoring = {"mode": "top_k", "k": 7, "theta_search": "grid", "min_length": 2}
    found = ClusteringPairEvaluator(TERMS, CONCEPTS, validation=0.4, **scoring).validation
    assert found is not None and {name: getattr(found, name) for name in scoring} == scoring


def test_validation_terms_fill_their_share_where_groups_fit():
    """Catches a group that is passed over because it takes all the room that is left."""
    rows = [(f"zorb {i} {form}", f"Z:{i}") for i in range(4) for form in "ab"]
    assert [len(split_rows(rows, 0.5, seed)[0]) for seed in range(5)] == [4] * 5


def test_a_small_group_that_does_not_fit_ends_the_draw():
    """15 groups of four terms and 40 of one. Catches a rest that single terms always fill, so that they are drawn more
    often than groups."""
    rows = [(f"zorb {i} {form}", f"Z:{i}") for i in range(15) for form in "abcd"]
    rows += [(f"flumpa {i}", f"F:{i}") for i in range(40)]
    drawn = {len(split_rows(rows, 0.5, seed)[0]) for seed in range(30)}
    assert drawn == {47, 48, 49, 50}


def test_a_large_group_does_not_end_the_draw_of_validation_terms():
    """Would catch a share that is hardly held, or not at all, as soon as many terms hang together."""
    rows = [(f"zorb {i}", "GLAND:0") for i in range(400)]
    rows += [(f"flumpa {i} {form}", f"FLUMPA:{i}") for i in range(300) for form in "ab"]
    for seed in range(20):
        drawn, others = split_rows(rows, 0.3, seed)
        assert 0.29 * 1000 <= len(drawn) <= 0.3 * 1000
        assert len(others) == len(rows) - len(drawn)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": 1.0}, "validation must lie between 0 and 1, found 1.0"),
        ({"validation": 0.5, "validation_seed": -1}, "seed must not be negative, found -1"),
        ({"validation": -0.1}, "validation must lie between 0 and 1, found -0.1"),
        ({"validation": 0.01}, "validation: no two of 0 validation terms share a concept; choose a larger share"),
        (
            {"validation": 0.5, "min_length": 99},
            "validation: expected terms of at least min_length characters, found none",
        ),
        ({"validation": 0.5, "theta": 0.5}, "expected either theta or validation, found theta 0.5 and validation 0.5"),
        (
            {"validation": 0.5, "as_published": True},
            "as_published: validation is 0.0, found 0.5; remove one of the two",
        ),
        (
            {"distinct": True, "as_published": True},
            "as_published: distinct is False, found True; remove one of the two",
        ),
    ],
)
def test_bad_validation_is_refused(options: dict, message: str):
    with pytest.raises(InputError, match=f"^{message}$"):
        ClusteringPairEvaluator(TERMS, CONCEPTS, **options)
