"""Drugs and diseases that they treat, against the same drugs with other diseases: a benchmark out of drug_indications.tsv.

    python evaluation/drug_indications.py out/drug_indications

The pairs were written down for this project from general knowledge; they are rows of no terminology. Writes OUT/pairs.txt and
OUT/drug_indications.yaml. Each drug has ``OTHERS`` random diseases of the same list, of which none is listed with it. The list is
short, so some of these are treated by the drug, too: figures compare models with each other.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.evaluators.relation.file import RANDOM, write_pairs
from st_biomed.files.delimited import read_table
from st_biomed.settings.recipe import run_recipe

INDICATIONS = Path(__file__).with_suffix(".tsv")
TREATS = "treats"
OTHERS = 20
"""Other diseases of each drug."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the benchmark")
    folder: Path = parser.parse_args().folder
    treated = [
        (drug, disease) for _, (drug, disease) in read_table(INDICATIONS, dialect="tsv", header=["drug", "disease"])
    ]
    pairs = {TREATS: treated, RANDOM: others(treated)}
    folder.mkdir(parents=True, exist_ok=True)
    write_pairs(folder / "pairs.txt", pairs)
    write_benchmark(
        folder,
        "drug_indications",
        evaluator="relation",
        title=f"{len(treated)} drugs and diseases that they treat, against the drugs with other diseases",
        language="en",
        settings={"pairs": folder / "pairs.txt"},
    )
    print(f"{len(treated):,} pairs, and {len(pairs[RANDOM]):,} of the same drugs with other diseases")


def others(treated: list[tuple[str, str]], n: int = OTHERS, seed: int = 0) -> list[tuple[str, str]]:
    """Each drug with ``n`` diseases that are not listed with it."""
    of_drug: defaultdict[str, set[str]] = defaultdict(set)
    for drug, disease in treated:
        of_drug[drug].add(disease)
    diseases = sorted({disease for _, disease in treated})
    drawn = random.Random(seed)
    return [
        (drug, disease)
        for drug, own in of_drug.items()
        for disease in drawn.sample([one for one in diseases if one not in own], n)
    ]


if __name__ == "__main__":
    run_recipe(main)
