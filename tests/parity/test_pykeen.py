"""Filtered ranks are PyKEEN's: its figures on a graph with many ties, and PyKEEN itself where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import torch

from st_biomed.evaluators import LinkPredictionEvaluator

# DistMult of whole numbers on 194 random triples, so that many scores tie; 44 of the triples are tested.
RNG = np.random.default_rng(0)
E, R, D = 30, 3, 4
TRIPLES = np.unique(np.stack([RNG.integers(size, size=200) for size in (E, R, E)], axis=1), axis=0)
TRAIN, VALID, TEST = np.split(RNG.permutation(TRIPLES), [120, 150])
ENTITIES, RELATIONS = (
    RNG.integers(-2, 3, size=(E, D)).astype(np.float32),
    RNG.integers(-1, 2, size=(R, D)).astype(np.float32),
)

PYKEEN = {  # 1.11.1, realistic ranks; its means are float32
    "head": {"mrr": 0.11208388, "mr": 14.9886360, "hits@1": 1 / 44, "hits@3": 2 / 44, "hits@10": 12 / 44},
    "tail": {"mrr": 0.12036407, "mr": 14.7840910, "hits@1": 1 / 44, "hits@3": 3 / 44, "hits@10": 14 / 44},
    "both": {"mrr": 0.11622398, "mr": 14.8863640, "hits@1": 2 / 88, "hits@3": 5 / 88, "hits@10": 26 / 88},
}
NAMES = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


def test_the_figures_are_those_of_pykeen():
    """Would catch optimistic ranks, a filter that leaves out the target, and ties that are split."""
    evaluator = LinkPredictionEvaluator(
        [f"entity {i}" for i in range(E)], train=TRAIN, valid=VALID, test=TEST, n_bootstrap=0
    )
    found = evaluator.measure_scorer(
        lambda given, relations, side: ENTITIES[given] * RELATIONS[relations] @ ENTITIES.T
    )
    for side, expected in PYKEEN.items():
        prefix = "filtered_" if side == "both" else f"filtered_{side}_"
        assert {key: found[f"{prefix}{key}"] for key in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("pykeen") is None, reason="PyKEEN is not installed: pip install pykeen")
def test_the_stored_figures_are_what_pykeen_says():
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import DistMult
    from pykeen.triples import CoreTriplesFactory

    train, valid, test = map(torch.tensor, (TRAIN, VALID, TEST))
    factory = CoreTriplesFactory.create(mapped_triples=train, num_entities=E, num_relations=R)
    model = DistMult(triples_factory=factory, embedding_dim=D, random_seed=0)
    with torch.no_grad():
        for table, numbers in (
            (model.entity_representations[0], ENTITIES),
            (model.relation_representations[0], RELATIONS),
        ):
            table._embeddings.weight[:] = torch.tensor(numbers)
    results = RankBasedEvaluator().evaluate(
        model.eval(), test, additional_filter_triples=[train, valid], batch_size=16, use_tqdm=False
    )
    for side, expected in PYKEEN.items():
        realistic = results.to_dict()[side]["realistic"]
        assert {key: realistic[NAMES[key]] for key in expected} == pytest.approx(expected, rel=1e-6)
