"""Relation AUC, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate

from st_biomed.errors import InputError
from st_biomed.metrics import relation_metrics

_DESCRIPTION = """ROC-AUC of the cosines of each relation's pairs against those of one set of unrelated pairs, and the mean over relations."""
_INPUTS = """Args:
    predictions: Cosine of each pair.
    references: Relation of each pair, or "random" for an unrelated one.

Returns:
    macro_auc, and <relation>/auc and <relation>/n of each relation."""
_CITATION = """@article{cai2023hiprbert,
    title={Hierarchical Pretraining for Biomedical Term Embeddings},
    author={Cai, Bryan and Zeng, Sihang and Lin, Yucong and Yuan, Zheng and Zhou, Doudou and Tian, Lu},
    journal={arXiv preprint arXiv:2307.00266},
    year={2023}
}"""


class RelationAUC(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("float64"),
                    "references": datasets.Value("string"),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references):
        of_relation = {}
        for cosine, relation in zip(predictions, references):
            of_relation.setdefault(relation, []).append(cosine)
        negatives = of_relation.pop("random", [])
        if not negatives:
            raise InputError("references: at least one pair has to be 'random', found none")
        return relation_metrics(of_relation, negatives)
