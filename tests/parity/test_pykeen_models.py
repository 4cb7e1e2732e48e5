"""TransE and ComplEx are PyKEEN's: scores, and filtered ranks through both evaluations. Where PyKEEN is installed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from st_biomed.evaluators import LinkPredictionEvaluator
from st_biomed.kge.model import KGEModel
from st_biomed.kge.scoring import ComplEx, TransE

pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install pykeen")

RNG = np.random.default_rng(0)
E, R, D = 30, 3, 8
TRIPLES = np.unique(RNG.integers([E, R, E], size=(200, 3)), axis=0)
TRAIN, VALID, TEST = np.split(RNG.permutation(TRIPLES), [120, 150])
NAMES = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


def real(vectors: torch.Tensor) -> torch.Tensor:
    return torch.cat([vectors.real, vectors.imag], dim=-1) if vectors.is_complex() else vectors


def both(name: str) -> tuple[KGEModel, object]:
    """Our model with the vectors of PyKEEN's."""
    from pykeen import models
    from pykeen.triples import CoreTriplesFactory

    factory = CoreTriplesFactory.create(mapped_triples=torch.tensor(TRAIN), num_entities=E, num_relations=R)
    if name == "complex":
        theirs = models.ComplEx(triples_factory=factory, embedding_dim=D // 2, random_seed=0).eval()
        ours: KGEModel = ComplEx(E, R, D)
    else:
        norm = int(name[-1])
        theirs = models.TransE(triples_factory=factory, embedding_dim=D, scoring_fct_norm=norm, random_seed=0).eval()
        ours = TransE(E, R, D, norm=norm)
    with torch.no_grad():
        ours.entities.weight[:] = real(theirs.entity_representations[0](indices=None))
        ours.relations.weight[:] = real(theirs.relation_representations[0](indices=None))
    return ours, theirs


@pytest.mark.parametrize("name", ["transe 1", "transe 2", "complex"])
def test_scores_are_those_of_pykeen(name: str) -> None:
    ours, theirs = both(name)
    triples = torch.tensor(TRIPLES)
    heads, relations, tails = triples.T
    with torch.no_grad():
        pairs = (
            (ours.score(heads, relations, tails), theirs.score_hrt(triples).flatten()),
            (ours.score_all(heads, relations, "tail"), theirs.score_t(triples[:, :2])),
            (ours.score_all(tails, relations, "head"), theirs.score_h(triples[:, 1:])),
        )
    for found, expected in pairs:
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["transe 1", "complex"])
def test_filtered_figures_are_those_of_pykeen(name: str) -> None:
    from pykeen.evaluation import RankBasedEvaluator

    ours, theirs = both(name)
    evaluator = LinkPredictionEvaluator(
        [f"entity {i}" for i in range(E)], train=TRAIN, valid=VALID, test=TEST, n_bootstrap=0
    )
    found = evaluator.measure_scorer(ours.scorer())
    train, valid, test = map(torch.tensor, (TRAIN, VALID, TEST))
    results = RankBasedEvaluator().evaluate(
        theirs, test, additional_filter_triples=[train, valid], batch_size=16, use_tqdm=False
    )
    for side in ("head", "tail", "both"):
        prefix = "filtered_" if side == "both" else f"filtered_{side}_"
        realistic = results.to_dict()[side]["realistic"]
        expected = {key: realistic[name] for key, name in NAMES.items()}
        assert {key: found[f"{prefix}{key}"] for key in NAMES} == pytest.approx(expected, rel=1e-6)
