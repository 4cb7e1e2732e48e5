"""HiPrBERT's test of relations on open data: relations of concepts that no trained relation has, and a control of those trained.

    python evaluation/hiprbert_relations.py out/hiprbert/ncit out/hiprbert/relations

A share of the concepts is drawn. The pairs that are measured have two of them, those of training none (HiPrBERT, section 4.2). Names
and hierarchy stay. Writes into the second folder:

    train             the terminology without the relations of these concepts
    shuffled          the same; every relation keeps its heads and tails, and each head has the tail of another
    relations.yaml    benchmark of the held-out pairs against pairs of any two held-out concepts; pairs.txt has them
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from evaluation.rebuilt import rebuilt
from st_biomed.errors import InputError
from st_biomed.evaluators.relation.arguments import RelationArguments
from st_biomed.files import check_writable
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology

SHARE = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("terminology", type=Path, help="folder of `st-biomed read`")
    parser.add_argument("output", type=Path, help="folder of the parts and the benchmark")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder: Path = arguments.output
    check_writable(folder)
    terminology = Terminology.load(arguments.terminology)
    drawn = np.random.default_rng(arguments.seed).random(terminology.n_concepts) < SHARE
    train, measured = RelationArguments().hold_out_relations(terminology, terminology, drawn, arguments.seed)
    if measured is None:
        raise InputError(f"{arguments.terminology}: no relation has enough pairs of held-out concepts")
    train.save(folder / "train")
    shuffled(train, arguments.seed).save(folder / "shuffled")
    measured.to_file(folder / "pairs.txt")
    write_benchmark(
        folder,
        "relations",
        evaluator="relation",
        title="Relations of concepts that no trained relation has, against unrelated pairs",
        language="en",
        settings={"pairs": folder / "pairs.txt"},
    )
    pairs = {name: len(rows) for name, rows in measured.positives.items()}
    print(f"{terminology!r}\ntrained on: {train!r}")
    print(f"{sum(pairs.values()):,} pairs of {len(pairs)} relations: {pairs}")


def shuffled(terminology: Terminology, seed: int) -> Terminology:
    """The terminology with the tails of each relation permuted; a pair with itself or that is there twice is lost."""
    relations = terminology.relations
    kinds = relations["relation"].unify_dictionaries().combine_chunks().indices.to_numpy()
    tails = relations["tail"].to_numpy().copy()
    random = np.random.default_rng(seed)
    for kind in np.unique(kinds):
        tails[kinds == kind] = random.permutation(tails[kinds == kind])
    at = relations.column_names.index("tail")
    return rebuilt(terminology, relations=relations.set_column(at, "tail", pa.array(tails, pa.int32())))


if __name__ == "__main__":
    run_recipe(main)
