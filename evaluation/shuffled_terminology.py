"""A control of the open encoder: a terminology that knows nothing.

    python evaluation/shuffled_terminology.py out/open_terminology --output out/shuffled_terminology

It has the same concepts, hierarchy and relations, but every string names what another string named, and every definition is
that of another concept. An encoder that is trained on it shows what the training itself changes, whatever it is told.
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
from st_biomed.files import check_writable
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("terminology", type=Path, help="folder of `st-biomed unite`")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    check_writable(arguments.output)
    shuffled(Terminology.load(arguments.terminology), arguments.seed).save(arguments.output)
    print(arguments.output)


def shuffled(terminology: Terminology, seed: int) -> Terminology:
    """The terminology with its strings permuted, and its definitions permuted.

    Args:
        terminology: Any terminology.
        seed: Seed of both permutations.
    """
    rng = np.random.default_rng(seed)
    texts = pa.array(np.array(terminology.strings, dtype=object)[rng.permutation(terminology.n_texts)], pa.string())
    definitions = terminology.definitions
    if terminology.n_definitions:
        order = pa.array(rng.permutation(terminology.n_definitions))
        for column in ("text", "language", "source"):
            position = definitions.column_names.index(column)
            definitions = definitions.set_column(position, column, definitions[column].take(order))
    return rebuilt(terminology, texts=pa.table({"text": texts}), definitions=definitions)


if __name__ == "__main__":
    run_recipe(main)
