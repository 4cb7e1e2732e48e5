"""A benchmark out of a terminology's translations: names in other languages of held-out concepts, linked to English ones.

python evaluation/translated_names.py out/bergamot/all HP: 500 out/bergamot es fr de it nl pt

Writes OUT/train, the terminology without them; OUT/translations-xx.tsv (mentions and ids), OUT/dictionary.txt (names of the
concepts whose codes begin as said) and OUT/translations-xx.yaml, a benchmark for each language, and OUT/translations.yaml of all.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="the terminology")
    parser.add_argument("prefix", help="how the codes of the concepts begin, e.g. HP:")
    parser.add_argument("n_concepts", type=int, help="concepts that are measured")
    parser.add_argument("folder", type=Path, help="folder of the benchmark")
    parser.add_argument("languages", nargs="+", help="two letters each")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    held = hold_out_translations(
        Terminology.open(arguments.source),
        languages=arguments.languages,
        n_dev=100,
        n_test=arguments.n_concepts,
        prefix=arguments.prefix,
    )
    folder.mkdir(parents=True, exist_ok=True)
    every: list[str] = []
    for language, dataset in held.datasets.items():
        mentions = [f"{mention.text}\t{min(mention.ids)}\n" for mention in dataset.split("test")]
        write(folder, dataset.name, repr(language), mentions, language)
        every += mentions
        print(f"{dataset.name}: {len(mentions)} names, {len(dataset.dictionary):,} in the dictionary")
    write(folder, "translations", "all languages", every)
    dictionary = next(iter(held.datasets.values())).dictionary
    lines = [f"{identifier}||{name}\n" for name, ids in dictionary.entries() for identifier in ids]
    (folder / "dictionary.txt").write_text("".join(lines), encoding="utf-8")
    held.train.save(folder / "train")  # last: scripts take it for the sign that all is there


def write(folder: Path, name: str, described: str, mentions: list[str], language: str = "mul") -> None:
    """The mentions of a language, or of several, and their benchmark."""
    (folder / f"{name}.tsv").write_text("".join(mentions), encoding="utf-8")
    data = {"format": "tsv", "path": folder / f"{name}.tsv", "dictionary": folder / "dictionary.txt"}
    write_benchmark(
        folder,
        name,
        evaluator="entity_linking",
        title=f"{len(mentions)} names in {described} of held-out concepts, linked to names in English",
        language=language,
        settings={**data, "dev": "", "test": "all"},
    )


if __name__ == "__main__":
    run_recipe(main)
