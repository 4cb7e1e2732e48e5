"""The check that no licensed name leaves: a million terms that may not be redistributed against a release folder.

Needs the packages of the quickstart.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Table
from st_biomed.encoder import PACKAGED, load_encoder
from st_biomed.records import Definition, Record, SourceInfo, Term
from st_biomed.release.definition_search import NGRAM_WORDS
from st_biomed.release.name_kinds import count_kinds
from st_biomed.release.privacy import judge
from st_biomed.terminology import Terminology

WORDS = 20_000


def invented(n_terms: int, rng: np.random.Generator) -> Terminology:
    """Names of two to six invented words from one source that may not be redistributed."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(3, 12, WORDS)]
    drawn = rng.integers(0, WORDS, (n_terms, 6))
    sizes = rng.integers(2, 7, n_terms)
    names = (" ".join(words[j] for j in row[:size]) for row, size in zip(drawn.tolist(), sizes.tolist()))
    records = (Term(f"I:{i}", name) for i, name in enumerate(names))
    return Terminology.from_records(records, SourceInfo("INVENTED", "Invented names"))


def defined(n_definitions: int, rng: np.random.Generator) -> Terminology:
    """Definitions of 5 to 45 invented words from one source that may not be redistributed."""
    words = np.array([f"wo{i:x}rd" for i in range(WORDS)])
    sizes = rng.integers(5, 46, n_definitions)
    records: list[Record] = [Term("I:0", "invented")]
    records += [Definition("I:0", " ".join(words[rng.integers(WORDS, size=size)])) for size in sizes.tolist()]
    return Terminology.from_records(records, SourceInfo("INVENTED", "Invented definitions"))


def cuts(definitions: Terminology, n_cuts: int, rng: np.random.Generator) -> list[str]:
    """Eight words out of the middle of some definitions that have as many."""
    long = [text.split() for text in definitions.definition_strings if len(text.split()) >= NGRAM_WORDS + 2]
    return [" ".join(long[i][1 : NGRAM_WORDS + 1]) for i in rng.choice(len(long), n_cuts, replace=False)]


def plant(folder: Path, terms: list[str]) -> int:
    """Put terms into every kind of file of a release that holds text; how many were put there."""
    planted = iter(terms)
    for path in sorted(folder.rglob("*.json")):
        value = json.loads(path.read_text("utf-8"))
        if isinstance(value, dict):
            path.write_text(json.dumps({**value, "planted": [f"see {next(planted)}, and so on"]}), "utf-8")
        else:
            path.write_text(json.dumps([*value, {"planted": next(planted)}]), "utf-8")
    card = folder / "README.md"
    card.write_text(f"{card.read_text('utf-8')}\n* {next(planted).upper().replace(' ', '  ')}\n", "utf-8")
    (folder / f"{next(planted).replace(' ', '_')}.json").write_text("{}", "utf-8")
    return len(terms) - len(list(planted))


def main(quick: bool = False) -> Table:
    """Measure an honest folder and one in which terms, or parts of definitions, were planted."""
    n_terms = 10_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    terminology = invented(n_terms, rng)
    terms = [terminology.strings[i] for i in rng.choice(terminology.n_texts, 50, replace=False)]
    definitions = defined(n_terms // 2, rng)
    parts = cuts(definitions, 50, rng)
    model = load_encoder(PACKAGED)
    rows = []
    for kind, searched, phrases in (
        ("honest", terminology, []),
        ("planted", terminology, terms),
        ("honest, definitions", definitions, []),
        ("planted, definitions", definitions, parts),
    ):
        with tempfile.TemporaryDirectory() as home:
            folder, base = Path(home) / "release", Path(home) / "base"
            model.save_pretrained(str(folder))
            model.save_pretrained(str(base))
            count = plant(folder, phrases) if phrases else 0
            start = time.perf_counter()
            breaches = judge(folder, [searched], base).breaches
            seconds = time.perf_counter() - start
        found = sum(any(phrase in breach for breach in breaches) for phrase in phrases[:count])
        rows.append([kind, len(breaches), f"{found} of {count}", f"{seconds:.1f} s"])
    start = time.perf_counter()
    count_kinds([terminology])
    rows.append(["names counted by kind and source", "", "", f"{time.perf_counter() - start:.1f} s"])
    return Table(
        "The privacy gate over a million licensed names",
        ["folder", "breaches", "planted found", "time"],
        rows,
        [
            f"`judge` over all-MiniLM-L6-v2 as it is saved, against {terminology.n_texts:,} invented names of two to six "
            "words that may not be redistributed; a term is planted in every file that holds text, in capitals in the card, "
            f"and in the name of a file. Then the same against {definitions.n_definitions:,} invented definitions of 5 to 45 words; "
            f"planted are {NGRAM_WORDS} words out of the middle of some. Goal: a minute."
        ],
    )


if __name__ == "__main__":
    print(main().markdown())
