"""What the Italian experiment measures and its training does not see: 30 % of the Italian ICD-9-CM, and what types are made of.

    python evaluation/italian_split.py out/italian/known out/italian/held

Whole categories are held out (the sub-trees of the benchmark ``icd9cm_it_tree``, 15 % for dev and 15 % for test), so that no
code of a category is trained on where another is measured. Writes into the second folder:

    train                 the terminology without the held-out concepts, their names and edges, and without the chapters, which
                          are the types of MCSM; its graph has none of them
    names                 the held-out concepts with their Italian names
    types.tsv             the chapter of each of them
    mcsm_held.yaml, clustering_held.yaml, tree_held.yaml     benchmarks of these names; trees are measured on the 15 % of test

A terminology of another source, HPO in the experiment, is unseen where it is not part of the first folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.data_folder import open_terminology
from st_biomed.evaluators.mcsm.settings import MCSMSettings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.files import check_writable
from st_biomed.hierarchy import Hierarchy
from st_biomed.hierarchy.concept_types import ConceptTypes
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training_data import split_by_subtree
from st_biomed.training_data.held_out_concepts import TRAIN

SHARE = 0.15


@dataclass(frozen=True)
class HeldOut:
    """A terminology in two parts.

    Attributes:
        train: What is trained on.
        names: The held-out concepts with their names in the measured language.
        types: Code and type of each of them that has one, sorted.
        counts: What was held out, by name.
    """

    train: Terminology
    names: Terminology
    types: list[tuple[str, str]]
    counts: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("terminology", help="folder of the merged terminology")
    parser.add_argument("output", type=Path, help="folder of the parts and benchmarks")
    arguments = parser.parse_args()
    check_writable(arguments.output)
    trees = read_benchmark_settings("icd9cm_it_tree", TreeSettings)
    chapters = read_benchmark_settings("mcsm_icd9_it", MCSMSettings).branches
    hierarchy = Hierarchy(open_terminology(trees.sources))
    held = hold_out(Terminology.load(arguments.terminology), hierarchy, chapters, depth=trees.depth, seed=trees.seed)
    write(held, arguments.output, trees)
    print("\n".join(f"{n:9,} {what}" for what, n in held.counts.items()))
    print(f"{held.train!r}\n{held.names!r}\nsaved to {arguments.output}")


def hold_out(
    terminology: Terminology,
    hierarchy: Hierarchy,
    types: Collection[str],
    *,
    depth: int,
    share: float = SHARE,
    seed: int = 0,
    language: str = "it",
) -> HeldOut:
    """Hold out sub-trees of a hierarchy from a larger terminology, and the nodes that are types.

    A concept of the larger terminology that is not in the hierarchy goes with the sub-tree that has its code up to the dot.
    It is not measured. A string that is a name of a held-out concept, ignoring case, is no name of any other.

    Args:
        terminology: The terminology to train on, with the codes of the hierarchy.
        hierarchy: The concepts to hold out and their parents.
        types: Codes whose branches are types.
        depth: Depth of the roots of the sub-trees.
        share: Share of the sub-trees for dev, and again for test.
        seed: Seed of the draw.
        language: Language of the measured names.

    Raises:
        InputError: As :func:`split_by_subtree`, or no held-out concept is in the terminology.
    """
    tree = hierarchy.terminology
    side = split_by_subtree(hierarchy, depth=depth, dev=share, test=share, seed=seed).concept_split
    drawn = {tree.codes[concept] for concept in np.flatnonzero(side != TRAIN).tolist()}
    own, kinds = {*tree.codes}, {*types}
    measured = np.array([code in drawn for code in terminology.codes])
    beside = np.array([code not in own and code.partition(".")[0] in drawn for code in terminology.codes])
    typed = np.array([code in kinds for code in terminology.codes])
    if not measured.any():
        raise InputError(
            f"terminology: has none of {len(drawn):,} held-out concepts; their codes look like {min(drawn)!r}, its codes "
            f"like {terminology.codes[0]!r}"
        )
    gone = measured | beside | typed
    concept, text = (terminology.terms[column].to_numpy() for column in ("concept", "text"))
    lower = pc.utf8_lower(terminology.texts["text"].combine_chunks())
    held_texts = pa.array(np.unique(text[(measured | beside)[concept]]))
    shared = pc.is_in(lower, value_set=lower.take(held_texts)).to_numpy(zero_copy_only=False)
    train = terminology.subset(~gone, texts=~shared)
    names = terminology.subset(measured, languages=[language])
    branches = ConceptTypes.from_branches(hierarchy, [code for code in types if code in own]).for_codes(names.codes)
    rows = [(code, branches.names[kind]) for i, code in enumerate(names.codes) for kind in branches.types.row(i)]
    ends = np.stack([terminology.parents[end].to_numpy() for end in ("child", "parent")])
    counts = {
        "concepts of the terminology": terminology.n_concepts,
        "held-out concepts": int(measured.sum()),
        "held-out concepts that are not in the hierarchy": int(beside.sum()),
        "types": int(typed.sum()),
        "parents with a held-out concept": int((measured | beside)[ends].any(axis=0).sum()),
        "parents that are types, of other concepts": int((typed[ends[1]] & ~(measured | beside)[ends[0]]).sum()),
        "terms of other concepts with a held-out name": int((shared[text] & ~gone[concept]).sum()),
        "concepts to train on": train.n_concepts,
    }
    return HeldOut(train, names, sorted(rows), counts)


def write(held: HeldOut, folder: Path, trees: TreeSettings) -> None:
    """The parts and their benchmarks."""
    held.train.save(folder / "train")
    held.names.save(folder / "names")
    lines = ["code\ttype", *("\t".join(row) for row in held.types)]
    (folder / "types.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = {"sources": [str(folder / "names")]}
    split = {"depth": trees.depth, "dev": SHARE, "test": SHARE, "seed": trees.seed}
    own: dict[str, tuple[str, dict[str, Any]]] = {
        "mcsm": ("MCSM over", {**names, "types": folder / "types.tsv", "least_concepts": 20}),
        "clustering_pair": ("Synonyms of", {**names, "distinct": True, "validation": 0.3}),
        "tree": (
            "Tree discrimination on",
            {"sources": list(trees.sources), **split, "pairs_per_class": trees.pairs_per_class},
        ),
    }
    for evaluator, (title, settings) in own.items():
        write_benchmark(
            folder,
            f"{evaluator.partition('_')[0]}_held",
            evaluator=evaluator,
            title=f"{title} held-out categories of the Italian ICD-9-CM",
            language="it",
            settings=settings,
        )


if __name__ == "__main__":
    run_recipe(main)
