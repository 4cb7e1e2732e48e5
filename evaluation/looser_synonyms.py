"""Broader, narrower and related synonyms of an ontology, which no training reads, as mentions to link to its names.

    python evaluation/looser_synonyms.py obograph hp.json HP: out/open_terminology out/looser

Writes OUT/looser-hp.tsv (mentions and ids), OUT/looser-hp-names.txt (the exact names) and OUT/looser-hp.yaml, a benchmark. No
mention equals a name of the terminology that was trained on or an exact name, but for case and white space, and each is a
synonym of one concept.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.errors import InputError
from st_biomed.files import write_text
from st_biomed.linking_data.name_spellings import name_key
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology

SCOPES = "BROAD,NARROW,RELATED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=("obo", "obograph"), help="the reader of the ontology")
    parser.add_argument("ontology", help="its file")
    parser.add_argument("prefix", help="how the codes of its concepts begin, e.g. HP:")
    parser.add_argument("trained", help="the terminology that was trained on")
    parser.add_argument("folder", type=Path, help="folder of the benchmark")
    arguments = parser.parse_args()
    prefixes = arguments.prefix.rstrip(":")
    exact = Terminology.read(arguments.reader, arguments.ontology, prefixes=prefixes)
    looser = Terminology.read(arguments.reader, arguments.ontology, prefixes=prefixes, scopes=SCOPES)
    found = mentions(looser, exact, Terminology.open(arguments.trained))
    if not found:
        raise InputError(f"{arguments.ontology}: every synonym of {SCOPES} is a name that is trained on, or ambiguous")
    folder, name = arguments.folder, f"looser-{prefixes.lower()}"
    names = [f"{code}||{text}\n" for code, texts in named(exact).items() for text in texts]
    write_text(folder / f"{name}-names.txt", "".join(names))
    write_text(folder / f"{name}.tsv", "".join(f"{text}\t{code}\n" for text, code in found))
    write_benchmark(
        folder,
        name,
        evaluator="entity_linking",
        title=f"{len(found)} broader, narrower and related synonyms of {prefixes}, linked to its exact names",
        language="en",
        settings={
            "format": "tsv",
            "path": folder / f"{name}.tsv",
            "dictionary": folder / f"{name}-names.txt",
            "dev": "",
            "test": "all",
        },
    )
    print(f"{name}: {len(found):,} synonyms of {len({code for _, code in found}):,} concepts, {len(names):,} names")


def named(terminology: Terminology) -> dict[str, list[str]]:
    """The texts of each concept, by its code."""
    rows, strings = terminology.concept_texts, terminology.strings
    return {code: [strings[text] for text in rows.row(row)] for row, code in enumerate(terminology.codes)}


def mentions(looser: Terminology, exact: Terminology, trained: Terminology) -> list[tuple[str, str]]:
    """Synonyms of ``looser`` and the code of their only concept; no name of ``exact`` or ``trained`` is among them."""
    known = {name_key(text) for terminology in (exact, trained) for text in terminology.strings}
    codes: defaultdict[str, set[str]] = defaultdict(set)
    spelled: dict[str, str] = {}
    for code, texts in named(looser).items():
        for text in texts:
            key = name_key(text)
            if key not in known:
                codes[key].add(code)
                spelled.setdefault(key, text)
    return [(spelled[key], min(found)) for key, found in codes.items() if len(found) == 1]


if __name__ == "__main__":
    run_recipe(main)
