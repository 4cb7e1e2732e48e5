"""A META folder of any size with invented content, nasty in the ways real ones are.

    python -m benchmarks.synthetic_umls FOLDER --names 17000000 --relations 20000000

Names hold double quotes, double pipes are not possible inside a cell but empty cells are, and there are characters outside
ASCII, "NA" and "null" as names, CRLF line ends, concepts of a hundred names, names of several concepts, suppressed
names, merged concepts and trade names.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.synthetic_words import invented_words
from st_biomed.readers.umls.folder import COLUMNS

_SOURCES = ("SRCA", "SRCB", "SRCC", "SRCD", "SRCE", "SRCF")
_LANGUAGES = ("ENG", "ENG", "ENG", "ENG", "ENG", "ENG", "ENG", "SPA", "ITA", "FRE")
_TYPES = ("T047|B2.2.1.2.1|Disease", "T121|A1.4.1.1.1|Substance", "T061|B1.3.1.3|Procedure", "T023|A1.2.3.1|Organ")
_RELATIONS = (
    "has_part",
    "part_of",
    "has_site",
    "site_of",
    "treats",
    "treated_by",
    "",
    "",
    "has_tradename",
    "tradename_of",
)
_NASTY = (
    '5" needle',
    "NA",
    "null",
    "naïve Ärzte",
    "İzmir ΣΑΣ",
    "  padded ",
    '"quoted"',
    "tab\there",
    "100%",
    "a, b; c",
)
_NAMES_PER_CONCEPT = 4.25  # on average; one in 100,000 concepts has a hundred
_BLOCK = 200_000


def write_meta(folder: Path, names: int, relations: int) -> Path:
    """Write MRCONSO, MRREL, MRSTY, MRCUI, MRDEF, MRSAB and, with their numbers of rows and bytes, MRFILES.

    Args:
        folder: Where to.
        names: Rows of MRCONSO.
        relations: Rows of MRREL.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    n_concepts = max(1, int(names / _NAMES_PER_CONCEPT))
    with (folder / "MRCONSO.RRF").open("w", encoding="utf-8", newline="\r\n") as file:
        for text in _names(rng, names, n_concepts):
            file.write(text)
    with (folder / "MRREL.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for text in _relations(rng, relations, n_concepts):
            file.write(text)
    with (folder / "MRSTY.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for start in range(1, n_concepts + 1, _BLOCK):
            stop = min(start + _BLOCK, n_concepts + 1)
            kinds = rng.integers(len(_TYPES), size=stop - start).tolist()
            file.write("".join(f"C{c:07d}|{_TYPES[k]}|AT{c:08d}||\n" for c, k in zip(range(start, stop), kinds)))
    with (folder / "MRCUI.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for i in range(n_concepts // 50):
            file.write(f"C{n_concepts + 1 + i:07d}|2020AA|SY|||C{1 + i * 7 % n_concepts:07d}|Y|\n")
    with (folder / "MRSAB.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for i, source in enumerate(_SOURCES):
            level = 0 if i % 2 else 3
            file.write(
                f"C{i:07d}|C{i:07d}|{source}_2|{source}|Vocabulary {source}||2|||2020AA||||{level}|1|1||||ENG|UTF-8|Y|Y|||\n"
            )
    n_definitions = names // 34  # as many to a name as UMLS has
    with (folder / "MRDEF.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for text in _definitions(rng, n_definitions, n_concepts):
            file.write(text)
    n_rows = {
        "MRCONSO": names,
        "MRREL": relations,
        "MRSTY": n_concepts,
        "MRCUI": n_concepts // 50,
        "MRDEF": n_definitions,
        "MRSAB": len(_SOURCES),
    }
    with (folder / "MRFILES.RRF").open("w", encoding="utf-8", newline="\n") as file:
        for name, rows in n_rows.items():
            columns = COLUMNS[name].split()
            size = (folder / f"{name}.RRF").stat().st_size
            file.write(f"{name}.RRF|{name}|{','.join(columns)}|{len(columns)}|{rows}|{size}|\n")
    return folder


def _names(rng: np.random.Generator, n_rows: int, n_concepts: int) -> Iterator[str]:
    """Lines of MRCONSO in the order of the concepts."""
    words = invented_words(rng)
    counts = np.minimum(rng.geometric(n_concepts / n_rows, size=n_concepts), 60)
    counts[:: max(1, 100_000)] = 100
    concept_of = np.repeat(np.arange(1, n_concepts + 1), counts)[:n_rows]
    extra = n_rows - len(concept_of)
    concept_of = np.concatenate([concept_of, np.sort(rng.integers(1, n_concepts + 1, size=extra))])
    concept_of.sort(kind="stable")
    for start in range(0, n_rows, _BLOCK):
        concepts = concept_of[start : start + _BLOCK].tolist()
        size = len(concepts)
        word = rng.integers(len(words), size=(size, 5)).tolist()
        length = rng.integers(1, 6, size=size).tolist()
        pick = rng.integers(10_000, size=size).tolist()
        first = [True, *(a != b for a, b in itertools.pairwise(concepts))]
        lines = []
        for i, concept in enumerate(concepts):
            p = pick[i]
            name = " ".join(words[w] for w in word[i][: length[i]])
            if p < 50:
                name = f"{_NASTY[p % len(_NASTY)]} {name}" if p > 2 else _NASTY[p]
            n, lead = start + i, first[i]
            lines.append(
                f"C{concept:07d}|{_LANGUAGES[p % 10]}|{'P' if lead else 'S'}|L{n:08d}|{'PF' if lead else 'VO'}|S{n:08d}|"
                f"{'Y' if lead else 'N'}|A{n:08d}||{n}||{_SOURCES[p % 6]}|{'PT' if lead else 'SY'}|{n}|{name}|0|"
                f"{'O' if p % 25 == 7 else 'N'}||\n"
            )
        yield "".join(lines)


def _relations(rng: np.random.Generator, n_rows: int, n_concepts: int) -> Iterator[str]:
    """Lines of MRREL in the order of the first concept: a fifth parents and children, the rest relations."""
    for start in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - start)
        low = 1 + start * n_concepts // n_rows
        high = max(low + 1, 1 + (start + size) * n_concepts // n_rows)
        left = np.sort(rng.integers(low, high, size=size)).tolist()
        right = rng.integers(1, n_concepts + 1, size=size).tolist()
        pick = rng.integers(100, size=size).tolist()
        lines = []
        for i in range(size):
            p, n = pick[i], start + i
            above, below = (left[i], right[i]) if left[i] > right[i] else (right[i], left[i])
            if p < 20 and above != below:  # a parent has the smaller number, so that there is no cycle
                rel, rela = ("PAR", "isa") if above == left[i] else ("CHD", "inverse_isa")
            else:
                rel, rela = "RO", _RELATIONS[p % 8 if p < 99 else 8 + n % 2]
            lines.append(
                f"C{left[i]:07d}|A{n:08d}|SCUI|{rel}|C{right[i]:07d}|A{n:08d}|SCUI|{rela}|R{n:08d}||{_SOURCES[p % 6]}|"
                f"{_SOURCES[p % 6]}|||{'O' if p == 50 else 'N'}||\n"
            )
        yield "".join(lines)


def _definitions(rng: np.random.Generator, n_rows: int, n_concepts: int) -> Iterator[str]:
    """Lines of MRDEF in the order of the concepts: 5 to 59 words."""
    words = invented_words(rng)
    concepts = np.sort(rng.integers(1, n_concepts + 1, size=n_rows))
    for start in range(0, n_rows, _BLOCK):
        lines = []
        for n, concept in enumerate(concepts[start : start + _BLOCK].tolist(), start):
            text = " ".join(words[w] for w in rng.integers(len(words), size=5 + n % 55).tolist())
            flag = "O" if n % 40 == 7 else "N"
            lines.append(f"C{concept:07d}|A{n:08d}|AT{n:08d}||{_SOURCES[n % 6]}|{text}.|{flag}||\n")
        yield "".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", type=int, default=17_000_000)
    parser.add_argument("--relations", type=int, default=20_000_000)
    arguments = parser.parse_args()
    print(write_meta(arguments.folder, arguments.names, arguments.relations))
