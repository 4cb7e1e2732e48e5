"""Names held out of the open encoder's training and linked to the others, by kind of concept, against the first model.

    python evaluation/names_by_kind.py MiniLM out/open_encoder -o out/names_by_kind.md

The names are those of both splits of the configuration (``--config``), which no run of it trains on. The kind of a concept
is that of the source of its code, or in MeSH the letter of its tree. Interval and p are those of a paired test over the
names, each of another concept.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformerTrainingArguments

sys.path.insert(0, str(Path(__file__).parents[1]))

from recipes import open_encoder
from recipes.open_encoder import OpenEncoderArguments
from st_biomed.encoder import computes_bf16
from st_biomed.errors import InputError
from st_biomed.evaluators import EntityLinkingEvaluator
from st_biomed.files import check_writable, write_text
from st_biomed.leaderboard.models import LoadedModel, named_models
from st_biomed.linking_data import LinkingDataset
from st_biomed.metrics.significance import Units
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology

SPLITS = ("dev", "test")
DISEASES, ANATOMY, CHEMICALS, PROCEDURES, OTHER = (
    "diseases and findings",
    "anatomy and cells",
    "chemicals and drugs",
    "procedures",
    "other",
)
KINDS = {
    **dict.fromkeys(
        ("DOID", "HP", "ORDO", "MONDO", "NCIT", "ICD10CM", "ICD9CM", "PHECODE", "CCS", "OMIM", "SYMP"), DISEASES
    ),
    **dict.fromkeys(("UBERON", "CL", "BTO", "CARO"), ANATOMY),
    **dict.fromkeys(("CHEBI", "DRUGBANK"), CHEMICALS),
    "MAXO": PROCEDURES,
}
"""Prefix of a code to the kind of its concept."""
TREES = {"A": ANATOMY, "C": DISEASES, "D": CHEMICALS, "E": PROCEDURES}
"""Letter of a tree of MeSH to the kind of its concepts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="the base model, then others, as st-biomed evaluate takes them")
    parser.add_argument(
        "--config", default="recipes/configs/open_encoder_english.yaml", help="what holds the names out"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the table")
    arguments = parser.parse_args()
    check_writable(arguments.output, file=True)
    recipe, training = read_settings((OpenEncoderArguments, SentenceTransformerTrainingArguments), [arguments.config])
    open_encoder.without_none(recipe)
    data = open_encoder.read(recipe, training)
    found = next((test for test in data.suite.tests if test.name == "held-out-names"), None)
    if not isinstance(found, EntityLinkingEvaluator):
        raise InputError(f"{arguments.config}: holds no names out (held_out_names)")
    dataset = found.dataset
    hits = {model.name: linked(dataset, LoadedModel(model).measure) for model in named_models(arguments.models)}
    text = table(hits, kinds_of(dataset, data.whole))
    print(text)
    write_text(arguments.output, text)


def linked(dataset: LinkingDataset, measure: Callable[[EntityLinkingEvaluator], object]) -> np.ndarray:
    """Whether the nearest name of the dictionary is one of the concept, 0 or 1, for the names of both splits, ``[N]``.

    Args:
        measure: Measures an evaluator with the vectors of a model.
    """
    found = []
    for split in SPLITS:
        evaluator = EntityLinkingEvaluator(
            dataset, split, name=f"names_{split}", n_bootstrap=0, bf16=computes_bf16(), show_progress_bar=False
        )
        measure(evaluator)
        found.append(evaluator.units["acc@1"].rows[:, 0])
    return np.concatenate(found)


def kinds_of(dataset: LinkingDataset, terminology: Terminology) -> list[str]:
    """The kind of each name of both splits."""
    of_concept: dict[int, set[str]] = {}
    for concept, letter in zip(*(terminology.types[name].to_pylist() for name in ("concept", "type"))):
        of_concept.setdefault(concept, set()).add(TREES.get(letter, OTHER))
    kinds = []
    for mention in (mention for split in SPLITS for mention in dataset.mentions[split]):
        (code,) = mention.ids
        trees = of_concept.get(terminology.concept(code), set()) - {OTHER}
        alone = trees.pop() if len(trees) == 1 else OTHER
        kinds.append(KINDS.get(code.partition(":")[0], alone))
    return kinds


def table(hits: Mapping[str, np.ndarray], kinds: Sequence[str]) -> str:
    """A row for each kind and model that is compared with the first, and one for all names."""
    (base, of_base), *others = hits.items()
    lines = [
        f"| names | number | model | {base} | acc@1 | difference (95% interval) | p |",
        "|---|--:|---|--:|--:|---|--:|",
    ]
    of_kind = np.array(kinds)
    for kind, number in [*Counter(kinds).most_common(), ("all", len(kinds))]:
        rows = np.full(len(kinds), True) if kind == "all" else of_kind == kind
        for name, of_model in others:
            ours, theirs = Units("name", of_model[rows]), Units("name", of_base[rows])
            test = ours.compare(theirs, n_resamples=1000)
            lines.append(
                f"| {kind} | {number:,} | {name} | {theirs.value:.3f} | {ours.value:.3f} | {test.difference:+.3f} "
                f"({test.low:+.3f} to {test.high:+.3f}) | {test.p_value:.3f} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_recipe(main)
