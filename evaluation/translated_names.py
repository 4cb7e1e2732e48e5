"""A benchmark out of a terminology's translations: names in other languages of held-out concepts, linked to English ones.

python evaluation/translated_names.py out/bergamot/all HP: 500 out/bergamot es fr de it nl pt

Writes OUT/train, the terminology without them; OUT/translations-xx.tsv (mentions and ids), OUT/dictionary.txt (names of the
concepts whose codes begin as said) and OUT/translations-xx.yaml, a benchmark for each language, and OUT/translations.yaml of all.
"""

from __future__ import annotations

import sys
from pathlib import Path

from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology


def main() -> None:
    source, prefix, n_concepts, out, *languages = sys.argv[1:]
    folder = Path(out)
    held = hold_out_translations(
        Terminology.open(source), languages=languages, n_dev=100, n_test=int(n_concepts), prefix=prefix
    )
    held.train.save(folder / "train")
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


def write(folder: Path, name: str, described: str, mentions: list[str], language: str = "mul") -> None:
    """The mentions of a language, or of several, and their benchmark."""
    (folder / f"{name}.tsv").write_text("".join(mentions), encoding="utf-8")
    (folder / f"{name}.yaml").write_text(
        f"name: {name}\n"
        f"title: {len(mentions)} names in {described} of held-out concepts, linked to names in English\n"
        f"language: {language}\n"
        "evaluator: entity_linking\n"
        f"settings: {{format: tsv, path: {folder / name}.tsv, dictionary: {folder / 'dictionary.txt'}, "
        "dev: '', test: all}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    run_recipe(main)
