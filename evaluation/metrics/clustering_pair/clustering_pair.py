"""Clustering pairs, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate
import numpy as np

from st_biomed.evaluators import ClusteringPairEvaluator, table_embedder

_DESCRIPTION = """Are two terms of one concept found by a threshold on their cosine? Precision, recall and F1 at the best threshold, or at a
given one, over all pairs of terms."""
_INPUTS = """Args:
    predictions: Vector of each term.
    references: Concept of each term.
    theta: The threshold; by default the one with the best F1.

Returns:
    f1, precision, recall, theta, pr_auc, average_precision, and counts."""
_CITATION = """@inproceedings{zeng2022automatic,
    title={Automatic Biomedical Term Clustering by Learning Fine-grained Term Representations},
    author={Zeng, Sihang and Yuan, Zheng and Yu, Sheng},
    booktitle={Proceedings of the 21st Workshop on Biomedical Language Processing},
    year={2022}
}"""


class ClusteringPair(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.List(datasets.Value("float64")),
                    "references": datasets.Value("string"),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references, theta=None):
        terms = [f"term {i}" for i in range(len(predictions))]
        evaluator = ClusteringPairEvaluator(terms, references, theta=theta, n_bootstrap=0)
        return evaluator.measure(table_embedder(terms, np.asarray(predictions)))
