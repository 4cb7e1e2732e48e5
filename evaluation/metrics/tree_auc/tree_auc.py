"""Tree discrimination, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate
import numpy as np

from st_biomed.errors import InputError
from st_biomed.metrics import discrimination

_DESCRIPTION = """How well the cosines of pairs tell one distance in a hierarchy from another: ROC-AUC, areas under the precision-recall
curve and rank correlation for every two distances, their mean AUC, and the rank correlation over all of them."""
_INPUTS = """Args:
    predictions: Cosine of each pair.
    references: Distance of each pair, whole numbers from 0.

Returns:
    auc_ivj, pr_auc_ivj, ap_ivj and spearman_ivj for distances i < j, mean_auc, spearman_global."""
_CITATION = """@article{cai2023hiprbert,
    title={Hierarchical Pretraining for Biomedical Term Embeddings},
    author={Cai, Bryan and Zeng, Sihang and Lin, Yucong and Yuan, Zheng and Zhou, Doudou and Tian, Lu},
    journal={arXiv preprint arXiv:2307.00266},
    year={2023}
}"""


class TreeAUC(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("float64"),
                    "references": datasets.Value("int64"),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references):
        if len(set(references)) < 2:
            raise InputError(f"references: expected two distances or more, found {len(set(references))}")
        return discrimination(np.asarray(predictions), np.asarray(references))
