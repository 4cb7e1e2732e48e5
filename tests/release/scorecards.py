"""An invented scorecard of a model."""

from __future__ import annotations

from typing import Any

from st_biomed.release.scorecard_data import DifferenceData, ScorecardData


def difference(
    benchmark: str, outcome: str, family: str = "relatedness", metric: str = "spearman", **more: Any
) -> DifferenceData:
    value = {"gained": 0.1, "kept": 0.0, "lost": -0.1}[outcome]
    data = {
        "benchmark": benchmark,
        "family": family,
        "language": "en",
        "metric": metric,
        "outcome": outcome,
        "in_domain": [],
        "value": 0.5 + value,
        "base": 0.5,
        "difference": value,
        "low": value - 0.05,
        "high": value + 0.05,
        "p": 0.5 if outcome == "kept" else 0.02,
        "p_holm": 1.0 if outcome == "kept" else 0.08,
        "n": 101,
        "unit": "pair",
    }
    return {**data, **more}  # type: ignore[typeddict-item]


def scorecard(digest: str = "d", model: str = "mine", base: str = "example/tiny-bert", **more: Any) -> ScorecardData:
    rows = [
        difference("flumpa_links", "gained", "linking", "acc@1", p_holm=0.01),
        difference("mayosrs", "lost"),
        difference("hpo_tree", "gained", "hierarchy", "mean_auc", in_domain=["ZORB"]),
        difference("mcsm_it", "kept", "other languages", "mcsm", language="it"),
    ]
    data = {
        "model": model,
        "model_digest": digest,
        "base": base,
        "base_digest": f"{base}-digest",
        "base_pooling": "mean",
        "base_max_length": 32,
        "alpha": 0.05,
        "draws": 1000,
        "draws_seed": 0,
        "as_published": False,
        "recorded": True,
        "benchmarks": rows,
        "not_compared": [],
    }
    return {**data, **more}  # type: ignore[typeddict-item]
