"""An OMOP vocabulary of any size with invented content, in the form of Athena's download.

    python -m benchmarks.synthetic_omop FOLDER --concepts 10000000

Names hold double quotes and characters outside ASCII, "NA" and "null" are names; there are blank synonyms, synonyms that repeat the name, rows of
concepts that are not there, invalid rows, both directions of each relationship, and ids of local concepts above two billion.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from benchmarks.synthetic_words import SYLLABLES

_VOCABULARIES = ("SNOMED", "RxNorm", "RxNorm Extension", "LOINC", "ICD10CM", "NDC")
_DOMAINS = ("Condition", "Drug", "Drug", "Measurement", "Condition", "Device")
_LANGUAGES = (4180186, 4180186, 4180186, 4182511, 4182507, 4175771)
_RELATIONSHIPS = (
    "Is a",
    "Subsumes",
    "Maps to",
    "Mapped from",
    "Has finding site",
    "Finding site of",
    "Has dose form",
    "Dose form of",
)
_NASTY = ('5" needle', "NA", "null", "naïve Ärzte", "  padded ", '"quoted"', "100%", "a, b; c")
_BLOCK = 500_000
_DATES = {"valid_start_date": "20310101", "valid_end_date": "20991231"}


def write_vocabulary(folder: Path, concepts: int) -> Path:
    """Write CONCEPT, as many rows of CONCEPT_SYNONYM and CONCEPT_ANCESTOR, twice as many of CONCEPT_RELATIONSHIP, and VOCABULARY.

    Args:
        folder: Where to.
        concepts: Rows of CONCEPT.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    ids = np.cumsum(rng.integers(1, 8, size=concepts))  # with gaps, as real ones
    ids[-concepts // 1000 :] += 2_000_000_000
    words = np.array(["".join(rng.choice(SYLLABLES, 3)) for _ in range(20_000)])
    name = pa.array([])
    with _writer(folder / "CONCEPT.csv") as concept, _writer(folder / "CONCEPT_SYNONYM.csv") as synonym:
        for part in _parts(concepts):
            here = ids[part]
            name = _names(rng, words, len(here))
            kind = rng.integers(len(_VOCABULARIES), size=len(here))
            pick = rng.integers(100, size=len(here))
            columns = {
                "concept_id": pa.array(here),
                "concept_name": name,
                "domain_id": _chosen(_DOMAINS, kind),
                "vocabulary_id": _chosen(_VOCABULARIES, kind),
                "concept_class_id": _chosen(("Clinical Finding", "Ingredient", "Clinical Drug"), kind % 3),
                "standard_concept": _chosen(("S", "", "C"), np.where(pick < 40, 0, np.where(pick < 95, 1, 2))),
                "concept_code": pa.array(here).cast(pa.string()),
                **_dates(len(here)),
                "invalid_reason": _chosen(("", "U", "D"), np.where(pick < 90, 0, 1 + pick % 2)),
            }
            concept(columns)
            row = np.sort(rng.integers(0, len(here), size=len(here)))
            again = rng.integers(100, size=len(here))
            text = pc.if_else(pa.array(again < 30), name.take(pa.array(row)), _names(rng, words, len(here)))
            text = pc.if_else(pa.array(again == 99), "", text)
            of = np.where(again == 98, 1_000_000_000 + row, here[row])
            language = np.array(_LANGUAGES)[np.where(again < 30, 0, again % len(_LANGUAGES))]
            synonym(
                {
                    "concept_id": pa.array(of),
                    "concept_synonym_name": text,
                    "language_concept_id": pa.array(language),
                }
            )
    with _writer(folder / "CONCEPT_RELATIONSHIP.csv") as related, _writer(folder / "CONCEPT_ANCESTOR.csv") as ancestor:
        for part in _parts(concepts):
            size = len(ids[part])
            low = np.arange(part.start, part.start + size)
            high = rng.integers(0, np.maximum(low, 1))  # the parent has the smaller number, so that there is no cycle
            kind = rng.integers(len(_RELATIONSHIPS) // 2, size=size) * 2
            columns = {
                "concept_id_1": pa.array(np.stack([ids[low], ids[high]], axis=1).ravel()),
                "concept_id_2": pa.array(np.stack([ids[high], ids[low]], axis=1).ravel()),
                "relationship_id": _chosen(_RELATIONSHIPS, np.stack([kind, kind + 1], axis=1).ravel()),
                **_dates(2 * size),
                "invalid_reason": _chosen(("", "D"), np.repeat(rng.integers(100, size=size) > 95, 2).astype(int)),
            }
            related(columns)
            levels = rng.integers(0, 6, size=size)
            ancestor(
                {
                    "ancestor_concept_id": pa.array(ids[np.where(levels == 0, low, high)]),
                    "descendant_concept_id": pa.array(ids[low]),
                    "min_levels_of_separation": pa.array(levels),
                    "max_levels_of_separation": pa.array(levels),
                }
            )
    header = "vocabulary_id\tvocabulary_name\tvocabulary_reference\tvocabulary_version\tvocabulary_concept_id\n"
    rows = "".join(f"{name}\t{name}\t\tv1\t{i}\n" for i, name in enumerate(("None", *_VOCABULARIES)))
    (folder / "VOCABULARY.csv").write_text(header + rows, "utf-8")
    return folder


class _writer:
    """A tab-separated file without quoting; the first rows bring the header."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> _writer:
        self._file, self._begun = self._path.open("wb"), False
        return self

    def __call__(self, columns: dict[str, pa.Array]) -> None:
        if not self._begun:
            self._file.write(("\t".join(columns) + "\n").encode())
            self._begun = True
        texts = [column.cast(pa.string()) for column in columns.values()]
        lines = pc.binary_join_element_wise(*texts, "\t")
        self._file.write("\n".join([*lines.to_pylist(), ""]).encode())

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def _chosen(values: tuple[str, ...], index: np.ndarray) -> pa.Array:
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), pa.array(values)).cast(pa.string())


def _dates(size: int) -> dict[str, pa.Array]:
    return {name: pa.repeat(value, size) for name, value in _DATES.items()}


def _names(rng: np.random.Generator, words: np.ndarray, size: int) -> pa.Array:
    """Names of one to five words; one of 200 has something nasty in front."""
    known = pa.array(words)
    text = known.take(pa.array(rng.integers(len(words), size=size)))
    for n in range(1, 5):
        longer = pc.binary_join_element_wise(text, known.take(pa.array(rng.integers(len(words), size=size))), " ")
        text = pc.if_else(pa.array(rng.integers(5, size=size) >= n), longer, text)
    pick = rng.integers(200, size=size)
    nasty = _chosen(_NASTY, rng.integers(len(_NASTY), size=size))
    return pc.if_else(pa.array(pick == 0), pc.binary_join_element_wise(nasty, text, " "), text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--concepts", type=int, default=10_000_000)
    arguments = parser.parse_args()
    print(write_vocabulary(arguments.folder, arguments.concepts))
