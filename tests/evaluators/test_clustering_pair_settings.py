"""Clustering pairs as a benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators.clustering_pair.settings import ClusteringPairSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology

TOY = Terminology.read("toy")


def test_the_names_of_a_terminology_or_a_part_of_it_are_clustered():
    (whole,) = ClusteringPairSettings("zorb", ["toy"], min_length=1).evaluators(n_bootstrap=3)
    assert sorted(whole.texts) == sorted(TOY.strings) and (whole.name, whole.n_bootstrap) == ("zorb", 3)
    root = TOY.codes[Hierarchy(TOY).graph.roots[0]]
    (part,) = ClusteringPairSettings("zorb", ["toy"], below=[root], min_length=1).evaluators()
    assert sorted(part.texts) == sorted(TOY.subset(below=[root]).strings)
    (drawn,) = ClusteringPairSettings("zorb", ["toy"], sample=5, seed=2, theta=0.5, k=7, mode="top_k").evaluators()
    assert len(drawn.texts) < len(whole.texts) and (drawn.theta, drawn.k, drawn.mode) == (0.5, 7, "top_k")


def test_the_seed_is_that_of_both_draws():
    """Catches concepts, or validation terms, that are the same for every seed."""
    first, second = (
        ClusteringPairSettings("zorb", ["toy"], sample=40, seed=seed, validation=0.4).evaluators()[0]
        for seed in (1, 2)
    )
    names = [set(part.texts) | set(part.validation.texts) for part in (first, second)]
    assert names[0] != names[1]
    assert [part.get_config_dict()["validation_seed"] for part in (first, second)] == [1, 2]


def test_a_threshold_of_zero_is_a_threshold():
    """Catches 0 for none, with which the best threshold is searched."""
    (evaluator,) = ClusteringPairSettings("zorb", ["toy"], theta=0.0).evaluators()
    assert evaluator.get_config_dict()["theta"] == 0


def test_a_table_takes_its_place_and_the_published_way_wins(tmp_path: Path):
    (tmp_path / "terms.csv").write_text("term,concept\nflumpa,X1\nterkia,X1\nab,X2\n")
    (evaluator,) = ClusteringPairSettings("zorb", path=str(tmp_path / "terms.csv"), k=3).evaluators(as_published=True)
    assert (evaluator.as_published, evaluator.k, evaluator.short) == (True, 29, ["ab"])


@pytest.mark.parametrize("settings", [{}, {"sources": ["toy"], "path": "x.csv"}])
def test_terms_from_nowhere_or_two_places_are_refused(settings: dict):
    with pytest.raises(InputError, match="zorb: expected either a terminology"):
        ClusteringPairSettings("zorb", **settings).evaluators()


@pytest.mark.parametrize("settings", [{"languages": ["it"]}, {"below": ["X1"]}, {"sample": 5}])
def test_parts_of_a_terminology_are_refused_with_a_file(settings: dict):
    """Catches a setting that nothing reads."""
    with pytest.raises(InputError, match=f"zorb: all terms of a file are clustered; remove {next(iter(settings))}$"):
        ClusteringPairSettings("zorb", path="x.csv", **settings).evaluators()
