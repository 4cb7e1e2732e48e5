"""Accuracy of entity linking, for ``evaluate.load``; the figures are those of ``st_biomed.metrics``."""

from __future__ import annotations

import datasets
import evaluate
import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.metrics import first_hits, gold_of_mentions, linking_metrics

_DESCRIPTION = """Share of mentions with a right concept among the first k of a ranked list (acc@k), and the mean reciprocal rank. A
candidate with several ids is right if one of them is."""
_INPUTS = """Args:
    predictions: Ranked candidates of each mention, best first; several ids of a candidate are separated by "|".
    references: Gold ids of each mention: "," separates alternatives, "|" and "+" the concepts of a composite one, of
        which any counts. A mention without an id, e.g. "-1", is left out.
    ks: The k; 1 and 5 by default.

Returns:
    acc@k, mrr@K of the longest list, n mentions and n_nil left out."""
_CITATION = """@inproceedings{sung2020biosyn,
    title={Biomedical Entity Representations with Synonym Marginalization},
    author={Sung, Mujeen and Jeon, Hwisang and Lee, Jinhyuk and Kang, Jaewoo},
    booktitle={Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},
    year={2020}
}"""


class EntityLinkingAccuracy(evaluate.Metric):
    """See the description."""

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            inputs_description=_INPUTS,
            citation=_CITATION,
            features=datasets.Features(
                {
                    "predictions": datasets.List(datasets.Value("string")),
                    "references": datasets.Value("string"),
                }
            ),
            reference_urls=["https://pypi.org/project/st-biomed"],
        )

    def _compute(self, predictions, references, ks=(1, 5)):
        if len(predictions) != len(references):
            raise InputError(f"expected a list for each of {len(references)} references, found {len(predictions)}")
        place, rows, columns = {}, [], []
        entries = dict.fromkeys(candidate for candidates in predictions for candidate in candidates)
        for row, entry in enumerate(entries):
            for identifier in frozenset().union(*gold_groups(entry)):
                rows.append(row)
                columns.append(place.setdefault(identifier, len(place)))
        ids = CSR.from_pairs(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), len(entries))
        gold = gold_of_mentions([gold_groups(cell) for cell in references], [1] * len(references), place)
        number = {entry: row for row, entry in enumerate(entries)}
        depth = max([1, *ks, *map(len, predictions)])
        ranked = np.full((len(gold.owner), depth), -1)
        for row, mention in enumerate(gold.mentions[gold.owner]):
            found = [number[candidate] for candidate in predictions[mention]]
            ranked[row, : len(found)] = found
        metrics = linking_metrics(first_hits(ranked, ids, gold), gold, depth=depth, ks=tuple(ks), recall_ks=())
        return metrics | {"n": len(gold.mentions), "n_nil": gold.n_nil}
