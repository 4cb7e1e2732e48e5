"""Relatedness of term pairs, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate

from st_biomed.metrics import spearman

_DESCRIPTION = """Rank correlation between the cosines of term pairs and the scores that people gave them (MayoSRS, UMNSRS, EHR-RelB).
Ties have their average rank; a constant side gives 0."""
_INPUTS = """Args:
    predictions: Cosine of each pair.
    references: Score of each pair, larger for more related.

Returns:
    spearman, and n, the number of pairs."""
_CITATION = """@article{pakhomov2011mayosrs,
    title={Towards a framework for developing semantic relatedness reference standards},
    author={Pakhomov, Serguei V.S. and Pedersen, Ted and McInnes, Bridget and Melton, Genevieve B. and Ruggieri, Alexander and Chute, Christopher G.},
    journal={Journal of Biomedical Informatics},
    volume={44},
    year={2011}
}"""


class SRSSpearman(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("float64"),
                    "references": datasets.Value("float64"),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references):
        return {"spearman": spearman(predictions, references), "n": len(predictions)}
