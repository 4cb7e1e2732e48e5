"""RF2 folders of any size with invented content in the form of the international edition of SNOMED CT.

    python -m benchmarks.synthetic_snomed FOLDER --concepts 500000

For each concept there are 3.2 descriptions, 6 relationships and, in two language reference sets, a row for each
description. A quarter of the concepts, relationships and synonyms is inactive. Terms hold double quotes and
characters outside ASCII, lines end with CRLF.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.synthetic_words import invented_words

_TAGS = ("disorder", "finding", "procedure", "body structure", "substance", "product")
_BLOCK = 100_000
_TIMES = [
    [(i + j) % 5 if j < 5 else 5 + (i + j) % 5 for j in range(10)] if i < 5 else
    [5 + (i - j) % 5 if j < 5 else (i - j) % 5 for j in range(10)] for i in range(10)
]  # fmt: skip
_INVERSE = (0, 4, 3, 2, 1, 5, 6, 7, 8, 9)
_PERMUTED = [list(range(10))]
for _ in range(7):
    _PERMUTED.append([(1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit] for digit in _PERMUTED[-1]])

FSN, SYNONYM, DEFINITION = 900000000000003001, 900000000000013009, 900000000000550004
PREFERRED, ACCEPTABLE = 900000000000548007, 900000000000549004
US, GB = 900000000000509007, 900000000000508004
IS_A, INFERRED = 116680003, 900000000000011006
ICD10 = 447562003
_MODULE = 900000000000207008
_DATE = "20310101"
_HEADERS = {
    "Concept": "definitionStatusId",
    "Description": "conceptId languageCode typeId term caseSignificanceId",
    "Relationship": "sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId",
    "Language": "refsetId referencedComponentId acceptabilityId",
    "ExtendedMap": "refsetId referencedComponentId mapGroup mapPriority mapRule mapAdvice mapTarget correlationId mapCategoryId",
}


def identifiers(first: int, size: int, component: int) -> np.ndarray:
    """Identifiers of consecutive items, with the partition of a component and Verhoeff's check digit, int64 ``[size]``."""
    numbers = (10_000_000 + np.arange(first, first + size)) * 100 + component
    times, permuted, rest = np.array(_TIMES), np.array(_PERMUTED), numbers
    product = np.zeros(size, dtype=np.int64)
    for place in range(1, len(str(numbers.max())) + 1):
        rest, digit = rest // 10, rest % 10
        product = times[product, permuted[place % 8][digit]]
    return numbers * 10 + np.array(_INVERSE)[product]


def write_snomed(folder: Path, concepts: int) -> Path:
    """Write an edition.

    Args:
        folder: Where to.
        concepts: Rows of the file of concepts.

    Returns:
        The folder.
    """
    rng = np.random.default_rng(0)
    terminology, refset = folder / "Snapshot" / "Terminology", folder / "Snapshot" / "Refset"
    n_descriptions, n_relationships = int(3.2 * concepts), 6 * concepts
    codes = identifiers(0, concepts, 0)
    description_of = np.sort(
        np.concatenate([np.arange(concepts), rng.integers(concepts, size=n_descriptions - concepts)])
    )
    is_first = np.concatenate([[True], description_of[1:] != description_of[:-1]])
    descriptions = identifiers(0, n_descriptions, 1)
    _write(terminology / f"sct2_Concept_Snapshot_INT_{_DATE}.txt", "Concept", _concepts(rng, codes))
    texts = _descriptions(rng, codes[description_of], descriptions, is_first)
    _write(terminology / f"sct2_Description_Snapshot-en_INT_{_DATE}.txt", "Description", texts)
    definitions = (
        f"{code}\t20310101\t1\t{_MODULE}\t{concept}\ten\t{DEFINITION}\tA flumpa with mimpic, number {n}.\t900000000000448009\r\n"
        for n, (code, concept) in enumerate(
            zip(identifiers(n_descriptions, concepts // 50, 1).tolist(), codes[::50].tolist())
        )
    )
    _write(terminology / f"sct2_TextDefinition_Snapshot-en_INT_{_DATE}.txt", "Description", definitions)
    links = _relationships(rng, codes, n_relationships)
    _write(terminology / f"sct2_Relationship_Snapshot_INT_{_DATE}.txt", "Relationship", links)
    members = _language(rng, descriptions, is_first)
    _write(refset / "Language" / f"der2_cRefset_LanguageSnapshot-en_INT_{_DATE}.txt", "Language", members)
    targets = (
        f"{_uuid(n, 2)}\t20310101\t1\t{_MODULE}\t{ICD10}\t{code}\t1\t1\t{'TRUE' if n % 5 else 'IFA 1'}\tALWAYS\t"
        f"Z{n % 100:02d}.{n % 10}\t447561005\t447637006\r\n"
        for n, code in enumerate(codes[::3].tolist())
    )
    _write(refset / "Map" / f"der2_iisssccRefset_ExtendedMapSnapshot_INT_{_DATE}.txt", "ExtendedMap", targets)
    return folder


def _write(path: Path, kind: str, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(["id", "effectiveTime", "active", "moduleId", *_HEADERS[kind].split()]) + "\r\n")
        file.writelines(lines)


def _uuid(number: int, kind: int) -> str:
    scattered = number * 0x9E3779B97F4A7C15F39CC0605CEDC835 & 2**128 - 1 ^ kind
    text = f"{scattered:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _concepts(rng: np.random.Generator, codes: np.ndarray) -> Iterator[str]:
    active = (rng.random(len(codes)) < 0.75).astype(int)
    active[:20] = 1
    for code, flag in zip(codes.tolist(), active.tolist()):
        yield f"{code}\t20310101\t{flag}\t{_MODULE}\t900000000000074008\r\n"


def _descriptions(
    rng: np.random.Generator, concepts: np.ndarray, codes: np.ndarray, is_first: np.ndarray
) -> Iterator[str]:
    """A fully specified name and synonyms of each concept; the first synonym is often the name without its tag."""
    words = invented_words(rng)
    name = ""
    for start in range(0, len(codes), _BLOCK):
        some = slice(start, start + _BLOCK)
        size = len(codes[some])
        word, length = rng.integers(len(words), size=(size, 6)).tolist(), rng.integers(2, 7, size=size).tolist()
        pick = rng.integers(100, size=size).tolist()
        for i, (concept, code, first) in enumerate(
            zip(concepts[some].tolist(), codes[some].tolist(), is_first[some].tolist())
        ):
            text = " ".join(words[w] for w in word[i][: length[i]])
            if first:
                name, term, kind = text, f"{text} ({_TAGS[pick[i] % len(_TAGS)]})", FSN
            else:
                term, kind = name if pick[i] < 30 else f'5" {text} naïve' if pick[i] < 33 else text, SYNONYM
            flag = int(first or pick[i] < 75)
            yield f"{code}\t20310101\t{flag}\t{_MODULE}\t{concept}\ten\t{kind}\t{term}\t900000000000448009\r\n"


def _relationships(rng: np.random.Generator, codes: np.ndarray, n_rows: int) -> Iterator[str]:
    """A third is a, with the smaller place as parent, so that there is no cycle; the rest of fifteen attributes."""
    types = [IS_A, *codes[1:16].tolist()]
    links = identifiers(0, n_rows, 2)
    for start in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - start)
        source = np.sort(rng.integers(20, len(codes), size=size))
        target = (source * rng.random(size)).astype(np.int64)
        kind = np.where(rng.random(size) < 1 / 3, 0, rng.integers(1, len(types), size=size)).tolist()
        active = (rng.random(size) < 0.75).astype(int).tolist()
        ends = zip(links[start : start + size].tolist(), codes[source].tolist(), codes[target].tolist())
        for i, (code, first, second) in enumerate(ends):
            yield (
                f"{code}\t20310101\t{active[i]}\t{_MODULE}\t{first}\t{second}\t{i % 3}\t{types[kind[i]]}\t{INFERRED}\t"
                "900000000000451002\r\n"
            )


def _language(rng: np.random.Generator, descriptions: np.ndarray, is_first: np.ndarray) -> Iterator[str]:
    """The fully specified name and the first synonym of a concept are preferred, in both dialects."""
    is_second = np.concatenate([[False], is_first[:-1]]) & ~is_first
    preferred = is_first | is_second
    for number, (code, flag) in enumerate(zip(descriptions.tolist(), preferred.tolist())):
        for place, dialect in enumerate((US, GB)):
            member = _uuid(2 * number + place, 1)
            yield f"{member}\t20310101\t1\t{_MODULE}\t{dialect}\t{code}\t{PREFERRED if flag else ACCEPTABLE}\r\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--concepts", type=int, default=500_000)
    arguments = parser.parse_args()
    print(write_snomed(arguments.folder, arguments.concepts))
