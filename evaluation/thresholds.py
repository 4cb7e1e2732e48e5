"""What a threshold of the score keeps: links and right links of the dev mentions of a linking benchmark.

python evaluation/thresholds.py ncbi_disease MiniLM out/open_encoder --data DATA
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.lost_mentions import predictions
from st_biomed.evaluators import EntityLinkingEvaluator
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.entity_linking.predictions import LinkingPredictions
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.settings.recipe import run_recipe

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)


class Kept(NamedTuple):
    """What a threshold keeps.

    Attributes:
        linked: Share of the mentions that are linked.
        right: Share of these that are right.
        unknown_linked: Share of the mentions that would be linked if the dictionary had no name of their concept: all
            of these links would be wrong.
    """

    linked: float
    right: float
    unknown_linked: float


def kept(found: LinkingPredictions, threshold: float) -> Kept:
    """What a threshold keeps of the answers. A mention of several parts has the score of its worst part.

    Args:
        found: Answers to N mentions, with K candidates each. Where all K are of the right concept, the last one's score
            is taken for that of the best wrong name.
        threshold: Least score of a link.
    """
    best, wrong = np.empty(len(found)), np.empty(len(found))
    for i, answer in enumerate(found):
        gold = set(answer.mention.ids)
        best[i] = min(part[0].score for part in answer.candidates)
        others = ([one.score for one in part if not gold & {*one.ids}] for part in answer.candidates)
        wrong[i] = min(scores[0] if scores else part[-1].score for scores, part in zip(others, answer.candidates))
    linked = best >= threshold
    right = float((found.ranks[linked] <= 1).mean()) if linked.any() else float("nan")
    return Kept(float(linked.mean()), right, float((wrong >= threshold).mean()))


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("benchmark", help="name or file of a linking benchmark with a dev split")
    parser.add_argument("models", nargs="+", help="models, as st-biomed evaluate takes them")
    parser.add_argument("--data", required=True, help="folder of the benchmark's data")
    arguments = parser.parse_args()
    os.environ["ST_BIOMED_DATA"] = arguments.data
    protocol = read_benchmark_settings(arguments.benchmark, LinkingSettings)
    evaluator = EntityLinkingEvaluator(protocol.prepared(protocol.open()), protocol.dev, bf16=True, n_bootstrap=0)
    for model in arguments.models:
        found = predictions(evaluator, model)
        print(f"\n{model}, {len(found)} mentions\n\n| threshold | linked | right, of those | linked though unknown |")
        print("|---|---|---|---|")
        for threshold in THRESHOLDS:
            row = kept(found, threshold)
            print(f"| {threshold} | {row.linked:.3f} | {row.right:.3f} | {row.unknown_linked:.3f} |")


if __name__ == "__main__":
    run_recipe(main)
