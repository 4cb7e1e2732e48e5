"""Term pairs in another language, by way of a terminology: a pair stays where both terms are names of concepts with one.

python evaluation/translate_pairs.py DATA/benchmarks_dev/similarity/MayoSRS.csv out/italian/all it out/italian/mayosrs_it

Writes PREFIX.csv (term1, term2, score) and PREFIX.yaml, a benchmark that measures it.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.errors import InputError
from st_biomed.evaluators import RelatednessEvaluator
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology

LEAST = 3
"""Pairs that a rank correlation needs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="file of term pairs with scores")
    parser.add_argument("source", help="the terminology")
    parser.add_argument("language", help="two letters")
    parser.add_argument("prefix", type=Path, help="of the two files")
    arguments = parser.parse_args()
    pairs, language, out = arguments.pairs, arguments.language, arguments.prefix
    terminology = Terminology.open(arguments.source)
    translated = names_in(terminology, language)
    measured = RelatednessEvaluator.from_file(pairs)
    rows = []
    for left, right, score in zip(measured.left.tolist(), measured.right.tolist(), measured.scores.tolist()):
        both = [translated.get(measured.texts[term].lower()) for term in (left, right)]
        if all(both):
            rows.append([*both, score])
    if len(rows) < LEAST:
        raise InputError(
            f"{pairs}: {len(rows)} of {len(measured.scores)} pairs have both terms in {language!r}, expected {LEAST} or more"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    table = out.with_name(f"{out.name}.csv")
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["term1", "term2", "score"], *rows])
    write_benchmark(
        out.parent,
        out.name,
        evaluator="relatedness",
        title=f"{pairs.stem}, the {len(rows)} pairs whose terms {terminology!r} names in {language!r}",
        language=language,
        settings={"path": table},
    )
    print(f"{len(rows)} of {len(measured.scores)} pairs have both terms in {language!r}: {out}.csv, {out}.yaml")


def names_in(terminology: Terminology, language: str) -> dict[str, str]:
    """Any name of a concept in lower case to its preferred name in a language; of an ambiguous name the first concept's."""
    own = terminology.subset(languages=[language])
    preferred = {code: own.strings[int(text)] for code, text in zip(own.codes, own.preferred_texts) if text >= 0}
    found: dict[str, str] = {}
    codes, concepts = terminology.codes, terminology.text_concepts
    for text, name in enumerate(terminology.strings):
        known = [preferred[codes[int(concept)]] for concept in concepts.row(text) if codes[int(concept)] in preferred]
        if known:
            found.setdefault(name.lower(), known[0])
    return found


if __name__ == "__main__":
    run_recipe(main)
