"""What one model links and another does not, of the split that a linking benchmark measures in training.

python evaluation/lost_mentions.py ncbi_disease MiniLM out/sapbert_open/ms --data DATA
"""

from __future__ import annotations

import argparse
import os

from st_biomed.evaluators import EntityLinkingEvaluator
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.entity_linking.predictions import LinkingPredictions
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.leaderboard.models import LoadedModel, ModelSpec
from st_biomed.settings.recipe import run_recipe


def main() -> None:
    """Print what was looked up for each lost mention and the nearest name that the second model found instead."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("benchmark", help="name or file of a linking benchmark")
    parser.add_argument("first", help="a model, as st-biomed evaluate takes it")
    parser.add_argument("second", help="another one")
    parser.add_argument("--data", required=True, help="folder of the benchmark's data")
    arguments = parser.parse_args()
    os.environ["ST_BIOMED_DATA"] = arguments.data
    protocol = read_benchmark_settings(arguments.benchmark, LinkingSettings)
    evaluator = EntityLinkingEvaluator(protocol.prepared(protocol.open()), protocol.dev, bf16=True, n_bootstrap=0)
    first, second = predictions(evaluator, arguments.first), predictions(evaluator, arguments.second)
    lost, won = list(first.lost(second)), list(second.lost(first))
    for _, answer in lost:
        print(" | ".join(answer.mention.parts), "\t", " | ".join(part[0].name for part in answer.candidates))
    print(f"of {len(first)} mentions {len(lost)} are lost and {len(won)} won")


def predictions(evaluator: EntityLinkingEvaluator, model: str) -> LinkingPredictions:
    """A model's answers."""
    LoadedModel(ModelSpec.named(model)).measure(evaluator)
    assert evaluator.predictions is not None
    return evaluator.predictions


if __name__ == "__main__":
    run_recipe(main)
