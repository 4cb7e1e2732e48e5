"""The control of a hierarchy: the same tree, with the concepts of training at other places in it.

    python evaluation/hiprbert_shuffled.py out/hiprbert/phecode evaluation/hiprbert_codes.yaml --output out/hiprbert/shuffled

The roots of the held-out sub-trees stay what they are, with all that is below them. Every other concept takes the place of
another, with its names. A gain that training on this terminology brings, too, is not one of knowledge of the hierarchy.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.rebuilt import rebuilt
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.files import check_writable
from st_biomed.hierarchy import Hierarchy
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training_data.held_out_concepts import TRAIN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("terminology", type=Path, help="folder of `st-biomed read`")
    parser.add_argument("benchmark", help="tree benchmark whose sub-trees are held out")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    check_writable(arguments.output)
    terminology = Terminology.load(arguments.terminology)
    held_out = read_benchmark_settings(arguments.benchmark, TreeSettings).hold_out(Hierarchy(terminology)).splits
    shuffled(terminology, held_out.concept_split == TRAIN, arguments.seed).save(arguments.output)
    print(arguments.output)


def shuffled(terminology: Terminology, movable: np.ndarray, seed: int) -> Terminology:
    """The terminology with some of its concepts at the places of others in its hierarchy.

    Args:
        terminology: Any terminology.
        movable: Which concepts change places, bool ``[C]``. The hierarchy has the same shape, and the edges between all
            others stay.
        seed: Seed of the permutation.
    """
    place = np.arange(terminology.n_concepts)
    place[movable] = np.random.default_rng(seed).permutation(place[movable])
    parents = terminology.parents
    for position, column in enumerate(parents.column_names):
        if column in ("child", "parent"):
            placed = pa.array(place[parents[column].to_numpy()], pa.int32())
            parents = parents.set_column(position, column, placed)
    return rebuilt(terminology, parents=parents)


if __name__ == "__main__":
    run_recipe(main)
