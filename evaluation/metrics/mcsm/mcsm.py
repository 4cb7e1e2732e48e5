"""Medical Conceptual Similarity Measure, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate
import numpy as np

from st_biomed.evaluators import MCSMEvaluator, table_embedder

_DESCRIPTION = """Are the nearest neighbors of a concept of its type? Discounted gain of the k nearest other concepts, by cosine, that have
a type of the concept; the mean of each type, over the types, and over all. With k = 40 the most there can be is 11.09."""
_INPUTS = """Args:
    predictions: Vector of each concept.
    references: Types of each concept, a list of names, which may be empty.
    k: Neighbors; 40 by default.

Returns:
    mcsm (mean over the types), mcsm_micro, maximum, share_of_maximum, n, n_untyped, and <type>/mcsm and <type>/n."""
_CITATION = """@article{choi2016learning,
    title={Learning low-dimensional representations of medical concepts},
    author={Choi, Youngduck and Chiu, Chill Yi-I and Sontag, David},
    journal={AMIA Summits on Translational Science Proceedings},
    year={2016}
}"""


class MCSM(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.List(datasets.Value("float64")),
                    "references": datasets.List(datasets.Value("string")),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references, k=40):
        names = [str(i) for i in range(len(predictions))]
        evaluator = MCSMEvaluator(names, references, k=k, n_bootstrap=0)
        return evaluator.measure(table_embedder(names, np.asarray(predictions)))
