"""The graph of a real ontology: its size after every filter, and that a few epochs learn it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from st_biomed.kge import KGESettings, KnowledgeGraph, train_kge
from st_biomed.terminology import Terminology

pytestmark = pytest.mark.realdata


def test_diseases_of_ncit_make_a_graph_that_is_learnt(realdata: Path) -> None:
    ncit = Terminology.read("obograph", realdata / "ontologies/ncit-disease-2018-06-08.json.gz")
    graph = KnowledgeGraph.from_terminology(ncit)
    assert (len(graph.entities), len(graph.relations), len(graph.triples)) == (20_324, 40, 49_943)
    assert graph.tally.dropped == {"of rare relations": 244, "of relations that mirror another": 17}
    assert graph.shares == pytest.approx({"train": 0.9, "valid": 0.04, "test": 0.06}, abs=1e-3)
    for part in (graph.valid, graph.test):
        assert np.isin(part[:, [0, 2]], graph.train[:, [0, 2]]).all() and np.isin(part[:, 1], graph.train[:, 1]).all()
    settings = KGESettings(
        model="complex", chunk=1024, epochs=4, validation_sample=300
    )  # with the defaults of TransE .065
    trained = train_kge(graph, settings, device="cpu")
    assert trained.settings.loss == "self_adversarial" and trained.history[-1]["valid_mrr"] > 0.12
